"""Leaf values that rise or fall with a column, whatever loss they came from."""

from __future__ import annotations

import numpy as np

__all__ = ["enforce_monotone"]


def enforce_monotone(
    left: np.ndarray, right: np.ndarray, feature: np.ndarray, direction: np.ndarray, value: np.ndarray
) -> None:
    """Clip values, in place, so that they are monotone in every column whose ``direction`` is 1 or -1.

    Below a question about such a column everything on one side stays under the middle of the two sides' means and
    everything on the other side above it; so no crossing of any threshold can go the wrong way.
    """
    lower, upper = np.full(len(left), -np.inf), np.full(len(left), np.inf)
    for node in range(len(left)):
        value[node] = min(max(value[node], lower[node]), upper[node])
        a, b = left[node], right[node]
        if a < 0:
            continue
        lower[[a, b]], upper[[a, b]] = lower[node], upper[node]
        sign = direction[feature[node]]
        if sign == 0:
            continue
        middle = min(max(0.5 * (value[a] + value[b]), lower[node]), upper[node])
        below, above = (a, b) if sign > 0 else (b, a)
        upper[below], lower[above] = middle, middle
