"""Hausdorff distance: how far a point of one set can be from the other set."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree

from margin.foundations.transport.arguments import as_points

__all__ = ["directed_hausdorff", "hausdorff"]


def directed_hausdorff(x: ArrayLike, y: ArrayLike) -> float:
    r"""\(\sup_{x} \inf_{y} \lVert x - y \rVert\): the worst point of ``x``.

    >>> directed_hausdorff([0.0, 1.0], [0.0, 1.0, 9.0]), directed_hausdorff([0.0, 1.0, 9.0], [0.0, 1.0])
    (0.0, 8.0)
    """
    x, y = as_points("hausdorff", "x", x), as_points("hausdorff", "y", y)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"hausdorff: x and y must have the same dimension; got {x.shape[1]} and {y.shape[1]}.")
    return float(np.max(KDTree(y).query(x)[0]))


def hausdorff(x: ArrayLike, y: ArrayLike) -> float:
    r"""\(d_H(X, Y) = \max\{\sup_x \inf_y \lVert x - y \rVert, \sup_y \inf_x \lVert x - y \rVert\}\), a metric on
    closed sets.

    >>> hausdorff([0.0, 1.0], [0.0, 1.0, 9.0])
    8.0
    """
    return max(directed_hausdorff(x, y), directed_hausdorff(y, x))
