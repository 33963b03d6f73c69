r"""How alike two sets are: masks by their overlap, point sets by their distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from margin.metrics.arguments import finite

__all__ = ["box_iou", "dice", "hausdorff", "hausdorff_pairs", "iou"]


def iou(a: ArrayLike, b: ArrayLike) -> float:
    r"""Intersection over union of two masks, :math:`|A\cap B|/|A\cup B|`; two empty masks are equal: 1.

    Parameters
    ----------
    a : array-like of bool or 0 and 1
        The first mask.
    b : array-like of the shape of ``a``
        The second mask.

    Examples
    --------
    >>> iou([1, 1, 0, 0], [0, 1, 1, 0])
    0.3333333333333333
    """
    a, b = _masks("iou", a, b)
    union = np.count_nonzero(a | b)
    return float(np.count_nonzero(a & b) / union) if union else 1.0


def box_iou(a: ArrayLike, b: ArrayLike) -> float:
    r"""Intersection over union of two boxes ``(x_min, y_min, x_max, y_max)``; boxes without area have 0 with all.

    Parameters
    ----------
    a : array-like of shape (4,)
        Corners of the first box.
    b : array-like of shape (4,)
        Corners of the second box.

    Examples
    --------
    >>> box_iou((0, 0, 2, 2), (1, 1, 3, 3))
    0.14285714285714285
    """
    first, second = (finite("box_iou", name, box) for name, box in (("a", a), ("b", b)))
    for box in (first, second):
        if box.shape != (4,) or np.any(box[2:] < box[:2]):
            raise ValueError(f"box_iou: a box is (x_min, y_min, x_max, y_max); got {box.tolist()}.")
    sides = np.minimum(first[2:], second[2:]) - np.maximum(first[:2], second[:2])
    shared = float(np.prod(np.maximum(sides, 0)))
    union = float(np.prod(first[2:] - first[:2]) + np.prod(second[2:] - second[:2])) - shared
    return shared / union if union else 0.0


def dice(a: ArrayLike, b: ArrayLike) -> float:
    r"""Dice coefficient of two masks, :math:`2|A\cap B|/(|A| + |B|) = 2\,\mathrm{IoU}/(1 + \mathrm{IoU})`.

    Parameters
    ----------
    a : array-like of bool or 0 and 1
        The first mask.
    b : array-like of the shape of ``a``
        The second mask.

    Examples
    --------
    >>> dice([1, 1, 0, 0], [0, 1, 1, 0])
    0.5
    """
    a, b = _masks("dice", a, b)
    total = np.count_nonzero(a) + np.count_nonzero(b)
    return float(2 * np.count_nonzero(a & b) / total) if total else 1.0


def hausdorff(X: ArrayLike, Y: ArrayLike) -> float:
    r"""The largest distance from a point of either set to the other set.

    .. math:: \max\{\max_x\min_y\|x - y\|,\ \max_y\min_x\|x - y\|\}

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points of the first set.
    Y : array-like of shape (m, d)
        Points of the second set.

    Examples
    --------
    >>> hausdorff([[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [4.0, 0.0]])
    3.0
    """
    X, Y = (finite("hausdorff", name, points, ndim=(2,)) for name, points in (("X", X), ("Y", Y)))
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"hausdorff: X and Y must have equal dimension; got {X.shape[1]} and {Y.shape[1]}.")
    from margin.foundations.transport import hausdorff as between  # with it comes SciPy's search for neighbors

    return between(X, Y)


def hausdorff_pairs(X: ArrayLike, Y: ArrayLike) -> tuple[tuple[int, int], tuple[int, int]]:
    r"""Where the two one-sided distances are attained: (i, j) with :math:`x_i` farthest from Y and :math:`y_j` next to
    it, then (i, j) with :math:`y_j` farthest from X and :math:`x_i` next to it.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points of the first set.
    Y : array-like of shape (m, d)
        Points of the second set.

    Examples
    --------
    >>> hausdorff_pairs([[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [4.0, 0.0]])
    ((1, 0), (1, 1))
    """
    X, Y = (finite("hausdorff_pairs", name, points, ndim=(2,)) for name, points in (("X", X), ("Y", Y)))
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"hausdorff_pairs: X and Y must have equal dimension; got {X.shape[1]} and {Y.shape[1]}.")
    squares = np.sum((X[:, None, :] - Y) ** 2, axis=2)
    i, j = int(np.argmax(squares.min(axis=1))), int(np.argmax(squares.min(axis=0)))
    return (i, int(np.argmin(squares[i]))), (int(np.argmin(squares[:, j])), j)


def _masks(where: str, a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.asarray(a), np.asarray(b)
    if first.shape != second.shape:
        raise ValueError(f"{where}: masks must have equal shapes; got {first.shape} and {second.shape}.")
    for mask in (first, second):
        if mask.dtype != bool and not (mask.dtype.kind in "iuf" and np.all((mask == 0) | (mask == 1))):
            raise ValueError(f"{where}: masks must hold 0 and 1 or truth values only; got {mask.dtype}.")
    return first.astype(bool), second.astype(bool)
