r"""Natural cubic splines by their second derivatives, which knots that nearly coincide do not spoil.

A natural spline is a straight line plus a curve with second derivatives :math:`\gamma_i` at the inner knots, and

.. math:: \int f''(t)^2\,dt = \gamma^\top R\,\gamma,\qquad Q^\top g = R\,\gamma,

with g its values at the knots (Green and Silverman 1994). In g the roughness :math:`Q R^{-1} Q^\top` grows as
:math:`1/h^3` with the gap h of the two nearest knots, and everything else is lost in its rounding. With
:math:`\delta_i = \sqrt{R_{ii}}\,\gamma_i` it is :math:`\delta^\top\tilde R\,\delta`, where :math:`\tilde R` has a
diagonal of ones and a condition number below four, whatever the knots.
"""

from __future__ import annotations

import numpy as np

__all__ = ["bent_design", "bent_roughness", "bent_values"]


def bent_roughness(knots: np.ndarray) -> np.ndarray:
    r"""(K - 2, K - 2): the integral of :math:`(f'')^2` is a quadratic form of this in the scaled second derivatives.

    >>> bent_roughness(np.array([0.0, 1.0, 2.0, 4.0])).round(3).tolist()
    [[1.0, 0.204], [0.204, 1.0]]
    """
    h = np.diff(knots)
    scale = _scale(h)
    if not len(scale):
        return np.zeros((0, 0))
    beside = h[1:-1] / 6 / (scale[:-1] * scale[1:])
    return np.eye(len(scale)) + np.diag(beside, 1) + np.diag(beside, -1)


def bent_values(knots: np.ndarray) -> np.ndarray:
    """(K, K - 2): the values at ``knots`` of the curves with one scaled second derivative of 1, their mean zero."""
    values = _coefficients(knots)[0]
    return values - values.mean(axis=0)


def bent_design(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """(n, K - 2): the same curves at ``x``, straight outside the knots; none where there are fewer than three."""
    if len(knots) < 3:
        return np.empty((len(x), 0))
    values, slopes, bends = _coefficients(knots)
    inside = np.clip(x, knots[0], knots[-1])
    left = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
    t = inside - knots[left]
    cube = t**3 / (6 * np.diff(knots)[left])
    curve = values[left] - values.mean(axis=0) + t[:, None] * slopes[left]
    curve += (t**2 / 2 - cube)[:, None] * bends[left] + cube[:, None] * bends[left + 1]
    return np.asarray(curve + np.maximum(x - knots[-1], 0.0)[:, None] * slopes[-1])  # on the left the slope is zero


def _scale(h: np.ndarray) -> np.ndarray:
    return np.sqrt((h[:-1] + h[1:]) / 3)


def _coefficients(knots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(K, K - 2) each: values, slopes and second derivatives at the knots; value and slope begin at zero."""
    h = np.diff(knots)[:, None]
    inner = max(len(knots) - 2, 0)
    bends = np.zeros((len(knots), inner))
    bends[np.arange(1, inner + 1), np.arange(inner)] = 1 / _scale(h[:, 0])
    # A second derivative that is linear between two knots: both integrals are sums over the pieces.
    slopes = np.vstack([np.zeros(inner), np.cumsum(h * (bends[:-1] + bends[1:]) / 2, axis=0)])
    rises = h * slopes[:-1] + h**2 * (bends[:-1] / 3 + bends[1:] / 6)
    return np.vstack([np.zeros(inner), np.cumsum(rises, axis=0)]), slopes, bends
