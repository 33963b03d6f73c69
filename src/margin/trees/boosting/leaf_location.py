"""Huber's location: the exact line search of a leaf whose loss is quadratic near zero and linear beyond."""

from __future__ import annotations

import numpy as np

__all__ = ["huber_location"]


def huber_location(values: np.ndarray, weight: np.ndarray, delta: float) -> float:
    r"""The minimizer of :math:`\sum_i w_i H_\delta(v_i - \gamma)`, the root of a falling, piecewise linear slope.

    The slope :math:`\psi(\gamma) = \sum_i w_i\,\mathrm{clip}(v_i - \gamma, -\delta, \delta)` bends only at
    :math:`v_i \pm \delta`: the bends around its root are found by sorting, and between them it is a straight line.

    >>> huber_location(np.array([0.0, 1.0, 100.0]), np.ones(3), delta=1.0)
    1.0
    """
    bends = np.concatenate([values - delta, values + delta])
    order = np.argsort(bends, kind="stable")
    bends = bends[order]
    # From left to right the slope of psi changes by -w at v - delta and by +w at v + delta.
    steepness = np.cumsum(np.concatenate([-weight, weight])[order])[:-1]
    psi = delta * weight.sum() + np.concatenate([[0.0], np.cumsum(steepness * np.diff(bends))])
    last = min(int(np.searchsorted(-psi, 0.0, side="right")) - 1, len(steepness) - 1)  # the last bend with psi >= 0
    if steepness[last] >= 0.0:  # flat at zero: every point between the bends is a minimizer
        return float(0.5 * bends[last] + 0.5 * bends[last + 1])
    return float(bends[last] - psi[last] / steepness[last])
