r"""Quantiles of weighted values.

A quantile of level :math:`\alpha` minimizes :math:`\sum_i w_i\,\rho_\alpha(v_i - \gamma)` over :math:`\gamma`, with the
pinball loss :math:`\rho_\alpha(r) = \max(\alpha r, (\alpha - 1) r)`. Where a whole interval does, the rule has to say
which of its points is meant.
"""

from __future__ import annotations

import numpy as np

__all__ = ["lower_weighted_median", "weighted_quantile"]


def weighted_quantile(values: np.ndarray, weights: np.ndarray, level: float) -> float:
    """The value (of ``values``, (n,)) at which the cumulated weight passes ``level`` times the total; the middle of two
    neighboring values where it is reached exactly. Values of weight zero do not count.

    >>> weighted_quantile(np.array([3.0, 1.0, 2.0, 9.0]), np.ones(4), 0.5)
    2.5
    >>> weighted_quantile(np.array([3.0, 1.0, 2.0, 9.0]), np.array([3.0, 1.0, 0.0, 1.0]), 0.5)
    3.0
    """
    order = np.argsort(values, kind="stable")
    if not weights.all():
        order = order[weights[order] > 0]
    reached = np.cumsum(weights[order])
    target = level * reached[-1]
    position = min(int(np.searchsorted(reached, target)), len(order) - 1)
    value = values[order[position]]
    if reached[position] == target and position + 1 < len(order):
        value = 0.5 * value + 0.5 * values[order[position + 1]]
    return float(value)


def lower_weighted_median(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Per row of ``values`` (n, m) the smallest value at which half of the ``weights`` (m,) are reached, (n,).

    >>> lower_weighted_median(np.array([[4.0, 1.0, 2.0, 3.0]]), np.ones(4))
    array([2.])
    """
    order = np.argsort(values, axis=1, kind="stable")
    reached = np.cumsum(weights[order], axis=1)
    position = np.argmax(reached >= 0.5 * reached[:, -1:], axis=1)
    return np.take_along_axis(values, np.take_along_axis(order, position[:, None], axis=1), axis=1)[:, 0]
