"""Trials in this process and in others: outputs, failures, limits; folds that fit the data; what comes next."""

import errno
import math
import pickle
import signal
import threading
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from margin.metrics import metrics_of
from margin.selection import Budget, Candidate, Task, Trial, TrialData, open_workers, plan_folds, run_folds, screen
from margin.selection.comparison import LEAST_RESERVE, LONGEST, MOST_RESERVE, RESERVE, leading, promising, reserve
from margin.selection.outputs import output_of
from margin.selection.prepared import PreparedColumns
from margin.selection.schedule import FoldQueue, Screened, cost_at, cut, rungs, seconds_left
from margin.selection.trial import run_trial, seconds_worked
from margin.selection.work_clock import WorkClock
from margin.selection.workers import InProcess, Worked, WorkerPool


def problem(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] > 0).astype(int)


def data(n=60):
    X, y = problem(n)
    return TrialData(X, y, metrics_of("classification"), (0, 1))


def negative_iterations():
    return LogisticRegression(C=-1.0)  # refused when it is fitted


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_fold_runs_once_and_failures_are_rows(n_jobs):
    shared = data()
    plan = plan_folds(shared.y, "classification", n_folds=2)
    candidates = [Candidate("logistic", LogisticRegression), Candidate("failing", negative_iterations)]
    candidates = candidates if n_jobs == 1 else candidates[:1]
    workers, trials = open_workers(candidates, shared, n_jobs), []
    try:
        for trial, output in run_folds(workers, [c.name for c in candidates], plan, trials, stop=threading.Event()):
            trials.append(trial)
            assert (output is None) == bool(trial.error)
    finally:
        workers.close()
    assert sorted(t.fold for t in trials if t.model == "logistic") == [0, 1]
    assert all(t.scores["accuracy"] > 0.8 and t.scores["roc_auc"] > 0.8 for t in trials if t.model == "logistic")
    failed = [t.error for t in trials if t.model == "failing"]
    if n_jobs == 1:
        assert len(failed) == 1, "what fails on one fold would fail on the next"
        assert failed[0].startswith("InvalidParameterError")


def test_a_trial_beyond_its_limit_is_given_up_and_the_next_one_runs():
    from margin.neural.estimators import MLPClassifier

    shared = data()
    pool = WorkerPool([Candidate("fine", LogisticRegression)], shared, 1)
    rows = np.arange(30), np.arange(30, 60)
    endless = {"max_iter": 10_000_000, "n_iter_no_change": 10_000_000}
    pool.add(Candidate("slow", partial(MLPClassifier, **endless, tol=0.0, random_state=0)))
    tasks = iter([Task("slow", 0, *rows, limit=1.0), Task("fine", 0, *rows)])
    try:
        found = [trial for trial, _ in pool.run(lambda: next(tasks, None), threading.Event())]
    finally:
        pool.close()
    assert [(t.model, t.late) for t in found] == [("slow", True), ("fine", False)]
    assert found[0].error == "took more than 1 s on 30 rows"


def test_a_wish_to_stop_ends_what_runs():
    shared = data()
    stop = threading.Event()
    candidates = [Candidate("a", LogisticRegression)]
    plan = plan_folds(shared.y, "classification", n_folds=5)
    workers, trials = open_workers(candidates, shared, 1), []
    for trial, _ in run_folds(workers, ["a"], plan, trials, stop=stop):
        trials.append(trial)
        stop.set()
    assert len(trials) == 1


def test_outputs_have_a_column_for_every_class():
    X, y = problem()
    model = LogisticRegression().fit(X, y)
    said = output_of(model, X, classes=(0, 1, 2))
    assert said.kind == "probabilities"
    np.testing.assert_array_equal(said.scores[:, :2], model.predict_proba(X))
    assert not said.scores[:, 2].any()
    assert output_of(RidgeClassifier().fit(X, y), X, (0, 1)).kind == "decision values"
    assert output_of(LogisticRegression().fit(X, y), X).scores is None


def test_training_scores_are_measured_where_they_are_asked_for():
    task = Task("m", 0, np.arange(30), np.arange(30, 60), measures_training=True)
    trial, _ = run_trial(Candidate("m", LogisticRegression), data(), task)
    assert trial.train_scores["accuracy"] > 0.8


@pytest.mark.parametrize("seed", range(3))
def test_folds_by_group_and_time_keep_their_promise(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 600)
    groups, times = rng.integers(0, 40, 600), rng.permutation(600)
    plan = plan_folds(y, "classification", groups=groups, seed=seed)
    for train, test in [*plan.folds, (plan.development, plan.held_out)]:
        assert not set(groups[train]) & set(groups[test])
    plan = plan_folds(y, "classification", times=times, seed=seed)
    for train, test in [*plan.folds, (plan.development, plan.held_out)]:
        assert times[train].max() < times[test].min()
    inner = plan.within(plan.development, 3, seed)
    assert all(times[plan.development[a]].max() < times[plan.development[b]].min() for a, b in inner)


def test_a_part_of_the_rows_keeps_every_class_and_grows():
    y = np.array(["a"] * 900 + ["b"] * 90 + ["c"] * 10)
    plan = plan_folds(y, "classification", held_out=0)
    rows = plan.folds[0][0]
    small, large = plan.part(rows, 80), plan.part(rows, 300)
    assert set(y[small]) == {"a", "b", "c"}
    assert set(small) < set(large) < set(rows)
    assert np.mean(y[large] == "a") == pytest.approx(0.9, abs=0.02)


def test_few_rows_and_few_groups_give_fewer_folds():
    assert len(plan_folds([0, 1, 0, 1], "classification").folds) == 4
    assert len(plan_folds(np.arange(30.0), "regression", groups=np.arange(30) % 3).folds) == 3
    with pytest.raises(ValueError, match="at least 4 rows"):
        plan_folds([1, 2, 3], "regression")
    with pytest.raises(ValueError, match="groups or times"):
        plan_folds(np.arange(9.0), "regression", groups=np.arange(9), times=np.arange(9))


def done(model, fold, seconds, n_train=80, stage="fold"):
    return Trial(model, fold, {"accuracy": 0.5}, seconds, 0.0, n_train, 20, stage=stage)


def test_one_fold_of_every_model_comes_first_then_the_cheapest_model():
    plan = plan_folds([0, 1] * 50, "classification", n_folds=3)
    trials = []
    queue = FoldQueue(["dear", "cheap"], plan.folds, trials)
    order = []
    while (task := queue.next()) is not None:
        order.append((task.model, task.fold))
        trials.append(done(task.model, task.fold, 10.0 if task.model == "dear" else 1.0, len(task.train)))
    firsts, rest = [("dear", 0), ("cheap", 0)], [("cheap", 1), ("cheap", 2), ("dear", 1), ("dear", 2)]
    assert order == firsts + rest
    again = FoldQueue(["dear", "cheap"], plan.folds, trials[:5])
    assert again.next().fold == 2
    assert again.next() is None
    assert FoldQueue(["cheap"], plan.folds, [], limit=lambda: 0.0).next() is None


def test_the_best_see_all_folds_before_others_are_tried_once_time_is_short():
    plan = plan_folds([0, 1] * 50, "classification", n_folds=3)
    models = ["a", "b", "c", "d", "e", "late", "later"]
    ranked = ["d", "b", "e", "a", "c", "late", "later"]
    trials, asked = [], []
    queue = FoldQueue(models, plan.folds, trials, order=lambda: ranked, is_short=lambda: len(asked) >= 5)
    queue.open = {model: queue.open[model] for model in models}  # tried in this order, whoever promises most
    while (task := queue.next()) is not None:
        asked.append((task.model, task.fold))
        trials.append(done(task.model, task.fold, 1.0, len(task.train)))
    assert [model for model, _ in asked[:5]] == ["a", "b", "c", "d", "e"]
    assert [model for model, _ in asked[5:11]] == ["d", "d", "b", "b", "e", "e"]
    assert asked[11:13] == [("late", 0), ("later", 0)]
    assert len(asked) == len(set(asked)) == len(models) * 3


def test_a_trial_known_to_take_longer_than_there_is_time_is_not_begun():
    plan = plan_folds([0, 1] * 50, "classification", n_folds=3)
    tried = [done("dear", 0, 10.0), done("cheap", 0, 1.0)]
    queue = FoldQueue(["dear", "cheap"], plan.folds, tried, limit=lambda: 5.0, order=lambda: ["dear", "cheap"])
    assert [queue.next().model, queue.next().model, queue.next().model] == ["cheap"] * 3


def test_the_leader_may_take_longer_than_the_others():
    plan = plan_folds([0, 1] * 50, "classification", n_folds=3)
    screened = [
        Trial("best", 0, {"accuracy": 0.8}, 1.0, 0.0, 40, 20, stage="screen"),
        Trial("other", 0, {"accuracy": 0.7}, 1.0, 0.0, 40, 20, stage="screen"),
        Trial("baseline", 0, {"accuracy": 0.9}, 1.0, 0.0, 40, 20, stage="screen"),
    ]
    models, accuracy = ["other", "best", "baseline", "unseen"], metrics_of("classification")[0]
    assert accuracy.name == "accuracy"
    assert leading(models, screened, accuracy, spared=["baseline"]) == "best"
    assert leading(["unseen"], screened, accuracy) is None
    asked = []

    class Workers:
        n_jobs = 1

        def run(self, next_task, stop):
            while (task := next_task()) is not None:
                asked.append(task)
                seconds = 1.5 * LONGEST * 100 if task.model == "best" else 1.0
                score = {"accuracy": 0.8 if task.model == "best" else 0.7}
                yield replace(done(task.model, task.fold, seconds, len(task.train)), scores=score), None

    trials, budget = list(screened), Budget(100.0, clock=lambda: 0.0)
    for trial, _ in run_folds(
        Workers(), models[:2], plan, trials, stop=threading.Event(), budget=budget, metric=accuracy
    ):
        trials.append(trial)
    assert sorted((t.model, t.fold) for t in asked) == [(m, f) for m in ("best", "other") for f in range(3)]
    assert min(t.limit for t in asked if t.model == "best") > 1.5 * LONGEST * 100
    assert max(t.limit for t in asked if t.model == "other") == LONGEST * 100


def test_less_is_kept_for_the_last_fits_where_they_are_cheap():
    plan = plan_folds([0, 1] * 50, "classification", n_folds=3)
    accuracy = next(m for m in metrics_of("classification") if m.name == "accuracy")
    kept = partial(reserve, ["a", "b"], plan, metric=accuracy, budget=Budget(100.0), n_jobs=1)
    assert kept(trials=[]) == RESERVE
    assert kept(trials=[done("a", 0, 0.1), done("b", 0, 0.1)]) == LEAST_RESERVE
    between = kept(trials=[done("a", 0, 2.0), done("b", 0, 2.0)])
    assert LEAST_RESERVE < between < RESERVE
    dear = [done("a", 0, 2.0), replace(done("b", 0, 50.0), scores={"accuracy": 0.4})]
    assert kept(trials=dear) == RESERVE, "the second need not be fitted"
    assert kept(trials=[done("a", 0, 50.0)]) == MOST_RESERVE, "without its last fit the leader was found for nothing"


def test_who_can_be_afforded_is_not_cut():
    models = [Screened(name, -rank, 2.0) for rank, name in enumerate("abcdef")]
    limits = {"n_folds": 5, "longest": 10.0}
    assert cut(models, processor_seconds=60.0, **limits) == {}
    assert list(cut(models, processor_seconds=45.0, **limits)) == ["f", "e"], "the worst ones, until the rest can be"
    assert set(cut(models, processor_seconds=15.0, **limits)) == {"d", "e", "f"}, "early, at most half of them"
    assert set(cut(models, processor_seconds=15.0, last=True, **limits)) == {"d", "e", "f"}, "three go on in any case"


def test_costs_grow_as_they_did():
    quadratic = [done("m", 0, 1.0, 1000, "screen"), done("m", 0, 16.0, 4000, "screen")]
    assert cost_at(8000, 20, quadratic) == pytest.approx(64.0)
    falling = [done("m", 0, 9.0, 1000, "screen"), done("m", 0, 1.0, 4000, "screen")]
    assert cost_at(16000, 20, falling) == pytest.approx(2.0), "a cost grows at least as the root of the rows"
    slow_to_answer = replace(quadratic[1], fit_seconds=0.0, predict_seconds=2.0)
    assert cost_at(8000, 100, [slow_to_answer]) == pytest.approx(10.0), "five times the test rows"
    assert rungs(1000) == []


def test_the_dear_and_poor_are_cut_and_the_best_stays():
    models = [Screened(f"m{i}", score=1 - i / 10, full_cost=cost) for i, cost in enumerate([30, 2, 30, 30, 0.1, 900])]
    reasons = cut(models, n_folds=5, processor_seconds=300, longest=100)
    assert set(reasons) == {"m3", "m5"}
    assert "15 min" in reasons["m5"]
    assert "m5" in cut(models, n_folds=5, processor_seconds=300, longest=500, last=True)
    assert "15 min" not in cut(models, n_folds=5, processor_seconds=300, longest=500)["m5"], "roughly is not too long"
    last = cut(models, n_folds=5, processor_seconds=200, longest=100, last=True)
    assert set(last) == {"m2", "m3", "m5"}
    assert "m5" not in cut(models, n_folds=5, processor_seconds=300, longest=100, spared=["m5"])


def test_where_all_are_too_dear_the_best_and_the_cheapest_go_on():
    models = [Screened(f"m{i}", score=1 - i / 10, full_cost=cost) for i, cost in enumerate([900, 700, 800, 600, 950])]
    reasons = cut(models, n_folds=5, processor_seconds=300, longest=100, last=True)
    assert set(reasons) == {"m2", "m4"}


@pytest.mark.parametrize("last", [False, True])
def test_who_leads_on_the_same_rows_is_not_cut_by_an_estimate(last):
    models = [Screened("behind", 0.796, 0.5), Screened("leads", 0.811, 90.0), Screened("last", 0.5, 0.5)]
    models += [Screened(f"m{i}", 0.7, 0.5) for i in range(4)]
    assert cut(models, n_folds=5, processor_seconds=45, longest=7.5, last=last) == {}


def test_what_screening_found_promising_comes_first():
    plan = plan_folds([0, 1] * 50, "classification", n_folds=2)
    accuracy = next(m for m in metrics_of("classification") if m.name == "accuracy")
    screened = [
        Trial(model, 0, {"accuracy": score}, 1.0, 0.0, rows, 20, stage="screen")
        for model, score, rows in [("a", 0.9, 2000), ("b", 0.7, 2000), ("b", 0.8, 8000), ("c", 0.6, 2000)]
    ]
    order = promising(["c", "a", "b", "unseen"], screened, accuracy)
    assert order == ["b", "a", "c", "unseen"]
    trials = list(screened)
    queue = FoldQueue(["c", "a", "b"], plan.folds, trials, order=lambda: order)
    asked = []
    while (task := queue.next()) is not None:
        asked.append((task.model, task.fold))
        trials.append(done(task.model, task.fold, 1.0, len(task.train)))
    assert asked == [("b", 0), ("a", 0), ("c", 0), ("b", 1), ("a", 1), ("c", 1)]


def test_within_a_budget_the_first_fold_tells_who_comes_next_and_who_is_spared_comes_first():
    y = np.array([0, 1] * 60)
    X = np.column_stack([y + 0.3 * np.arange(120) % 2, np.arange(120) % 7.0])
    shared = TrialData(X, y, metrics_of("classification"), (0, 1))
    accuracy = next(m for m in shared.metrics if m.name == "accuracy")
    plan = plan_folds(y, "classification", n_folds=3, held_out=0)
    models = {"blind": lambda: DummyClassifier(), "wrong": lambda: Reversed(), "right": lambda: GaussianNB()}
    workers = InProcess([Candidate(name, make) for name, make in models.items()], shared)
    trials = []
    for trial, _ in run_folds(
        workers, list(models), plan, trials, stop=threading.Event(), metric=accuracy, spared=["blind"]
    ):
        trials.append(trial)
    asked = [(t.model, t.fold) for t in trials]
    assert asked[:3] == [("blind", 0), ("wrong", 0), ("right", 0)], "first everyone's first fold"
    assert [model for model, _ in asked[3:]] == ["blind", "blind", "right", "right", "wrong", "wrong"]


class Reversed(GaussianNB):
    """Says the other class."""

    def predict(self, X):
        return 1 - super().predict(X)


class Ticking:
    """A clock that goes on by itself."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def test_a_rung_ends_with_its_part_of_the_budget():
    y = np.array([0, 1] * 10_000)
    X = y[:, None] + np.zeros((1, 2))
    shared = TrialData(X, y, metrics_of("classification"), (0, 1))
    accuracy = next(m for m in shared.metrics if m.name == "accuracy")
    plan = plan_folds(y, "classification", n_folds=2, held_out=0)
    names = [f"m{i}" for i in range(40)]
    workers, trials, given_up = open_workers([Candidate(n, GaussianNB) for n in names], shared, 1), [], {}
    budget = Budget(100.0, clock=Ticking(1.0))
    found = screen(workers, names, plan, trials, accuracy, budget, given_up=given_up, stop=threading.Event())
    for trial, _ in found:
        trials.append(trial)
    reached = {t.model for t in trials}
    assert 0 < len(reached) < 40
    assert reached == set(names[: len(reached)]), "in the order given"
    assert all("not reached" in given_up[name] for name in names[len(reached) :])


def test_a_trial_ends_at_its_deadline_however_it_spends_its_time():
    from margin.neural.estimators import MLPClassifier

    endless = Candidate("endless", partial(MLPClassifier, max_iter=10_000_000, tol=0.0, random_state=0))
    pool = WorkerPool([endless], data(), 1)
    tasks = iter([Task("endless", 0, np.arange(30), np.arange(30, 60), deadline=time.monotonic())])
    try:
        found = [trial for trial, _ in pool.run(lambda: next(tasks, None), threading.Event())]
    finally:
        pool.close()
    assert [(t.late, t.error) for t in found] == [(True, "not begun when its time was up")]


def test_work_is_what_the_processor_did_and_no_more_than_the_clock_says():
    wall, processor = ([*values] for values in ([0, 60, 62], [0, 2, 6]))
    clock = WorkClock(*(iter(values).__next__ for values in (wall, processor)))
    assert clock() == 2, "58 of 60 seconds it waited for others"
    assert clock() == 4, "four seconds of two threads"


class Loading(GaussianNB):
    """Loads for a hundred seconds of its own clock when it is first fitted in a process; a fit takes one by a row."""

    clock, loaded = 0.0, False

    def fit(self, X, y):
        Loading.clock += len(X) + (0 if Loading.loaded else 1e6)
        Loading.loaded = True
        return super().fit(X, y)


def read_loading_clock():
    return Loading.clock


def test_a_class_is_loaded_before_its_fit_is_timed(monkeypatch):
    from margin.selection import trial as trials
    from margin.selection import workers

    monkeypatch.setattr(Loading, "clock", 0.0)
    monkeypatch.setattr(Loading, "loaded", False)
    for module in (trials, workers):
        monkeypatch.setattr(module, "seconds_worked", read_loading_clock)
    rows = np.arange(50), np.arange(50, 60)
    tasks = [Task("m", 0, *rows, limit=60.0), Task("m", 1, *rows, limit=60.0)]
    messages = work_through([(Candidate("m", Loading), task) for task in tasks])
    found = [message[0] for message in messages if not isinstance(message, Worked)]
    assert [t.fit_seconds for t in found] == [50, 50], "neither pays for the loading"
    first = next(message for message in messages if isinstance(message, Worked) and message.begun)
    assert first.seconds > 1e6, "its limit counts from behind the loading"
    unlimited = work_through([(Candidate("m", Loading), Task("m", 0, *rows))])
    assert Loading.clock < 1e6 + 300, "where no cost decides, nothing is fitted twice"
    assert unlimited[-1][0].fit_seconds == 50


def work_through(tasks):
    """What a worker says in answer to the tasks, in this process."""
    from margin.selection.workers import _work

    class Pipe:
        waiting, said = [pickle.dumps(data()), *map(pickle.dumps, tasks)], []

        def recv_bytes(self):
            if not self.waiting:
                raise EOFError
            return self.waiting.pop(0)

        def send(self, message):
            self.said.append(message)

    pipe = Pipe()
    before = signal.getsignal(signal.SIGINT)
    try:
        _work(pipe)
    finally:
        signal.signal(signal.SIGINT, before)
    return pipe.said


def test_a_limit_is_of_work_and_not_of_waiting():
    from margin.selection.workers import PATIENCE, _Worker

    worker = _Worker.__new__(_Worker)  # no process: what it says is given here
    worker.candidate, worker.task = (
        Candidate("m", GaussianNB),
        Task("m", 0, np.arange(30), np.arange(30, 60), limit=10.0),
    )
    worker.since, worker.began, worker.worked = math.inf, 0.0, 0.0
    worker.end = lambda: None
    worker.hear(Worked(500.0, False), now=0.0)
    assert worker.overdue(now=1000.0) is None, "it is still being loaded"
    worker.hear(Worked(520.0, True), now=1000.0)
    worker.hear(Worked(529.0, True), now=1070.0)
    assert worker.overdue(now=1070.0) is None, "nine seconds of work while others had the processor"
    assert worker.overdue(now=1000.0 + 10 * PATIENCE + 1) is not None, "a process that does nothing is stuck"
    worker.task = Task("m", 0, np.arange(30), np.arange(30, 60), limit=10.0)
    worker.hear(Worked(531.0, True), now=1072.0)
    trial, _ = worker.overdue(now=1072.0)
    assert (trial.late, trial.error) == (True, "took more than 10 s on 30 rows")


def test_a_full_disk_is_no_fault_of_the_model():
    rows = np.arange(30), np.arange(30, 60)
    candidate = Candidate("m", GaussianNB)
    with pytest.raises(OSError, match="No space left"):
        run_trial(candidate, data(), Task("m", 0, *rows, keep=full_disk))
    (*_, outcome) = work_through([(candidate, Task("m", 0, *rows, keep=full_disk))])
    assert isinstance(outcome, OSError), "the parent hears of the disk, not of a model that failed"
    trial, _ = run_trial(candidate, data(), Task("m", 0, *rows, keep=refused))
    assert trial.error.startswith("PermissionError"), "what else goes wrong is a row of the board"


def full_disk(model):
    raise OSError(errno.ENOSPC, "No space left on device")


def refused(model):
    raise PermissionError(errno.EACCES, "Permission denied")


def test_columns_are_prepared_once_and_give_the_same_scores():
    fits = []

    class Counted(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            fits.append(len(X))
            return super().fit(X, y)

    def piped(model):
        return Pipeline([("prepare", Counted()), ("model", model())])

    shared, kept = data(), PreparedColumns(seconds_worked)
    task = Task("m", 0, np.arange(30), np.arange(30, 60))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pickle, "dumps", lambda _: b"the same")  # a class of this function cannot be pickled
        for model in (LogisticRegression, GaussianNB):
            candidate = Candidate("m", partial(piped, model))
            whole, _ = run_trial(candidate, shared, task)
            parts, said = run_trial(candidate, shared, task, prepared=kept)
            assert parts.scores == whole.scores
            assert said is not None
    assert fits == [30, 30, 30], "twice whole, once for both parts"


def test_prepared_columns_make_room_for_the_next():
    kept = PreparedColumns(seconds_worked, most_bytes=600)
    X, piped = np.zeros((40, 1)), Pipeline([("prepare", StandardScaler()), ("model", None)])
    rows = [(np.arange(i, i + 20), np.arange(i + 20, i + 30)) for i in range(3)]
    first = [kept.of(piped, X[a], X[b], a, b) for a, b in rows]
    assert kept.of(piped, X[rows[2][0]], X[rows[2][1]], *rows[2]) is first[2]
    assert kept.of(piped, X[rows[0][0]], X[rows[0][1]], *rows[0]) is not first[0]
    assert kept.of(LogisticRegression(), X, X, *rows[0]) is None


def test_the_time_left_counts_what_is_missing():
    trials = [done("a", 0, 2.0), done("a", 1, 2.0), done("b", 0, 4.0)]
    assert seconds_left(trials, ["a", "b", "c"], 3, 2) == pytest.approx((2 + 8 + 9) / 2)


@pytest.mark.parametrize(("rarer", "folds", "held_out"), [(2, 2, 0), (3, 2, 1), (4, 3, 1), (40, 5, 8)])
def test_the_rarer_of_two_classes_is_in_every_part_where_rows_are_ranked(rarer, folds, held_out):
    y = np.array([1] * rarer + [0] * (900 - rarer))
    plan = plan_folds(y, "classification", both_classes=True)
    assert len(plan.folds) == folds
    assert y[plan.held_out].sum() == held_out
    assert all(set(y[test]) == {0, 1} for _, test in plan.folds)
    assert sorted([*plan.development, *plan.held_out]) == list(range(900))
    assert len(plan_folds(y, "classification").folds) == 5  # a metric of labels needs no such care


def test_copies_follow_their_first_row_in_every_division():
    rng = np.random.default_rng(0)
    copies = rng.permutation(np.repeat(rng.permutation(200) * 7, rng.integers(1, 4, 200)))
    y = copies % 3 == 0
    for task, target in (("classification", y), ("regression", copies * 1.0)):
        plan = plan_folds(target, task, n_folds=4, held_out=0.2, copies=copies, seed=3)
        assert sorted([*plan.development, *plan.held_out]) == list(range(len(copies)))
        assert sorted(np.concatenate([test for _, test in plan.folds])) == sorted(plan.development)
        for train, test in [*plan.folds, (plan.development, plan.held_out)]:
            assert not set(copies[train]) & set(copies[test])
            assert 0.1 < len(test) / (len(train) + len(test)) < 0.35
            if task == "classification":
                assert abs(y[train].mean() - y[test].mean()) < 0.1
        rows = plan.folds[0][0]
        inner = plan.within(rows, 3, seed=1)
        assert sorted(np.concatenate([test for _, test in inner])) == list(range(len(rows)))
        assert all(not set(copies[rows[train]]) & set(copies[rows[test]]) for train, test in inner)
        again = plan_folds(target, task, n_folds=4, held_out=0.2, copies=copies.astype(str), seed=3)
        np.testing.assert_array_equal(again.held_out, plan.held_out, "only which rows are equal counts")
