"""Hausdorff distance: how far a point of one set can be from the other set."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import KDTree

from margin.foundations.transport.arguments import as_points

__all__ = ["directed_hausdorff", "hausdorff"]

Array = NDArray[np.float64]

ALL_PAIRS = 2**17  # up to so many pairs of points, all distances take less time than two trees


def directed_hausdorff(x: ArrayLike, y: ArrayLike) -> float:
    r""":math:`\sup_{x} \inf_{y} \lVert x - y \rVert`: the worst point of ``x``.

    >>> directed_hausdorff([0.0, 1.0], [0.0, 1.0, 9.0]), directed_hausdorff([0.0, 1.0, 9.0], [0.0, 1.0])
    (0.0, 8.0)
    """
    return _farthest(*_same_dimension(x, y))


def hausdorff(x: ArrayLike, y: ArrayLike) -> float:
    r""":math:`d_H(X, Y) = \max\{\sup_x \inf_y \lVert x - y \rVert, \sup_y \inf_x \lVert x - y \rVert\}`, a metric on
    closed sets.

    >>> hausdorff([0.0, 1.0], [0.0, 1.0, 9.0])
    8.0
    """
    x, y = _same_dimension(x, y)
    if len(x) * len(y) > ALL_PAIRS:
        return max(_farthest(x, y), _farthest(y, x))
    squares = np.zeros((len(x), len(y)))
    for column in range(x.shape[1]):  # exact differences, one dimension at a time
        squares += (x[:, column, None] - y[:, column]) ** 2
    return float(np.sqrt(max(squares.min(axis=1).max(), squares.min(axis=0).max())))


def _same_dimension(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    x, y = as_points("hausdorff", "x", x), as_points("hausdorff", "y", y)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"hausdorff: x and y must have the same dimension; got {x.shape[1]} and {y.shape[1]}.")
    return x, y


def _farthest(x: Array, y: Array) -> float:
    return float(np.max(KDTree(y).query(x)[0]))
