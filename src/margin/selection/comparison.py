"""Cross-validate many models: every one on the same folds, cheap ones first, dear ones within a budget."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import current_process
from typing import Any, Protocol

import numpy as np

from margin.core.threads import available
from margin.metrics import Metric
from margin.selection.folds import FoldPlan
from margin.selection.schedule import FoldQueue, Screened, cost_at, cut, last_fits_seconds, rungs
from margin.selection.trial import FOLD, SCREEN, Candidate, Task, Trial, TrialData
from margin.selection.workers import InProcess, NextTask, Result, WorkerPool

__all__ = ["Budget", "leading", "open_workers", "promising", "reserve", "run_folds", "screen"]


class Workers(Protocol):
    """Whoever runs trials: one process, several, or a cluster."""

    n_jobs: int

    def add(self, candidate: Candidate) -> None:
        """Another model whose trials may come."""

    def run(self, next_task: NextTask, stop: threading.Event) -> Iterator[Result]:
        """Ask for tasks and yield results until there are no more, or ``stop`` is set."""

    def close(self) -> None:
        """End what was started."""


#: Parts of a budget that are kept for the winner's last fits: as long as its cost is not known, at least, and at most.
RESERVE, LEAST_RESERVE, MOST_RESERVE = 0.25, 0.1, 0.4
#: Parts of a budget, the most one trial may take: on a part of the rows, on all of them, and on all of them for the
#: model that leads. The last fits see more rows than a fold: what a fold may take fits into what may be kept.
LONGEST_ON_A_PART, LONGEST, LONGEST_OF_THE_BEST = 1 / 12, 1 / 8, 1 / 5
#: Time is kept for so many times what the last fits of so many leaders would take: dearer blends make way for them.
LEADERS, CAUTION = 2, 1.25
#: Of what is not kept, the part that tries every model once; then the leaders see all folds before others are tried.
EXPLORING = 0.5
#: Of what is not kept, the part that screening may use, and of that the part of a rung which is not the last.
SCREENING, EARLY_RUNG = 0.5, 0.6
#: More test rows than this tell no more about a model that is being screened.
SCREEN_TEST_ROWS = 3_000


@dataclass
class Budget:
    """Seconds for a comparison from ``started`` on (by default from now); earlier starts of it have ``used`` some."""

    seconds: float
    used: float = 0.0
    clock: Callable[[], float] = time.monotonic
    started: float | None = None

    def __post_init__(self) -> None:
        if self.started is None:
            self.started = self.clock()

    def left(self, keep: float = 0.0) -> float:
        """What is left when the fraction ``keep`` of the whole is kept for later."""
        return self.deadline(keep) - self.clock()

    def deadline(self, keep: float = 0.0) -> float:
        """The moment when that is used up."""
        assert self.started is not None
        return self.started + self.seconds * (1 - keep) - self.used


def open_workers(
    candidates: Sequence[Candidate],
    data: TrialData,
    n_jobs: int | None = None,
    limited: bool = False,
    cluster: Any = None,
) -> Workers:
    """Processes for ``n_jobs`` trials at a time, by default as many as cores; with one, this process does it.

    Only a process of its own can be ended, so ``limited`` trials always get one; a daemon, such as a worker of a
    cluster, may have none and runs them itself. ``cluster`` is the address of a Dask cluster, ``local:4``, or a client.
    """
    if cluster is not None:
        from margin.selection.dask_pool import DaskPool

        return DaskPool(candidates, data, cluster)
    if current_process().daemon:
        return InProcess(candidates, data)
    jobs = n_jobs or available()
    return WorkerPool(candidates, data, jobs) if jobs > 1 or limited else InProcess(candidates, data)


def run_folds(
    workers: Workers,
    models: Sequence[str],
    plan: FoldPlan,
    trials: list[Trial],
    *,
    stop: threading.Event,
    given_up: dict[str, str] | None = None,
    budget: Budget | None = None,
    keep: float = RESERVE,
    metric: Metric | None = None,
    spared: Sequence[str] = (),
) -> Iterator[Result]:
    """Every model on every fold; the caller appends what is yielded to ``trials``, by which the order is found.

    With a budget, what has not begun when it ends is given up, and so is what would then still run. With a ``metric``,
    the ``spared`` and the models that promise most by it come first, so that whenever time is up, the best are done.
    """

    def seconds_kept() -> float:
        if budget is None or metric is None:
            return keep
        return keep - RESERVE + reserve(models, plan, trials, metric, budget, workers.n_jobs)

    def limit() -> float | None:
        return None if budget is None else min(budget.left(seconds_kept()), budget.seconds * LONGEST)

    def limit_of_best() -> tuple[str, float] | None:
        leader = None if budget is None or metric is None else leading(models, trials, metric, spared)
        if budget is None or leader is None:
            return None
        return leader, min(budget.left(seconds_kept()), budget.seconds * LONGEST_OF_THE_BEST)

    def deadline() -> float | None:
        return None if budget is None else budget.deadline(seconds_kept())

    def is_short() -> bool:
        keep = seconds_kept()
        return budget is not None and budget.left(keep) < (1 - EXPLORING) * (1 - keep) * budget.seconds

    def order() -> list[str]:
        assert metric is not None
        return sorted(promising(models, trials, metric), key=lambda model: model not in spared)

    queue = FoldQueue(
        models,
        plan.folds,
        trials,
        given_up=given_up,
        limit=limit,
        order=None if metric is None else order,
        deadline=deadline,
        limit_of_best=limit_of_best,
        is_short=is_short,
    )
    yield from workers.run(queue.next, stop)


def reserve(
    models: Sequence[str], plan: FoldPlan, trials: Sequence[Trial], metric: Metric, budget: Budget, n_jobs: int
) -> float:
    """The part of a budget to keep for the last fits: ``RESERVE``, or less or more where the folds show what they take.

    More is kept only for the one that leads to be fitted once, to all rows: without it the choice was for nothing.
    """
    fits = {t.model: t.fit_seconds for t in trials if t.stage == FOLD and t.fold == 0 and not t.error}
    leaders = [fits[model] for model in promising(models, trials, metric) if model in fits][:LEADERS]
    if not leaders:
        return RESERVE
    rows = (len(plan.development) + len(plan.held_out)) / len(plan.folds[0][0])
    seconds = last_fits_seconds(sum(leaders), rows, n_jobs, judged=len(plan.held_out) > 0)
    best = last_fits_seconds(leaders[0], rows, n_jobs, judged=False)
    usual, least = (CAUTION * needed / budget.seconds for needed in (seconds, best))
    return max(LEAST_RESERVE, min(RESERVE, usual), min(MOST_RESERVE, least))


def screen(
    workers: Workers,
    models: Sequence[str],
    plan: FoldPlan,
    trials: list[Trial],
    metric: Metric,
    budget: Budget,
    *,
    given_up: dict[str, str],
    stop: threading.Event,
    spared: Sequence[str] = (),
    keep: float = RESERVE,
) -> Iterator[Result]:
    """Successive halving over rows on the first fold; ``given_up`` gets who goes no further, with the reason.

    ``models`` come in the order in which they are tried first; on the next rung the better ones do. A rung ends when
    its part of the budget does, and who was not reached by then goes no further.
    """
    train, test = plan.folds[0]
    steps = rungs(len(train))
    test_part = plan.part(test, SCREEN_TEST_ROWS)
    sign = 1 if metric.greater_is_better else -1
    for step in steps:
        is_last = step == steps[-1]
        left = budget.left(keep) - (1 - SCREENING) * (1 - keep) * budget.seconds
        deadline = budget.clock() + max(left, 0.0) * (1.0 if is_last else EARLY_RUNG)
        order = promising(models, trials, metric)
        tasks = _rung(order, given_up, plan, step, test_part, trials, budget.seconds * LONGEST_ON_A_PART, deadline)
        yield from workers.run(partial(_next_before, iter(tasks), deadline, budget.clock), stop)
        if stop.is_set():
            return
        screened = [_screen(m, trials, sign, metric, (len(train), len(test))) for m in models if m not in given_up]
        reasons = cut(
            [s for s in screened if s is not None],
            n_folds=len(plan.folds),
            processor_seconds=max(budget.left(keep), 0.0) * workers.n_jobs,
            longest=budget.seconds * LONGEST,
            last=is_last,
            spared=spared,
        )
        given_up.update(_list_unmeasured([m for m in models if m not in spared], given_up, trials, step))
        given_up.update({model: f"after {step:,} rows: {reason}" for model, reason in reasons.items()})


def promising(models: Sequence[str], trials: Sequence[Trial], metric: Metric) -> list[str]:
    """The models, those first that were best on the most rows; who was never tried keeps its place behind them.

    Screening tells that on a part of the rows, and the first fold on all of them; later folds do not change the order.
    """
    sign = 1 if metric.greater_is_better else -1
    best: dict[str, tuple[int, float]] = {}
    for t in trials:
        if (t.stage == SCREEN or (t.stage == FOLD and t.fold == 0)) and metric.name in t.scores:
            best[t.model] = max(best.get(t.model, (0, 0.0)), (t.n_train, sign * t.scores[metric.name]))
    return sorted(models, key=lambda m: tuple(-x for x in best.get(m, (0, 0.0))))


def leading(models: Sequence[str], trials: Sequence[Trial], metric: Metric, spared: Sequence[str] = ()) -> str | None:
    """The model that promises most, apart from the ``spared``; None as long as nothing is known of any."""
    scored = {t.model for t in trials if metric.name in t.scores and t.stage in (SCREEN, FOLD)}
    return next((m for m in promising(models, trials, metric) if m in scored and m not in spared), None)


def _rung(
    models: Sequence[str],
    given_up: Mapping[str, str],
    plan: FoldPlan,
    step: int,
    test: np.ndarray,
    trials: Sequence[Trial],
    limit: float,
    deadline: float,
) -> list[Task]:
    """The trials of a rung that are still to be run."""
    part = plan.part(plan.folds[0][0], step)
    done = {trial.key for trial in trials}
    failed = {trial.model for trial in trials if trial.error}
    tasks = [Task(m, 0, part, test, SCREEN, limit, deadline=deadline) for m in models if m not in {*given_up, *failed}]
    return [task for task in tasks if task.key not in done]


def _next_before(tasks: Iterator[Task], deadline: float, clock: Callable[[], float]) -> Task | None:
    return None if clock() > deadline else next(tasks, None)


def _list_unmeasured(
    models: Sequence[str], given_up: Mapping[str, str], trials: Sequence[Trial], step: int
) -> dict[str, str]:
    """Who took too long on a rung, or was never reached; who was on an earlier rung is judged by that."""
    late = {t.model: t.error for t in trials if t.late and t.stage == SCREEN}
    tried = {t.model for t in trials if t.stage == SCREEN}
    missed = {m: f"not reached with {step:,} rows when screening ended" for m in models if m not in tried}
    return {m: reason for m, reason in {**missed, **late}.items() if m not in given_up}


def _screen(model: str, trials: Sequence[Trial], sign: int, metric: Metric, rows: tuple[int, int]) -> Screened | None:
    """Where the model stands after its largest rung; None for one that failed."""
    own = sorted((t for t in trials if t.model == model and t.stage == SCREEN), key=lambda t: t.n_train)
    if not own or metric.name not in own[-1].scores:
        return None
    return Screened(model, sign * own[-1].scores[metric.name], cost_at(*rows, own))
