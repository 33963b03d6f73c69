"""Models whose mean hides a disaster: a prediction far from all targets, or one fold that is unlike the others."""

from __future__ import annotations

from collections.abc import Iterable

from margin.metrics import Metric
from margin.selection.trial import FOLD, SCREEN, Trial

__all__ = ["unsteady"]

#: Lengths of the range of the training targets that an unbounded prediction may lie beyond it. A straight line meets
#: rows that carry it out of the range by its length; by ten of them only a model goes that follows no data there.
FARTHEST = 10.0
#: The worst fold's error over the best one's, if it is also more than this part of the constant's error: errors of
#: 1e-15 and 1e-13 are both a perfect fit.
ORDER_OF_MAGNITUDE, OF_THE_CONSTANT = 10.0, 0.1


def unsteady(trials: Iterable[Trial], metric: Metric, baseline: str) -> dict[str, str]:
    """Models that should not win a regression, each with the reason; ``baseline`` is the name of the constant."""
    by_model: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.stage in (FOLD, SCREEN) and metric.name in trial.scores:
            by_model.setdefault(trial.model, []).append(trial)
    constant = [t.scores[metric.name] for t in by_model.pop(baseline, [])]
    error = sum(constant) / len(constant) if constant else 0.0
    reasons = {model: _reason(own, metric, error) for model, own in by_model.items()}
    return {model: reason for model, reason in reasons.items() if reason}


def _reason(trials: list[Trial], metric: Metric, constant: float) -> str:
    worst = max(trials, key=lambda trial: trial.excess)
    if worst.excess > FARTHEST:
        return f"in fold {worst.fold + 1} it went {worst.excess:.2g} times the range of the training targets beyond it"
    scores = [t.scores[metric.name] for t in trials if t.stage == FOLD]
    if metric.greater_is_better or len(scores) < 2 or min(scores) < 0:
        return ""
    low, high = min(scores), max(scores)
    if high > ORDER_OF_MAGNITUDE * low and high > OF_THE_CONSTANT * constant:
        return f"its {metric.name} in one fold is {high:.3g}, in another {low:.3g}"
    return ""
