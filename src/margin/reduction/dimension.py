r"""What growing dimension does: cells without examples, ties among neighbors, distances that are all alike.

A table of n rows covers at most n of the :math:`b^d` cells of d features with b values each; on a grid the 2d nearest
points tie; and of uniform points the relative contrast :math:`(\max_i r_i - \min_i r_i) / \min_i r_i` of the distances
to a query falls towards zero as d grows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.arguments import finite, integer, positive
from margin.foundations.probability.kernels import squared_distances

__all__ = ["coverage", "distance_contrast", "grid_neighbors", "intrinsic_dimensions", "occupied_cells"]

LARGEST_GRID = 9  # 3^9 points are looked at one by one


def coverage(d: int, n: float, values: int = 2) -> float:
    r"""The fraction of the :math:`b^d` cells that ``n`` examples can cover at best, :math:`\min(1, n / b^d)`.

    Each of the ``d`` features is taken to have ``values`` different values (two by default).

    >>> f"{coverage(100, 1e12):.1e}"
    '7.9e-19'
    """
    d, values = integer("coverage", "d", d, low=1), integer("coverage", "values", values, low=2)
    n = positive("coverage", "n", n)
    return float(np.exp(min(0.0, np.log(n) - d * np.log(values))))


def occupied_cells(X: Any, cells: int) -> float:
    """The fraction of the ``cells`` per axis of the unit cube in which a row of ``X`` (n, d) lies."""
    rows, cells = finite("occupied_cells", "X", X), integer("occupied_cells", "cells", cells, low=1)
    if rows.ndim != 2 or rows.size == 0 or rows.min() < 0 or rows.max() > 1:
        raise ValueError(f"occupied_cells: X must be rows inside the unit cube; got shape {rows.shape}.")
    index = np.minimum((rows * cells).astype(np.int64), cells - 1)
    return len(np.unique(index, axis=0)) / cells ** rows.shape[1]


def grid_neighbors(d: int) -> int:
    """How many points of the d-dimensional grid of integers are nearest to one of them, counted one by one.

    >>> [grid_neighbors(d) for d in (1, 2, 3)]
    [2, 4, 6]
    """
    d = integer("grid_neighbors", "d", d, low=1, high=LARGEST_GRID)
    around = np.stack(np.meshgrid(*[np.arange(-1, 2)] * d, indexing="ij"), axis=-1).reshape(-1, d)
    squares = (around**2).sum(axis=1)
    squares = squares[squares > 0]
    return int((squares == squares.min()).sum())


def distance_contrast(X: Any, query: Any) -> float:
    r"""How much farther than the nearest row the farthest is, :math:`(r_{\max} - r_{\min}) / r_{\min}`.

    >>> distance_contrast([[1.0, 0.0], [0.0, 3.0]], [0.0, 0.0])
    2.0
    """
    rows, point = finite("distance_contrast", "X", X), finite("distance_contrast", "query", query)
    if rows.ndim != 2 or len(rows) == 0 or point.shape != rows.shape[1:]:
        raise ValueError(f"distance_contrast: query must have shape {rows.shape[1:]}; got {point.shape}.")
    distances = np.linalg.norm(rows - point, axis=1)
    if distances.min() == 0:
        raise ValueError("distance_contrast: query must differ from every row of X; one lies at distance 0.")
    return float((distances.max() - distances.min()) / distances.min())


def intrinsic_dimensions(X: Any, k: int = 20) -> np.ndarray:
    r"""The dimension of the set around every row, (n,), from the distances :math:`r_1 \le \dots \le r_k` to neighbors.

    In a small ball of dimension m the number of points within r grows like :math:`r^m`; the most likely m is

    .. math:: \hat m_i = \Bigl[\tfrac{1}{k - 2} \sum_{j<k} \log \tfrac{r_k}{r_j}\Bigr]^{-1}

    (Levina and Bickel; k - 2 removes the bias). Rows whose k distances are all equal have no finite dimension and get
    the number of columns.
    """
    rows, k = finite("intrinsic_dimensions", "X", X), integer("intrinsic_dimensions", "k", k, low=3)
    if rows.ndim != 2 or len(rows) <= k:
        raise ValueError(f"intrinsic_dimensions: X must have more than k={k} rows; got shape {rows.shape}.")
    squares = np.sort(squared_distances(rows), axis=1)[:, 1 : k + 1]
    smallest = np.finfo(float).tiny  # coincident rows: their logarithm would be infinite
    logs = np.log(np.maximum(squares, smallest)) / 2
    spread = (logs[:, -1:] - logs[:, :-1]).sum(axis=1) / (k - 2)
    return np.where(spread > 0, 1 / np.maximum(spread, 1 / rows.shape[1]), rows.shape[1])
