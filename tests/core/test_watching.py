"""Watching, stopping, progress bars, scikit-learn's callbacks: consumers of the same records."""

import io

import numpy as np
import pytest
import sklearn
from rich.console import Console
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from margin.core.domains import Flag, Integer
from margin.core.estimator import IterativeEstimator
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.progress import ProgressBar
from margin.core.records import Record
from margin.core.watching import Watcher, active_watchers, watch


class CountingLoop:
    def __init__(self, done):
        self.done = done

    def state(self):
        return {"done": self.done}


class Counter(IterativeEstimator):
    """Counts to ``max_iter``; what it has learned is how far it came."""

    max_iter: int = parameter(5, Integer(low=1), "How far to count.")
    verbose: bool = parameter(False, Flag(), VERBOSE)

    n_iter_: int = attribute(None, "How far it came.")

    def iterate(self, X, y=None, *, state=None):
        self._check_parameters()
        self._loop = CountingLoop(0 if state is None else state["done"])
        while self._loop.done < self.max_iter:
            self._loop.done += 1
            self.n_iter_ = self._loop.done
            yield Record(self.n_iter_, {"count": self.n_iter_}, total=self.max_iter)

    def score(self, X, y=None):
        return self.n_iter_


X = np.zeros((6, 1))


class Logging(Watcher):
    def __init__(self):
        self.events = []

    def begin(self, estimator):
        self.events.append("begin")

    def record(self, estimator, record):
        self.events.append(record.iteration)
        return record.iteration == 3

    def end(self, estimator):
        self.events.append("end")


def test_begin_records_end_and_stop():
    log = Logging()
    with watch(log):
        model = Counter().fit(X)
    assert log.events == ["begin", 1, 2, 3, "end"]
    assert model.n_iter_ == 3
    assert active_watchers() == ()


def test_watchers_nest():
    outer, inner = [], []
    with watch(lambda e, r: outer.append(r.iteration)):
        Counter(2).fit(X)
        with watch(lambda e, r: inner.append(r.iteration)):
            Counter(1).fit(X)
    assert (outer, inner) == ([1, 2, 1], [1])


def test_a_failing_fit_still_ends():
    log = Logging()
    with pytest.raises(ValueError, match="max_iter"), watch(log):
        Counter(0).fit(X)
    assert log.events == ["begin", "end"]


def test_progress_bar_draws_on_its_console():
    screen = Console(file=io.StringIO(), force_terminal=True, width=100)
    with watch(ProgressBar(screen)):
        Counter(3).fit(X)
    text = screen.file.getvalue()
    assert "Counter" in text
    assert "3/3" in text
    assert "count 3" in text


def test_state_before_a_fit_is_an_error():
    with pytest.raises(NotFittedError, match="Counter: there is no running fit"):
        Counter().get_state()


def test_a_finished_fit_keeps_no_loop_and_a_stopped_one_can_be_continued():
    finished = Counter(3).fit(X)
    assert "_loop" not in vars(finished)
    with pytest.raises(NotFittedError):
        finished.get_state()
    stopped = Counter(3)
    with watch(lambda _, record: record.iteration == 2):
        stopped.fit(X)
    assert stopped.get_state()["done"] == 2


def test_verbose_prints_every_record(capsys):
    Counter(2, verbose=True).fit(X)
    assert capsys.readouterr().out.splitlines() == [
        "Counter: iteration 1 of 2: count 1",
        "Counter: iteration 2 of 2: count 2",
    ]


HAS_CALLBACKS = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)


class Callback:
    """scikit-learn's fit-callback protocol, stopping at the third iteration."""

    def __init__(self):
        self.calls = []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        reached = getattr(fitted_estimator, "n_iter_", None)
        self.calls.append(f"end {context.task_name} {reached}")
        return context.task_name == "iteration" and reached == 3


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has callbacks from 1.9 on")
def test_scikit_learn_callbacks_see_tasks_and_can_stop():
    callback = Callback()
    model = Counter(5).set_callbacks(callback).fit(X)
    assert model.n_iter_ == 3
    iterations = [
        f"{word} iteration{reached}" for n in (1, 2, 3) for word, reached in (("begin", ""), ("end", f" {n}"))
    ]
    assert callback.calls == ["setup", "begin fit", *iterations, "end fit 3", "teardown"]


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has callbacks from 1.9 on")
def test_every_begun_task_ends_when_the_records_end_early():
    callback = Callback()

    class Early(Counter):
        def iterate(self, X, y=None, *, state=None):
            for record in super().iterate(X, y):
                yield Record(record.iteration, record.values, total=99)

    Early(2).set_callbacks(callback).fit(X)
    begun = sum(call.startswith("begin") for call in callback.calls)
    assert begun == sum(call.startswith("end") for call in callback.calls) == 4


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has callbacks from 1.9 on")
def test_a_later_iteration_begins_with_the_model_of_the_one_before():
    class Begins(Callback):
        def on_fit_task_begin(self, estimator, context, *, fitted_estimator=None):
            self.calls.append((context.task_name, getattr(fitted_estimator, "n_iter_", None)))

        def on_fit_task_end(self, estimator, context):
            return False

    callback = Begins()
    Counter(3).set_callbacks(callback).fit(X)
    begun = [call for call in callback.calls if isinstance(call, tuple)]
    assert begun == [("fit", None), ("iteration", None), ("iteration", 1), ("iteration", 2)]


def test_inside_a_grid_search():
    seen = []
    with watch(lambda e, r: seen.append(e.max_iter)):
        search = GridSearchCV(Counter(), {"max_iter": [2, 4]}, cv=2).fit(X)
    assert search.best_params_ == {"max_iter": 4}
    assert set(seen) == {2, 4}
