"""Candidates from a k-d tree (SciPy's): few points are looked at when the columns are few."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["ball_pairs", "build", "candidates", "pairs"]

SLACK = 1e-9  # relative; far above the rounding of a distance, far below the gap between different ones

MANY_QUERIES = 256  # from here ordering the queries costs less than it saves


def build(points: np.ndarray, leaf_size: int) -> Any:
    from scipy.spatial import cKDTree

    # Cells cut in the middle instead of at the median: three times faster to build, about as fast to ask.
    return cKDTree(points, leafsize=leaf_size, balanced_tree=False, compact_nodes=True)


def candidates(tree: Any, queries: np.ndarray, m: int, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """See :func:`margin.foundations.neighbors.filtering.candidates`."""
    distances, index = _query(tree, queries, np.arange(1, m + 1), exponent)
    if (index == tree.n).any():  # what the tree says when no distance is finite
        raise OverflowError("powers of distances exceed the range of a float64")
    if m == tree.n:
        return index, np.full(len(queries), np.inf)
    nearest_left_out = distances[:, -1] * (1 - SLACK)
    return index, nearest_left_out if exponent == np.inf else nearest_left_out**exponent


def _query(tree: Any, queries: np.ndarray, ranks: np.ndarray, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """Distances and indices, (m, ranks). Many queries are asked in the order of a tree of their own: those that follow
    each other are near each other, and find the cells they need in the processor's cache."""
    if len(queries) < MANY_QUERIES:
        return tree.query(queries, k=ranks, p=exponent)
    order = build(queries, tree.leafsize).indices
    answers = tree.query(queries[order], k=ranks, p=exponent)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return answers[0][back], answers[1][back]


def ball_pairs(tree: Any, queries: np.ndarray, powers: np.ndarray, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """See :func:`margin.foundations.neighbors.filtering.ball_pairs`."""
    radius = (powers if exponent == np.inf else powers ** (1 / exponent)) * (1 + SLACK)
    lists = tree.query_ball_point(queries, radius, p=exponent)
    of_query = np.repeat(np.arange(len(queries)), [len(neighbors) for neighbors in lists])
    return of_query, np.concatenate([np.asarray(neighbors, dtype=np.int64) for neighbors in lists])


def pairs(
    tree: Any, queries: np.ndarray, radius: float, exponent: float, leaf_size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Query, point and distance of all pairs at most ``radius`` apart, in no order: two trees that are walked together
    leave out whole cells of queries at once."""
    entries = build(queries, leaf_size).sparse_distance_matrix(tree, radius, p=exponent, output_type="ndarray")
    return entries["i"], entries["j"], entries["v"]
