"""Candidates from a ball tree (scikit-learn's): few points are looked at where the rows lie near a thin set."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.foundations.neighbors.kd_tree import SLACK

__all__ = ["ball_pairs", "build", "candidates"]


def build(points: np.ndarray, leaf_size: int, exponent: float) -> Any:
    from sklearn.neighbors import BallTree

    if exponent == np.inf:
        return BallTree(points, leaf_size=leaf_size, metric="chebyshev")
    return BallTree(points, leaf_size=leaf_size, metric="minkowski", p=exponent)


def candidates(tree: Any, queries: np.ndarray, m: int, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """See :func:`margin.foundations.neighbors.filtering.candidates`."""
    distances, index = tree.query(queries, k=m)
    if not np.isfinite(distances).all():
        raise OverflowError("powers of distances exceed the range of a float64")
    if m == tree.data.shape[0]:
        return index, np.full(len(queries), np.inf)
    nearest_left_out = distances[:, -1] * (1 - SLACK)
    return index, nearest_left_out if exponent == np.inf else nearest_left_out**exponent


def ball_pairs(tree: Any, queries: np.ndarray, powers: np.ndarray, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """See :func:`margin.foundations.neighbors.filtering.ball_pairs`."""
    radius = (powers if exponent == np.inf else powers ** (1 / exponent)) * (1 + SLACK)
    lists = tree.query_radius(queries, radius)
    of_query = np.repeat(np.arange(len(queries)), [len(neighbors) for neighbors in lists])
    return of_query, np.concatenate([np.asarray(neighbors, dtype=np.int64) for neighbors in lists])
