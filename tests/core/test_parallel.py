"""Our own threads: results in order, errors raised, one level deep, and nothing ends with a fork."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from margin.core import parallel
from margin.core.parallel import map_in_order, over_ranges, parallel_map
from margin.core.threads import available, thread_limit


def test_work_comes_back_in_order_and_stops_early():
    made = []

    def make(number):
        made.append(number)
        return number * number

    assert list(map_in_order(make, 2, 9, threads=3)) == [n * n for n in range(2, 9)]
    made.clear()
    found = map_in_order(make, 0, 1000, threads=2)
    assert [next(found), next(found)] == [0, 1]
    found.close()
    assert len(made) < 50


@pytest.mark.parametrize("threads", [1, 2, 5, 50])
def test_a_parallel_map_is_a_map(threads):
    assert parallel_map(lambda n: n * n, range(20), threads) == [n * n for n in range(20)]
    assert parallel_map(str, [], threads) == []


def test_threads_work_at_the_same_time():
    """Each of three parts waits for the two others: one thread alone could not do it."""
    meeting = threading.Barrier(3, timeout=60)
    parallel_map(lambda _: meeting.wait(), range(3), threads=3)


def test_an_error_is_raised_whichever_thread_meets_it():
    for bad in range(4):

        def function(n, bad=bad):
            if n == bad:
                raise ValueError(f"number {n}")

        with pytest.raises(ValueError, match=f"number {bad}"):
            parallel_map(function, range(4), threads=4)
    assert parallel_map(abs, [-1, -2], threads=2) == [1, 2], "the threads are still there"


def test_parallel_work_within_parallel_work_stays_on_its_thread():
    def inner(_):
        return threading.get_ident()

    def outer(_):
        return {*parallel_map(inner, range(4), threads=4)} == {threading.get_ident()}

    assert all(parallel_map(outer, range(6), threads=3))


def test_what_holds_for_the_caller_holds_in_its_threads():
    meeting = threading.Barrier(2, timeout=60)

    def look(_):
        meeting.wait()
        return np.geterr()["divide"], available()

    with np.errstate(divide="raise"), thread_limit(1):
        assert parallel_map(look, range(2), threads=2) == 2 * [("raise", 1)]
        assert list(map_in_order(look, 0, 2, threads=2)) == 2 * [("raise", 1)]


@pytest.mark.parametrize("n", [1, 2, 3, 10])
@pytest.mark.parametrize("threads", [1, 3])
def test_ranges_cover_everything_once(n, threads):
    seen = np.zeros(n, dtype=int)

    def mark(low, high):
        seen[low:high] += 1

    over_ranges(mark, n, threads)
    assert (seen == 1).all()


def test_helpers_that_are_busy_are_not_waited_for():
    """All helpers hang in another caller's work; a second caller does its own alone."""
    enough, occupied = threading.Event(), threading.Semaphore(0)

    def hang(_):
        occupied.release()
        assert enough.wait(60)

    blocker = threading.Thread(target=parallel_map, args=(hang, range(3), 3))
    blocker.start()
    for _ in range(3):
        assert occupied.acquire(timeout=60)
    parallel._helpers()._max_workers, before = 2, parallel._helpers()._max_workers
    try:
        assert parallel_map(abs, [-1, -2, -3], threads=3) == [1, 2, 3]
    finally:
        parallel._helpers()._max_workers = before
        enough.set()
        blocker.join()


PROGRAM = """
import os, sys, threading, warnings
warnings.simplefilter("ignore")
import numpy as np
import margin
from margin.core import threads
from margin.reduction import TSNE, Isomap
from margin.trees import HistGradientBoostingClassifier, RandomForestClassifier, explain
from margin.cluster import KMeans
from margin.neighbors import KNeighborsClassifier
threads.WORK_PER_THREAD, threads.available = 1, lambda: 2  # a second thread, however small the problem

rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 12))
y = (X[:, 0] * X[:, 1] > 0).astype(int)
few = X[:300]

def boosting():
    model = HistGradientBoostingClassifier(max_iter=3, random_state=0).fit(X, y)
    return np.concatenate([model.decision_function(X).ravel(), explain(model, few[:50]).values.ravel()])

CASES = {
    "boosting": boosting,
    "forest": lambda: RandomForestClassifier(4, n_jobs=2, random_state=0).fit(few, y[:300]).predict_proba(X).ravel(),
    "kmeans": lambda: KMeans(8, n_init=1, max_iter=5, random_state=0).fit(X).cluster_centers_.ravel(),
    "neighbors": lambda: KNeighborsClassifier().fit(X[:5000], y[:5000]).predict_proba(X[5000:6000]).ravel(),
    "t-sne": lambda: TSNE(max_iter=20, n_jobs=2, init="random", random_state=0).fit(few).embedding_.ravel(),
    "isomap": lambda: Isomap(n_jobs=2).fit(few).dist_matrix_.ravel(),
}
def run(names=tuple(CASES)):
    return [CASES[name]() for name in names]

def same(found, expected):
    return all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))

before = run()
"""

FORK = """
child = os.fork()
if child == 0:
    os._exit(0 if same(run(), before) else 1)
_, status = os.waitpid(child, 0)
assert status == 0, f"the child ended with {status}"
assert same(run(), before), "the parent goes on"
"""

TWO_THREADS = """
found = [None, None]
def work(i):
    found[i] = run()
workers = [threading.Thread(target=work, args=(i,)) for i in range(2)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
assert all(same(one, before) for one in found)
"""

JOBLIB = """
from joblib import Parallel, delayed, parallel_config
with parallel_config(backend="threading", n_jobs=2):
    assert all(same(one, before[:1]) for one in Parallel()(delayed(run)(["boosting"]) for _ in range(3)))
from sklearn.model_selection import cross_val_score
for backend in ("loky", "threading"):
    with parallel_config(backend=backend, n_jobs=2):
        model = HistGradientBoostingClassifier(max_iter=3, random_state=0)
        scores = cross_val_score(model, X[:2000], y[:2000], cv=2, error_score="raise")
    assert np.array_equal(scores, cross_val_score(model, X[:2000], y[:2000], cv=2)), backend
"""

POOL = """
import multiprocessing
def task(_):
    return same(run(["boosting"]), before[:1])
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(task, range(3)) == [True] * 3
"""


def succeeds(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_fit_fork_fit_predict():
    succeeds(PROGRAM + FORK + POOL)


def test_fits_in_two_threads_and_back_ends_of_joblib():
    succeeds(PROGRAM + TWO_THREADS + JOBLIB)
