r"""Where to cut: rates, costs and recall when rows whose score exceeds a threshold are called positive."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from margin.core.docstrings import with_parameters
from margin.metrics.arguments import ratio
from margin.metrics.binary_scores import binary_scores
from margin.metrics.parameter_texts import SCORES
from margin.metrics.ranking import roc_curve

__all__ = ["best_threshold", "cost_at_threshold", "recall_at_fpr", "threshold_sweep"]


@with_parameters(SCORES)
def threshold_sweep(
    y_true: Any, score: ArrayLike, thresholds: ArrayLike | None = None, pos_label: Any = None
) -> dict[str, np.ndarray]:
    """Precision, recall, false positive rate and accuracy when a row is positive if its score *exceeds* a threshold.

    Recall and false positive rate never rise with the threshold; precision may fall. Where nothing is called positive
    the precision is 0. ``thresholds`` are by default minus infinity and the distinct scores.

    Parameters
    ----------
    thresholds : array-like, optional
        Thresholds to look at.
    """
    where = "threshold_sweep"
    positive, s, _ = binary_scores(where, y_true, score, pos_label, None)
    cuts = np.append(-np.inf, np.unique(s)) if thresholds is None else np.asarray(thresholds, dtype=np.float64)
    if cuts.ndim != 1 or not cuts.size or np.any(np.isnan(cuts)):
        raise ValueError(f"{where}: thresholds must be a non-empty list of numbers.")
    tp = np.sum(positive) - np.searchsorted(np.sort(s[positive]), cuts, side="right")
    fp = np.sum(~positive) - np.searchsorted(np.sort(s[~positive]), cuts, side="right")
    return {
        "threshold": cuts,
        "precision": ratio(tp, tp + fp, 0.0),
        "recall": ratio(tp, np.sum(positive), 0.0),
        "false_positive_rate": ratio(fp, np.sum(~positive), 0.0),
        "accuracy": (tp + np.sum(~positive) - fp) / len(s),
    }


@with_parameters(SCORES)
def best_threshold(
    y_true: Any,
    score: ArrayLike,
    cost_false_positive: float = 1.0,
    cost_false_negative: float = 1.0,
    pos_label: Any = None,
) -> tuple[float, float]:
    """The threshold with the least mean cost of errors, and that cost; rows that exceed it are called positive."""
    where = "best_threshold"
    for name, cost in (("cost_false_positive", cost_false_positive), ("cost_false_negative", cost_false_negative)):
        if not isinstance(cost, int | float | np.number) or not 0 <= cost < np.inf:
            raise ValueError(f"{where}: {name} must be a number of at least 0; got {cost!r}.")
    positive, s, _ = binary_scores(where, y_true, score, pos_label, None)
    sweep = threshold_sweep(positive, s)
    missed = (1 - sweep["recall"]) * np.mean(positive)
    cost = cost_false_positive * sweep["false_positive_rate"] * np.mean(~positive) + cost_false_negative * missed
    best = int(np.argmin(cost))
    return float(sweep["threshold"][best]), float(cost[best])


@with_parameters(SCORES)
def cost_at_threshold(
    y_true: Any,
    score: ArrayLike,
    threshold: float,
    cost_false_positive: float = 1.0,
    cost_false_negative: float = 1.0,
    pos_label: Any = None,
) -> float:
    """Mean cost of errors when rows whose score exceeds ``threshold`` are called positive.

    Parameters
    ----------
    threshold : float
        The threshold.

    Examples
    --------
    >>> cost_at_threshold([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], threshold=0.5, cost_false_positive=10)
    2.75
    """
    positive, s, _ = binary_scores("cost_at_threshold", y_true, score, pos_label, None)
    called = s > threshold
    return float(np.mean(cost_false_positive * (called & ~positive) + cost_false_negative * (~called & positive)))


@with_parameters(SCORES)
def recall_at_fpr(y_true: ArrayLike, score: ArrayLike, max_fpr: float, pos_label: Any = None) -> float:
    """The largest recall of a threshold whose false positive rate is at most ``max_fpr``.

    Parameters
    ----------
    max_fpr : float in [0, 1]
        The largest false positive rate that is allowed.

    Examples
    --------
    >>> recall_at_fpr([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], max_fpr=0.1)
    0.5
    """
    if not isinstance(max_fpr, int | float | np.number) or not 0 <= max_fpr <= 1:
        raise ValueError(f"recall_at_fpr: max_fpr must lie in [0, 1]; got {max_fpr!r}.")
    fpr, tpr, _ = roc_curve(y_true, score, pos_label)
    return float(tpr[fpr <= max_fpr].max())
