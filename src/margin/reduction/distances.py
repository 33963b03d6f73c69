"""Distances between rows by any metric, and the nearest rows by it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from margin.core.domains import Choice, Either, Function, Options

__all__ = ["METRIC", "METRIC_PARAMS", "distances_between", "is_euclidean", "nearest_by_metric"]

# scikit-learn's names for metrics that SciPy calls otherwise.
ALIASES = {"manhattan": "cityblock", "l1": "cityblock", "l2": "euclidean"}
NAMES = (
    *("euclidean", "l2", "sqeuclidean", "manhattan", "l1", "cityblock", "chebyshev", "minkowski", "cosine"),
    *("correlation", "canberra", "braycurtis", "hamming", "jaccard", "mahalanobis", "seuclidean"),
)
BLOCK_ROWS = 256

METRIC = Either(Choice(*NAMES, "precomputed"), Function("two rows"))
METRIC_PARAMS = Options()


def is_euclidean(metric: Any, params: dict[str, Any] | None = None) -> bool:
    """Whether the metric is the plain Euclidean one, for which there are faster ways."""
    plain = isinstance(metric, str) and metric in ("euclidean", "l2")
    return plain or (metric == "minkowski" and not set(params or {}) - {"p"} and (params or {}).get("p", 2) == 2)


def distances_between(X: np.ndarray, Z: np.ndarray, metric: Any, params: dict[str, Any] | None = None) -> np.ndarray:
    """All distances (n, m) between rows of ``X`` (n, d) and ``Z`` (m, d).

    >>> distances_between(np.array([[0.0, 0.0]]), np.array([[3.0, -4.0]]), "manhattan").tolist()
    [[7.0]]
    """
    name = ALIASES.get(metric, metric) if isinstance(metric, str) else metric
    return np.asarray(cdist(X, Z, metric=name, **(params or {})))


def nearest_by_metric(
    X: np.ndarray, k: int, metric: Any, params: dict[str, Any] | None = None, queries: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Distances and indices (m, k) of the nearest rows of ``X``, rising; without ``queries`` those of every row of
    ``X`` except itself. With the metric "precomputed", ``X`` (or ``queries``) holds the distances themselves."""
    alone, points = queries is None, X if queries is None else queries
    gaps, index = [], []
    for start in range(0, len(points), BLOCK_ROWS):
        block = points[start : start + BLOCK_ROWS]
        given = isinstance(metric, str) and metric == "precomputed"
        distances = np.array(block) if given else distances_between(block, X, metric, params)
        if alone:
            distances[np.arange(len(block)), np.arange(start, start + len(block))] = np.inf
        part = np.argpartition(distances, k - 1, axis=1)[:, :k] if k < distances.shape[1] else None
        part = np.tile(np.arange(distances.shape[1]), (len(block), 1)) if part is None else np.sort(part, axis=1)
        near = np.take_along_axis(distances, part, axis=1)
        order = np.argsort(near, axis=1, kind="stable")[:, :k]
        gaps.append(np.take_along_axis(near, order, axis=1))
        index.append(np.take_along_axis(part, order, axis=1))
    return np.vstack(gaps), np.vstack(index)
