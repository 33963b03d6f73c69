"""The threshold on a probability that reaches a wanted precision or recall."""

from __future__ import annotations

import numpy as np

from margin.metrics import precision_recall_curve

__all__ = ["choose_threshold"]


def choose_threshold(
    positive: np.ndarray, probability: np.ndarray, *, precision: float | None = None, recall: float | None = None
) -> float:
    """Rows with at least the returned probability are called positive.

    With ``precision`` wanted, the threshold with the largest recall among those that reach it; with ``recall`` wanted,
    the one with the largest precision. One of both must be given.

    >>> choose_threshold(np.array([False, True, False, True]), np.array([0.1, 0.4, 0.6, 0.9]), precision=1.0)
    0.9
    >>> choose_threshold(np.array([False, True, False, True]), np.array([0.1, 0.4, 0.6, 0.9]), recall=1.0)
    0.4
    """
    if (precision is None) == (recall is None):
        raise ValueError(f"choose_threshold: give precision or recall, one of them; got {precision!r} and {recall!r}.")
    name, wanted = ("precision", precision) if recall is None else ("recall", recall)
    if wanted is None or not 0 < wanted <= 1:
        raise ValueError(f"choose_threshold: {name} must be above 0 and at most 1; got {wanted!r}.")
    precisions, recalls, thresholds = precision_recall_curve(positive, probability)
    reached, other = (precisions, recalls) if recall is None else (recalls, precisions)
    enough = np.flatnonzero(reached[:-1] >= wanted)  # the last point belongs to an infinite threshold
    if not len(enough):
        raise ValueError(
            f"choose_threshold: no threshold reaches {name} {wanted:g}; the best is {reached[:-1].max():.3g}."
        )
    return float(thresholds[enough[np.argmax(other[enough])]])
