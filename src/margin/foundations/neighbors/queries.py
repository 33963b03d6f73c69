"""Neighbors as pure functions of arrays: the k nearest, or all within a radius."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from margin.core.arguments import finite
from margin.core.array_types import MatrixLike
from margin.foundations.neighbors.geometry import Geometry, geometry
from margin.foundations.neighbors.pairwise import PairwiseIndex
from margin.foundations.neighbors.search import ALGORITHMS, NeighborIndex

__all__ = [
    "Neighbors",
    "ball",
    "nearest",
    "nearest_rows",
    "pairs_within",
    "radius_neighbors",
    "rank",
    "without_itself",
]


class Neighbors(NamedTuple):
    """Distances and row numbers, ascending by distance and then by row: arrays (m, k), or one array per query."""

    distances: np.ndarray
    indices: np.ndarray


def nearest(
    X: MatrixLike,
    Q: Any,
    k: int,
    metric: str = "euclidean",
    *,
    p: float = 2.0,
    covariance: Any = None,
    algorithm: str = "auto",
) -> Neighbors:
    """The ``k`` rows of ``X`` (n, d) nearest to every row of ``Q`` (m, d); of equally near rows the first.

    ``p`` belongs to metric "minkowski", ``covariance`` (d, d) to "mahalanobis" (that of ``X`` by default). The answer
    is exact and the same for every ``algorithm``: "brute" compares all pairs, "kd_tree" builds a tree, "auto" takes
    a tree for few columns (up to 7 of 5000 rows, 11 of 500,000) and enough queries. Cost of "brute": m n d
    multiplications in float32 matrix products (Euclidean, cosine, Mahalanobis) or about as many vectorized steps in
    float64 (others).

    >>> nearest([[0.0], [1.0], [3.0]], [[2.0]], k=2)
    Neighbors(distances=array([[1., 1.]]), indices=array([[1, 2]]))
    """
    space, index, queries = _prepare("nearest", X, Q, metric, p, covariance, algorithm)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= len(index.points):
        raise ValueError(f"nearest: k must be an integer from 1 to the {len(index.points)} rows of X; got {k!r}.")
    return rank("nearest", space, index, queries, int(k))


def radius_neighbors(
    X: MatrixLike,
    Q: Any,
    radius: float,
    metric: str = "euclidean",
    *,
    p: float = 2.0,
    covariance: Any = None,
    algorithm: str = "auto",
) -> Neighbors:
    """All rows of ``X`` at a distance of at most ``radius``, for every row of ``Q``: two object arrays of arrays.

    >>> radius_neighbors([[0.0], [1.0], [3.0]], [[2.0], [9.0]], radius=1.0).indices.tolist()
    [array([1, 2]), array([], dtype=int64)]
    """
    space, index, queries = _prepare("radius_neighbors", X, Q, metric, p, covariance, algorithm)
    return ball(space, index, queries, check_radius("radius_neighbors", radius))


def nearest_rows(X: np.ndarray, k: int, queries: np.ndarray | None = None) -> Neighbors:
    """The ``k`` nearest rows of ``X`` (n, d) by Euclidean distance; without ``queries`` those of every row of ``X``
    except itself.

    >>> nearest_rows(np.array([[0.0], [1.0], [3.0]]), 1).indices.tolist()
    [[1], [0], [1]]
    """
    alone = queries is None
    points = np.ascontiguousarray(X)
    powers, index = NeighborIndex(points, 2.0).nearest(points if queries is None else queries, k + alone)
    neighbors = Neighbors(np.sqrt(powers), index)
    return without_itself(neighbors) if alone else neighbors


def pairs_within(X: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All pairs of different rows of ``X`` (n, d) at a Euclidean distance of at most ``radius``, once each: the smaller
    row number, the larger one, and the distance.

    >>> [part.tolist() for part in pairs_within(np.array([[0.0], [1.0], [3.0]]), 2.0)]
    [[0, 1], [1, 2], [1.0, 2.0]]
    """
    points = np.ascontiguousarray(X)
    first, second, powers = NeighborIndex(points, 2.0).within(points, radius**2)
    distances = np.sqrt(powers)
    chosen = (first < second) & (distances <= radius)
    return first[chosen], second[chosen], distances[chosen]


def without_itself(neighbors: Neighbors) -> Neighbors:
    """Neighbors of the rows of the table itself, less each row; where equal rows of smaller index crowd it out, less
    the last."""
    m, k = neighbors.indices.shape
    other = neighbors.indices != np.arange(m)[:, None]
    other[other.all(axis=1), -1] = False
    return Neighbors(neighbors.distances[other].reshape(m, k - 1), neighbors.indices[other].reshape(m, k - 1))


def check_radius(caller: str, radius: Any) -> float:
    """``radius`` as a number of at least 0."""
    if isinstance(radius, bool) or not isinstance(radius, int | float | np.number) or not 0 <= radius < np.inf:
        raise ValueError(f"{caller}: radius must be a number of at least 0; got {radius!r}.")
    return float(radius)


def rank(caller: str, space: Geometry, index: NeighborIndex | PairwiseIndex, images: np.ndarray, k: int) -> Neighbors:
    """The ``k`` nearest points of queries whose images are known."""
    try:
        powers, indices = index.nearest(images, k)
    except OverflowError:
        raise ValueError(f"{caller}: distances overflow; scale the columns first.") from None
    except ValueError as error:
        raise ValueError(f"{caller}: {error}") from None
    return Neighbors(space.distances(powers), indices)


def ball(space: Geometry, index: NeighborIndex | PairwiseIndex, images: np.ndarray, radius: float) -> Neighbors:
    """The points within ``radius`` of queries whose images are known."""
    of_query, of_point, powers = index.within(images, space.power(radius))
    distances = space.distances(powers)
    inside = distances <= radius
    cuts = np.searchsorted(of_query[inside], np.arange(1, len(images)))
    return Neighbors(
        _cut_ragged(distances[inside], cuts, len(images)), _cut_ragged(of_point[inside], cuts, len(images))
    )


def _prepare(
    caller: str, X: Any, Q: Any, metric: str, p: float, covariance: Any, algorithm: str
) -> tuple[Geometry, NeighborIndex, np.ndarray]:
    X, Q = _rows(caller, "X", X), _rows(caller, "Q", Q)
    if X.shape[1] != Q.shape[1]:
        raise ValueError(f"{caller}: Q must have the {X.shape[1]} columns of X; got {Q.shape[1]}.")
    if algorithm not in ALGORITHMS:
        raise ValueError(f"{caller}: algorithm must be one of {', '.join(ALGORITHMS)}; got {algorithm!r}.")
    try:
        space = geometry(X, metric, p, covariance)
        return space, NeighborIndex(space.image(X), space.exponent, algorithm), space.image(Q)
    except ValueError as error:
        raise ValueError(f"{caller}: {error}") from None


def _rows(caller: str, name: str, values: Any) -> np.ndarray:
    """A matrix of finite numbers; float32 stays float32."""
    if sp.issparse(values):
        raise TypeError(f"{caller}: {name} must be a dense array; got a sparse matrix.")
    rows = np.asarray(values)
    if rows.dtype != np.float32 or not np.isfinite(rows).all():
        rows = finite(caller, name, values)
    if rows.ndim != 2 or not rows.size:
        raise ValueError(f"{caller}: {name} must be a matrix of at least one row and column; got shape {rows.shape}.")
    return np.ascontiguousarray(rows)


def _cut_ragged(flat: np.ndarray, cuts: np.ndarray, m: int) -> np.ndarray:
    parts = np.empty(m, dtype=object)
    parts[:] = np.split(flat, cuts) if m else []
    return parts
