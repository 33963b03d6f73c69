"""Neighbors under any distance of two rows, or distances given for all pairs: every pair is looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["PAIRWISE_METRICS", "PairwiseIndex", "haversine", "nan_euclidean", "pairwise_distances"]

# Names that SciPy's cdist knows, and two of our own; the metrics of ``geometry`` have a faster search.
PAIRWISE_METRICS = (
    "braycurtis",
    "canberra",
    "correlation",
    "dice",
    "hamming",
    "haversine",
    "jaccard",
    "nan_euclidean",
    "rogerstanimoto",
    "russellrao",
    "seuclidean",
    "sokalsneath",
    "sqeuclidean",
    "yule",
)
TRUTH_VALUES = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")  # of zero or not
BLOCK_PAIRS = 2**22  # distances held at once (32 MB)

Metric = str | Callable[..., float]


def pairwise_distances(metric: Metric, queries: np.ndarray, points: np.ndarray, options: dict[str, Any]) -> np.ndarray:
    """(m, n) distances of every query to every point; a function takes two rows and ``options``.

    >>> pairwise_distances("canberra", np.array([[1.0, 2.0]]), np.array([[1.0, 0.0]]), {})
    array([[1.]])
    """
    if callable(metric):
        distances = [[float(metric(query, point, **options)) for point in points] for query in queries]
        return np.array(distances).reshape(len(queries), len(points))
    if metric in OWN_METRICS:
        return OWN_METRICS[metric](queries, points)
    from scipy.spatial.distance import cdist

    if metric in TRUTH_VALUES:
        queries, points = queries != 0, points != 0
    return cdist(queries, points, metric, **options)


def haversine(queries: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Angles at the center of the earth between places given by latitude and longitude in radians, (m, n).

    >>> round(float(haversine(np.array([[0.0, 0.0]]), np.array([[0.0, np.pi / 2]]))[0, 0] / np.pi), 9)
    0.5
    """
    if queries.shape[1] != 2 or points.shape[1] != 2:
        raise ValueError(f"metric 'haversine' needs two columns, latitude and longitude; got {points.shape[1]}.")
    latitude, longitude = ((queries[:, None, i] - points[None, :, i]) / 2 for i in range(2))
    cosines = np.cos(queries[:, None, 0]) * np.cos(points[None, :, 0])
    return 2 * np.arcsin(np.sqrt(np.minimum(np.sin(latitude) ** 2 + cosines * np.sin(longitude) ** 2, 1.0)))


def nan_euclidean(queries: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Euclidean distances (m, n) over the columns that both rows have, scaled up for those that either lacks (NaN).

    >>> nan_euclidean(np.array([[3.0, np.nan]]), np.array([[0.0, 5.0]])).round(3).tolist()
    [[4.243]]
    """
    known = ~np.isnan(queries), ~np.isnan(points)
    shared = known[0].astype(float) @ known[1].T.astype(float)
    center = np.where(known[1].any(axis=0), np.nansum(points, axis=0) / np.maximum(known[1].sum(axis=0), 1), 0.0)
    a, b = (np.where(known_entries, rows - center, 0.0) for known_entries, rows in zip(known, (queries, points)))
    squares = a**2 @ known[1].T + known[0] @ (b**2).T - 2 * a @ b.T
    with np.errstate(invalid="ignore", divide="ignore"):  # rows without a common column have no distance: NaN
        return np.sqrt(np.maximum(squares, 0.0) * (queries.shape[1] / shared))


OWN_METRICS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "haversine": haversine,
    "nan_euclidean": nan_euclidean,
}


class PairwiseIndex:
    """The interface of :class:`margin.foundations.neighbors.NeighborIndex` by all pairs; powers are distances.

    ``metric`` is a name of ``PAIRWISE_METRICS``, a function of two rows, or "precomputed": then rows of queries are
    their distances to the points.
    """

    def __init__(self, points: np.ndarray, metric: Metric, options: dict[str, Any] | None = None):
        self.points, self.metric, self.options = points, metric, dict(options or {})
        if metric == "seuclidean" and "V" not in self.options:
            self.options["V"] = points.var(axis=0, ddof=1)

    def nearest(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and indices (m, k) of the ``k`` nearest points, ascending; of equally near points the first."""
        smallest = np.empty((len(queries), k))
        index = np.empty((len(queries), k), dtype=np.int64)
        for part, distances in self._blocks(queries):
            if np.isnan(distances).any():
                raise ValueError("the metric gives NaN for some pairs of rows.")
            index[part] = np.argsort(distances, axis=1, kind="stable")[:, :k]
            smallest[part] = np.take_along_axis(distances, index[part], axis=1)
        return smallest, index

    def within(self, queries: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Query, point and distance of all pairs of at most ``radius``, by query and distance."""
        chunks = []
        for part, distances in self._blocks(queries):
            of_query, of_point = np.nonzero(distances <= radius)
            chunks.append((of_query + part.start, of_point, distances[of_query, of_point]))
        of_query, of_point, gaps = (np.concatenate(side) for side in zip(*chunks))
        order = np.lexsort((of_point, gaps, of_query))
        return of_query[order], of_point[order], gaps[order]

    def _blocks(self, queries: np.ndarray) -> Any:
        size = max(1, BLOCK_PAIRS // len(self.points))
        for start in range(0, len(queries), size):
            part = slice(start, min(start + size, len(queries)))
            if isinstance(self.metric, str) and self.metric == "precomputed":
                yield part, np.asarray(queries[part], dtype=np.float64)
            else:
                yield part, pairwise_distances(self.metric, queries[part], self.points, self.options)
