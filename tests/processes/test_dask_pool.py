"""Trials on a Dask cluster: the board of one process, and what a lost worker costs.

The clusters of the usual tests are threads of this process; `make cluster-test` kills processes.
"""

import errno
import os
import pickle
import signal
import threading
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import margin
from margin.metrics import metrics_of
from margin.selection import Candidate, Task, TrialData, board, dask_pool, plan_folds, run_folds
from margin.selection.dask_cluster import DaskParts, cluster_client, send_data
from margin.selection.dask_objects import ObjectsOnDask
from margin.selection.dask_pool import MOST_LOSSES, DaskPool
from margin.selection.workers import InProcess

distributed = pytest.importorskip("distributed")
long = pytest.mark.skipif("MARGIN_CLUSTER_TESTS" not in os.environ, reason="takes minutes; `make cluster-test` runs it")


@pytest.fixture(scope="module")
def client():
    local = distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None)
    with local as cluster, distributed.Client(cluster) as client:
        yield client


def shared():
    X = np.random.default_rng(0).normal(size=(60, 3))
    return TrialData(X, (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int), metrics_of("classification"), (0, 1))


def refused():
    return LogisticRegression(C=-1.0)


CANDIDATES = [Candidate("nb", margin.GaussianNB), Candidate("lda", margin.LinearDiscriminantAnalysis)]
FAILING = Candidate("failing", refused)


def folds(workers, candidates):
    data, trials = shared(), []
    plan = plan_folds(data.y, "classification", n_folds=3)
    try:
        names = [candidate.name for candidate in candidates]
        for trial, output in run_folds(workers, names, plan, trials, stop=threading.Event()):
            trials.append(trial)
            assert (output is None) == bool(trial.error)
    finally:
        workers.close()
    return trials


def facts(trials):
    """What must not depend on where a trial ran: everything but its seconds."""
    return sorted((t.model, t.fold, sorted(t.scores.items()), t.n_train, t.error.split(":")[0]) for t in trials)


def test_the_board_of_a_cluster_is_that_of_one_process(client):
    here = folds(InProcess(CANDIDATES, shared()), CANDIDATES)
    there = folds(DaskPool(CANDIDATES, shared(), client), CANDIDATES)
    assert facts(here) == facts(there)
    metric = metrics_of("classification")[0]
    ranked = [[(s.model, s.mean) for s in board(trials, metric, n_folds=3)] for trials in (here, there)]
    assert ranked[0] == ranked[1]
    assert client.status == "running"  # the cluster of a user is left open


def test_a_failure_on_a_worker_is_a_row(client):
    trials = folds(DaskPool([*CANDIDATES, FAILING], shared(), client), [*CANDIDATES, FAILING])
    assert {t.model for t in trials if t.error} == {"failing"}
    assert sum(not t.error for t in trials) == 6


def test_a_trial_whose_data_are_lost_is_sent_again_and_in_the_end_given_up(client):
    """A future that the cluster forgot stands for a worker that was lost with the data."""
    pool, losses = DaskPool(CANDIDATES, shared(), client), []
    send = pool._send

    def lose(sent):
        send(sent)
        if sent.candidate.name == "nb":
            losses.append(sent.losses)
            next(future for future, known in pool._sent.items() if known is sent).cancel()

    pool._send = lose
    rows = np.arange(30), np.arange(30, 60)
    tasks = iter([Task("nb", 0, *rows), Task("lda", 0, *rows)])
    found = {trial.model: trial for trial, _ in pool.run(lambda: next(tasks, None), threading.Event())}
    assert losses == list(range(MOST_LOSSES + 1))
    assert found["nb"].error == "the worker that fitted it ended"
    assert not found["lda"].error


def broken_off(candidate, data, task):
    """A connection between workers that breaks now and then, as those of a busy machine do."""
    if candidate.name == "nb":
        mark = Path(os.environ["MARGIN_MARK"])
        if not mark.exists():
            mark.touch()
            raise ConnectionResetError("a worker did not answer in time")
    return dask_pool.run_trial(candidate, data, task)


def on_a_full_disk(candidate, data, task):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "trial.json")


def test_a_connection_that_breaks_off_costs_a_trial_nothing(client, tmp_path, monkeypatch):
    monkeypatch.setenv("MARGIN_MARK", str(tmp_path / "broken"))
    here = folds(InProcess(CANDIDATES, shared()), CANDIDATES)
    monkeypatch.setattr(dask_pool, "_trial", broken_off)
    there = folds(DaskPool(CANDIDATES, shared(), client), CANDIDATES)
    assert (tmp_path / "broken").exists()
    assert facts(there) == facts(here)


def test_a_full_disk_of_a_worker_ends_the_comparison(client, monkeypatch):
    monkeypatch.setattr(dask_pool, "_trial", on_a_full_disk)
    with pytest.raises(OSError, match="No space left on device"):
        folds(DaskPool(CANDIDATES, shared(), client), CANDIDATES)


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (margin.Ridge(), {"alpha": [0.1, 10.0]}),
        (margin.RandomForestRegressor(n_estimators=3, random_state=0), {"max_depth": [1, 3]}),
        (margin.MLPRegressor((3,), max_iter=2, random_state=0), {"alpha": [0.0, 1.0]}),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_search_of_scikit_learn_on_a_cluster_has_the_scores_of_one_process(model, grid, client):
    X = np.random.default_rng(0).normal(size=(60, 3))
    search = GridSearchCV(model, grid, cv=2, n_jobs=2)
    scores = []
    for backend in ("sequential", "dask"):
        with joblib.parallel_config(backend):
            scores.append(search.fit(X, X[:, 0]).cv_results_["mean_test_score"])
    np.testing.assert_array_equal(*scores)


class KillsItsWorker(margin.GaussianNB):
    """Ends the first process that fits it, and learns in the second."""

    def fit(self, X, y):
        mark = Path(os.environ["MARGIN_MARK"])
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)


@long
def test_a_killed_worker_costs_its_trial_only(tmp_path, monkeypatch):
    """Its trial is repeated by another process; the scores are those of a comparison in which nobody died."""
    monkeypatch.setenv("MARGIN_MARK", str(tmp_path / "killed"))
    candidates = [*CANDIDATES, Candidate("kills", KillsItsWorker)]
    there = folds(DaskPool(candidates, shared(), "local:2"), candidates)
    assert (tmp_path / "killed").exists()
    assert facts(there) == facts(folds(InProcess(candidates, shared()), candidates))


@long
def test_a_comparison_on_a_local_cluster_is_that_of_one_process(tmp_path):
    boards = []
    for cluster in (None, "local:2"):
        found = margin.compare(
            "iris",
            models=["gaussian-nb", "logistic-regression"],
            cluster=cluster,
            out=tmp_path / str(cluster),
            n_jobs=1,
        )
        boards.append([(standing.model, standing.scores) for standing in found.standings])
    assert boards[0] == boards[1]


def winner_there(folder):
    """A comparison inside a worker, which is a daemon and may start no children of its own kind."""
    return margin.compare("iris", models=["gaussian-nb"], n_jobs=2, ensembles=False, out=folder).winner


@long
def test_a_comparison_runs_on_a_worker(tmp_path):
    with cluster_client("local:1") as client:
        assert client.submit(winner_there, tmp_path / "run").result(timeout=600) == "gaussian-nb"


def test_the_winner_of_a_comparison_of_many_files_is_fitted_by_the_cluster(client, tmp_path, monkeypatch):
    """On rows drawn from all files trials run on the cluster; its workers read all files for the last fit."""
    from margin.service.comparison import drawn

    monkeypatch.setattr(drawn, "MOST_ROWS", 60)
    monkeypatch.setattr(drawn, "LEAST_ROWS", 60)
    X = np.random.default_rng(0).normal(size=(120, 2))
    (tmp_path / "rows").mkdir()
    for i in range(3):
        frame = pd.DataFrame(X[40 * i : 40 * i + 40], columns=["a", "b"])
        frame.assign(y=frame["a"] - frame["b"]).to_parquet(tmp_path / "rows" / f"{i}.parquet")
    passes, files = [], []
    monkeypatch.setattr(DaskParts, "map", lambda self, *work, map=DaskParts.map: passes.append(1) or map(self, *work))
    for cluster in (None, client):
        found = margin.compare(
            margin.stream(tmp_path / "rows", "y"), models=["ridge"], folds=2, n_jobs=1, ensembles=False, curve=False,
            cluster=cluster, out=tmp_path / type(cluster).__name__,
        )  # fmt: skip
        assert found.fitted_on == "all 120 rows"
        files.append((tmp_path / type(cluster).__name__ / "model.safetensors").read_bytes())
        assert bool(passes) == (cluster is not None)
    assert files[0] == files[1]


class Counter:
    """Says how often it was asked since it began."""

    def __init__(self, first):
        self.first = self.count = first

    def plant(self, more):
        self.count = self.first + more
        return self.count

    def add(self, more):
        self.count += more
        return self.count


def test_an_object_that_is_lost_is_made_again_and_told_all_it_had_heard(client):
    objects = ObjectsOnDask(client, Counter, [10, 20])
    assert objects.begin("plant", [(1,), (2,)]) == [11, 22]
    assert objects.ask("add", [(1,), (1,)]) == [12, 23]
    objects.kept[0].future.cancel()  # as after its worker is lost with it
    assert objects.ask("add", [(5,), (5,)]) == [17, 28]
    old = objects.kept[1].future
    objects.kept[1].future = client.submit(pickle.loads, pickle.dumps(old.result()), pure=False)  # a copy
    assert objects.ask("add", [(1,), (1,)]) == [18, 29]
    objects.kept[1].future = old  # it has not heard of the last call
    assert objects.ask("add", [(1,), (1,)]) == [19, 30]
    assert objects.begin("plant", [(0,), (0,)]) == [10, 20]
    large = np.ones(300_000)
    assert [found.sum() for found in objects.ask("add", [(large,), (large,)])] == [11 * large.size, 21 * large.size]
    objects.close()


def test_an_object_whose_workers_end_again_and_again_is_given_up_in_a_sentence(client, monkeypatch):
    objects = ObjectsOnDask(client, Counter, [10])
    make = objects._make

    def lose(number):
        make(number)
        objects.kept[number].future.cancel()

    objects.begin("plant", [(1,)])
    monkeypatch.setattr(objects, "_make", lose)
    objects.kept[0].future.cancel()
    with pytest.raises(RuntimeError, match=r"^part 1 of 1 of the rows: every worker of the cluster that kept it ended"):
        objects.ask("add", [(1,)])


def test_an_error_of_an_object_is_the_callers(client):
    objects = ObjectsOnDask(client, Counter, [10])
    with pytest.raises(TypeError):
        objects.begin("plant", [("no number",)])


def test_boosting_grows_on_the_workers(client, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 3))
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=(X[:, 0] * X[:, 1] > 0).astype(int))
    data = margin.stream([frame[:150], frame[150:]], "y")
    asked = []

    class Noting(DaskParts):
        def keep(self, make, items):
            asked.append(len(items))
            return super().keep(make, items)

    for name, rows in (("here", data), ("there", data.on(Noting(client)))):
        margin.save(margin.HistGradientBoostingClassifier(max_iter=3).fit(rows), tmp_path / name)
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()
    assert asked == [2]  # a thread of the cluster each


def test_a_cluster_whose_workers_do_not_come_back_is_said_in_a_sentence():
    class WithoutWorkers:
        def wait_for_workers(self, n_workers, timeout):
            raise TimeoutError

    with pytest.raises(RuntimeError, match=r"^cluster: all workers ended, and none came back within 60s\.$"):
        send_data(WithoutWorkers(), [1, 2])


def test_data_are_sent_as_they_are(client):
    for data in ([1, 2], (3, 4), np.arange(3)):
        np.testing.assert_array_equal(send_data(client, data, everywhere=True).result(), data)
