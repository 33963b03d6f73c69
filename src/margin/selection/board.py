r"""From trials to a leaderboard: means, honest intervals, costs.

Scores of the k folds are not independent, because their training sets overlap, so the usual standard error is too
small. Nadeau and Bengio's correction widens it:

.. math:: \hat\sigma^2 \left(\frac1k + \frac{n_{\text{test}}}{n_{\text{train}}}\right).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from margin.selection.trial import Trial

__all__ = ["Standing", "board", "corrected_interval"]

LEVEL = 0.95


@dataclass(frozen=True)
class Standing:
    """One row of the board; seconds are medians over the folds."""

    model: str
    metric: str
    mean: float
    low: float
    high: float
    fit_seconds: float
    predict_seconds: float
    folds: int
    error: str = ""


def corrected_interval(
    scores: Sequence[float], n_train: int, n_test: int, level: float = LEVEL
) -> tuple[float, float, float]:
    """Mean and interval of cross-validated scores by the corrected variance above.

    >>> mean, low, high = corrected_interval([0.8, 0.9, 0.85], n_train=80, n_test=40)
    >>> low < mean < high
    True
    """
    values = np.asarray(scores, dtype=float)
    mean = float(values.mean())
    if len(values) < 2:
        return mean, float("nan"), float("nan")
    spread = np.sqrt(values.var(ddof=1) * (1 / len(values) + n_test / n_train))
    half = float(stats.t.ppf((1 + level) / 2, len(values) - 1) * spread)
    return mean, mean - half, mean + half


def board(
    trials: Iterable[Trial], metric: str, greater_is_better: bool, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> list[Standing]:
    """The standings, best first; a model that failed on any fold stands below with its error.

    Intervals end at ``bounds``, the least and largest value of the metric: no accuracy is above 1.
    """
    by_model: dict[str, list[Trial]] = {}
    for trial in trials:
        by_model.setdefault(trial.model, []).append(trial)
    standings = [_standing(model, found, metric, bounds) for model, found in by_model.items()]
    sign = -1 if greater_is_better else 1
    return sorted(standings, key=lambda s: (bool(s.error), sign * s.mean if s.mean == s.mean else 0.0, s.model))


def _standing(model: str, trials: list[Trial], metric: str, bounds: tuple[float, float]) -> Standing:
    errors = [trial.error for trial in trials if trial.error]
    if errors:
        nan = float("nan")
        return Standing(model, metric, nan, nan, nan, nan, nan, len(trials), errors[0])
    mean, low, high = corrected_interval(
        [trial.scores[metric] for trial in trials], trials[0].n_train, trials[0].n_test
    )
    # Medians: the first fold of a compiled model may wait seconds for the compiler, once in a machine's life.
    fit = float(np.median([trial.fit_seconds for trial in trials]))
    predict = float(np.median([trial.predict_seconds for trial in trials]))
    return Standing(model, metric, mean, max(low, bounds[0]), min(high, bounds[1]), fit, predict, len(trials))
