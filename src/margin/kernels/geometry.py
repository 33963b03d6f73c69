r"""Hyperplanes :math:`\{x\in\mathbb R^m : \theta_+^\top x + \theta_0 = 0\}`: sides, distances, what a margin promises.

Distances of points and projections are in :mod:`margin.foundations.linalg.hyperplanes`. The plane has dimension m - 1;
it is a linear subspace only if :math:`\theta_0 = 0`, otherwise an affine one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margin.core.array_types import MatrixLike
from margin.foundations.linalg.hyperplanes import signed_distance

__all__ = ["distance_from_origin", "margin_width", "parallel_distance", "radius_margin_bound", "side_of_plane"]


def side_of_plane(X: MatrixLike, weights: Any, intercept: float) -> NDArray[np.int64]:
    """1 on the side that the weights point to, -1 on the other, 0 on the plane.

    >>> side_of_plane([[2.0, 0.0], [0.0, 0.0], [1.0, 5.0]], [1.0, 0.0], -1.0).tolist()
    [1, -1, 0]
    """
    return np.sign(signed_distance(X, weights, intercept)).astype(np.int64)


def distance_from_origin(weights: Any, intercept: float) -> float:
    r""":math:`|\theta_0|/\|\theta_+\|`, never negative.

    >>> distance_from_origin([3.0, 4.0], -5.0)
    1.0
    """
    weights = np.asarray(weights, dtype=np.float64)
    return float(abs(signed_distance(np.zeros_like(weights), weights, intercept)))


def parallel_distance(weights: Any, first: float, second: float) -> float:
    r"""Between :math:`w^\top x = c_1` and :math:`w^\top x = c_2`: :math:`|c_2-c_1|/\|w\|`.

    >>> parallel_distance([3.0, 4.0], -1.0, 1.0)
    0.4
    """
    # A point of the first plane, measured from the second.
    weights = np.asarray(weights, dtype=np.float64)
    return distance_from_origin(weights, float(second) - float(first))


def margin_width(weights: Any) -> float:
    r"""Between the planes :math:`w^\top x + b = \pm1`: :math:`2/\|w\|`."""
    return parallel_distance(weights, -1.0, 1.0)


def radius_margin_bound(radius: float, norm: float, n: int) -> float:
    r""":math:`R^2\|w\|^2/n`, which bounds the leave-one-out error of a hard margin (Vapnik): a wide margin in a small
    ball generalizes, whatever the number of columns.

    >>> radius_margin_bound(2.0, 0.5, 100)
    0.01
    """
    if radius < 0 or norm < 0 or n < 1:
        raise ValueError(f"radius_margin_bound: radius, norm and n must be positive; got {radius}, {norm} and {n}.")
    return radius**2 * norm**2 / n
