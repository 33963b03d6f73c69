"""Cross-validate many models: every one on the same folds, cheap ones first, dear ones within a budget."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from margin.core.threads import available
from margin.metrics import Metric
from margin.selection.folds import FoldPlan
from margin.selection.schedule import FoldQueue, Screened, cost_at, cut, rungs
from margin.selection.trial import SCREEN, Candidate, Task, Trial, TrialData
from margin.selection.workers import InProcess, Result, WorkerPool

__all__ = ["Budget", "open_workers", "run_folds", "screen"]

Workers = InProcess | WorkerPool

#: Parts of a budget: kept for the winner's last fits; the most one trial may take, on a part of the rows and on all.
RESERVE, LONGEST_ON_A_PART, LONGEST = 0.15, 1 / 15, 1 / 4
#: More test rows than this tell no more about a model that is being screened.
SCREEN_TEST_ROWS = 10_000


@dataclass
class Budget:
    """Seconds for a comparison; ``used`` were spent by earlier starts of it."""

    seconds: float
    used: float = 0.0
    clock: Callable[[], float] = time.monotonic
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()

    def left(self, keep: float = 0.0) -> float:
        """What is left when the fraction ``keep`` of the whole is kept for later."""
        return self.seconds * (1 - keep) - self.used - (self.clock() - self.started)


def open_workers(
    candidates: Sequence[Candidate], data: TrialData, n_jobs: int | None = None, limited: bool = False
) -> Workers:
    """Processes for ``n_jobs`` trials at a time, by default as many as cores; with one, this process does it.

    Only a process of its own can be ended, so ``limited`` trials always get one.
    """
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
) -> Iterator[Result]:
    """Every model on every fold; the caller appends what is yielded to ``trials``, by which the order is found.

    With a budget, what has not begun when it ends is given up, and so is what would then still run.
    """

    def limit() -> float | None:
        return None if budget is None else min(budget.left(keep), budget.seconds * LONGEST)

    queue = FoldQueue(models, plan.folds, trials, given_up=given_up, limit=limit)
    yield from workers.run(queue.next, stop)


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
    """Successive halving over rows on the first fold; ``given_up`` gets who goes no further, with the reason."""
    train, test = plan.folds[0]
    steps = rungs(len(train))
    test = plan.part(test, SCREEN_TEST_ROWS)
    for step in steps:
        part = plan.part(train, step)
        done = {trial.key for trial in trials}
        limit = budget.seconds * LONGEST_ON_A_PART
        tasks = [Task(m, 0, part, test, SCREEN, limit) for m in models if m not in given_up]
        todo = iter([task for task in tasks if task.key not in done])
        yield from workers.run(partial(next, todo, None), stop)
        if stop.is_set():
            return
        found = [_screened(m, trials, metric, len(train)) for m in models if m not in given_up]
        late = {t.model: t.error for t in trials if t.late and t.stage == SCREEN}
        reasons = cut(
            [s for s in found if s is not None],
            n_folds=len(plan.folds),
            processor_seconds=max(budget.left(keep), 0.0) * workers.n_jobs,
            longest=budget.seconds * LONGEST,
            last=step == steps[-1],
            spared=spared,
        )
        given_up.update(late)
        given_up.update({model: f"after {step:,} rows: {reason}" for model, reason in reasons.items()})


def _screened(model: str, trials: Sequence[Trial], metric: Metric, n_train: int) -> Screened | None:
    """Where the model stands after its largest rung; None for one that failed."""
    own = sorted((t for t in trials if t.model == model and t.stage == SCREEN), key=lambda t: t.n_train)
    if not own or metric.name not in own[-1].scores:
        return None
    score = own[-1].scores[metric.name]
    return Screened(model, score if metric.greater_is_better else -score, cost_at(n_train, own))
