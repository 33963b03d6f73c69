"""Neighbors as pure functions of arrays: the k nearest, or all within a radius."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from margin.neighbors.geometry import Geometry, geometry
from margin.neighbors.search import ALGORITHMS, Index

__all__ = ["Neighbors", "ball", "nearest", "radius_neighbors", "ranked"]


class Neighbors(NamedTuple):
    """Distances and row numbers, ascending by distance and then by row: arrays (m, k), or one array per query."""

    distances: np.ndarray
    indices: np.ndarray


def nearest(
    X: Any,
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
    the tree for up to six columns. Cost of "brute": m n d multiplications in float32 matrix products (Euclidean,
    cosine, Mahalanobis) or about as many vectorized steps in float64 (others).

    >>> nearest([[0.0], [1.0], [3.0]], [[2.0]], k=2)
    Neighbors(distances=array([[1., 1.]]), indices=array([[1, 2]]))
    """
    space, index, queries = _prepared("nearest", X, Q, metric, p, covariance, algorithm)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= len(index.points):
        raise ValueError(f"nearest: k must be a whole number from 1 to the {len(index.points)} rows of X; got {k!r}.")
    return ranked("nearest", space, index, queries, int(k))


def radius_neighbors(
    X: Any,
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
    space, index, queries = _prepared("radius_neighbors", X, Q, metric, p, covariance, algorithm)
    return ball(space, index, queries, check_radius("radius_neighbors", radius))


def check_radius(caller: str, radius: Any) -> float:
    """``radius`` as a number of at least 0."""
    if isinstance(radius, bool) or not isinstance(radius, int | float | np.number) or not 0 <= radius < np.inf:
        raise ValueError(f"{caller}: radius must be a number of at least 0; got {radius!r}.")
    return float(radius)


def ranked(caller: str, space: Geometry, index: Index, images: np.ndarray, k: int) -> Neighbors:
    """The ``k`` nearest points of queries whose images are known."""
    try:
        powers, found = index.nearest(images, k)
    except OverflowError:
        raise ValueError(f"{caller}: distances overflow; scale the columns first.") from None
    return Neighbors(space.distances(powers), found)


def ball(space: Geometry, index: Index, images: np.ndarray, radius: float) -> Neighbors:
    """The points within ``radius`` of queries whose images are known."""
    of_query, of_point, powers = index.within(images, space.power(radius))
    distances = space.distances(powers)
    inside = distances <= radius
    cuts = np.searchsorted(of_query[inside], np.arange(1, len(images)))
    return Neighbors(_ragged(distances[inside], cuts, len(images)), _ragged(of_point[inside], cuts, len(images)))


def _prepared(
    caller: str, X: Any, Q: Any, metric: str, p: float, covariance: Any, algorithm: str
) -> tuple[Geometry, Index, np.ndarray]:
    X = check_array(X, dtype=[np.float64, np.float32], order="C", input_name="X", estimator=caller)
    Q = check_array(Q, dtype=[np.float64, np.float32], order="C", input_name="Q", estimator=caller)
    if X.shape[1] != Q.shape[1]:
        raise ValueError(f"{caller}: Q must have the {X.shape[1]} columns of X; got {Q.shape[1]}.")
    if algorithm not in ALGORITHMS:
        raise ValueError(f"{caller}: algorithm must be one of {', '.join(ALGORITHMS)}; got {algorithm!r}.")
    try:
        space = geometry(X, metric, p, covariance)
        return space, Index(space.image(X), space.exponent, algorithm), space.image(Q, "Q")
    except ValueError as error:
        raise ValueError(f"{caller}: {error}") from None


def _ragged(flat: np.ndarray, cuts: np.ndarray, m: int) -> np.ndarray:
    parts = np.empty(m, dtype=object)
    parts[:] = np.split(flat, cuts) if m else []
    return parts
