"""One model in any case: where a budget ended before any was measured, the simplest are tried until one has a score.

On a busy machine, reading the table and starting processes may take all the time there is, and then even models that
fit in a second were ended while they were still being imported. A folder without a model helps nobody.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence

from margin.metrics import Metric
from margin.selection import FoldPlan, Task, Trial
from margin.selection.comparison import SCREEN_TEST_ROWS, Workers
from margin.selection.schedule import FIRST_RUNG
from margin.selection.trial import SCREEN
from margin.selection.workers import NOT_BEGUN, Result
from margin.service.comparison.candidates import BASELINE

__all__ = ["is_measured", "list_untried", "try_until_one_is_measured"]


def is_measured(trials: Sequence[Trial], metric: Metric) -> bool:
    """Whether any model but the baseline has a score, by which it can win."""
    return any(metric.name in trial.scores for trial in trials if trial.model != BASELINE)


def list_untried(models: Collection[str], trials: Sequence[Trial]) -> list[str]:
    """The models of which nothing is known: never begun, or ended before they had an answer."""
    known = {trial.model for trial in trials if not trial.late}
    return [model for model in models if model not in known]


def try_until_one_is_measured(
    workers: Workers,
    models: Sequence[str],
    plan: FoldPlan,
    trials: Sequence[Trial],
    metric: Metric,
    stop: threading.Event,
) -> Iterator[Result]:
    """One trial after the other on a small part of the rows, however long it takes; the caller appends to ``trials``.

    ``models`` come in the order in which they are tried; who was late before comes behind those never begun. The
    baseline, without which no score can be read, keeps its place.
    """
    train, test = plan.folds[0]
    part, test_part = plan.part(train, FIRST_RUNG), plan.part(test, SCREEN_TEST_ROWS)
    late = {trial.model for trial in trials if trial.late and trial.error != NOT_BEGUN}
    waiting = iter(sorted(list_untried(models, trials), key=lambda model: model in late and model != BASELINE))
    known, begun = len(trials), 0

    def next_task() -> Task | None:
        nonlocal begun
        if is_measured(trials, metric) or begun > len(trials) - known:
            return None
        model = next(waiting, None)
        begun += 1
        return None if model is None else Task(model, 0, part, test_part, SCREEN)

    yield from workers.run(next_task, stop)
