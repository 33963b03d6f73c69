r"""Neighborhood graphs of rows, and shortest paths in them.

Rows are joined when they are closer than epsilon, or when one is among the k nearest neighbors of the other; an edge is
as long as the rows are apart. The length of the shortest path approximates the distance along the set on which the
rows lie.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from margin.core.arguments import finite, integer, positive
from margin.core.array_types import MatrixLike
from margin.core.parallel import over_ranges
from margin.core.threads import threads_for
from margin.foundations.neighbors import nearest_rows, pairs_within
from margin.reduction.block_sizes import TILE

__all__ = [
    "components",
    "epsilon_graph",
    "join_components",
    "knn_graph",
    "nearest_rows",
    "shortest_paths",
    "symmetric_graph",
]

MANY_EDGES = 0.1  # of all pairs: from here on visiting all triples is faster than following edges


def knn_graph(X: MatrixLike, k: int) -> sp.csr_array:
    """Rows joined when one is among the ``k`` nearest of the other: a symmetric (n, n) matrix of distances.

    >>> knn_graph([[0.0], [1.0], [3.0]], 1).toarray()
    array([[0., 1., 0.],
           [1., 0., 2.],
           [0., 2., 0.]])
    """
    rows = _rows("knn_graph", X)
    k = integer("knn_graph", "k", k, low=1)
    if k >= len(rows):
        raise ValueError(f"knn_graph: k must be below the number of rows, {len(rows)}; got {k}.")
    gaps, index = nearest_rows(rows, k)
    return symmetric_graph(np.repeat(np.arange(len(rows)), k), index.ravel(), gaps.ravel(), len(rows))


def epsilon_graph(X: MatrixLike, epsilon: float) -> sp.csr_array:
    """Rows joined when their distance is at most ``epsilon``: a symmetric (n, n) matrix of distances."""
    rows = _rows("epsilon_graph", X)
    epsilon = positive("epsilon_graph", "epsilon", epsilon)
    return symmetric_graph(*pairs_within(rows, epsilon), len(rows))


def components(W: Any) -> tuple[int, np.ndarray]:
    """The number of connected parts of a graph, and the part (n,) of every vertex."""
    count, part = connected_components(_graph("components", W), directed=False)
    return int(count), part


def join_components(
    W: Any, X: np.ndarray, distances: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
) -> sp.csr_array:
    """The graph with its parts joined: every part to the rest by its shortest link, until one part is left.

    Links are Euclidean, or ``distances`` of rows to rows; a square ``X`` of distances is handed to it as it is.
    """
    graph = _graph("join_components", W)
    count, part = components(graph)
    while count > 1:
        inside = np.flatnonzero(part == 0)
        outside = np.flatnonzero(part != 0)
        if distances is None:
            gaps, index = nearest_rows(X[outside], 1, X[inside])
            best = int(gaps[:, 0].argmin())
            ends, gap = (inside[best], outside[index[best, 0]]), gaps[best]
        else:
            between = distances(X[inside], X)[:, outside]
            i, j = np.unravel_index(int(between.argmin()), between.shape)
            ends, gap = (inside[i], outside[j]), between[i, j][None]
        graph = _with_edge(graph, *ends, gap[0])
        count, part = components(graph)
    return graph


def _with_edge(graph: sp.csr_array, i: int, j: int, length: float) -> sp.csr_array:
    """The graph and one edge that it did not have. SciPy's sums and maxima would drop edges of length zero."""
    edges = graph.tocoo()
    ends = np.append(edges.row, [i, j]), np.append(edges.col, [j, i])
    return sp.coo_array((np.append(edges.data, [length, length]), ends), shape=graph.shape).tocsr()


def shortest_paths(W: Any, method: str = "auto", threads: int | None = None) -> np.ndarray:
    """Lengths of the shortest paths between all vertices (n, n); infinite between unconnected parts.

    ``W`` holds the lengths of edges, symmetric, dense or sparse; a dense zero is no edge, a stored sparse zero is an
    edge of length zero. ``method`` "dijkstra" is for sparse graphs, "floyd" (Floyd and Warshall) for those in which a
    tenth or more of all pairs are joined; "auto" takes the faster. Both are compiled.

    >>> shortest_paths(np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 2.0], [9.0, 2.0, 0.0]]), method="floyd")[0]
    array([0., 1., 3.])
    """
    graph = _graph("shortest_paths", W)
    if graph.nnz and graph.data.min() < 0:
        raise ValueError(f"shortest_paths: W must hold lengths of at least zero; got {graph.data.min():g}.")
    if method not in ("auto", "dijkstra", "floyd"):
        raise ValueError(f"shortest_paths: method must be 'auto', 'dijkstra' or 'floyd'; got {method!r}.")
    n = graph.shape[0]
    if method == "floyd" or (method == "auto" and graph.nnz > MANY_EDGES * n * n):
        return _floyd(graph, threads)
    from margin.compiled.reduction import dijkstra

    out = np.empty((n, n))
    given = graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data, np.arange(n)

    def part(low: int, high: int) -> None:
        heap, position = np.empty((2, n), dtype=np.int64)
        dijkstra(low, high, *given, heap, position, out)

    over_ranges(part, n, threads or threads_for(n * (graph.nnz + n) * 10))
    return out


def _floyd(graph: sp.csr_array, threads: int | None) -> np.ndarray:
    """Floyd and Warshall's algorithm tile by tile: the way for graphs with many edges.

    For every tile of intermediate vertices: itself, then its row and column of tiles, then all others.
    """
    from margin.compiled.reduction import floyd_cross, floyd_rest, through_tile

    n = graph.shape[0]
    D = np.full((n, n), np.inf)
    pairs = graph.tocoo()
    D[pairs.row, pairs.col] = pairs.data
    np.fill_diagonal(D, 0.0)
    tiles, threads = -(-n // TILE), threads or threads_for(float(n) ** 3)
    for step in range(tiles):
        through_tile(D, *(3 * [step * TILE]), n)
        over_ranges(partial(floyd_cross, D=D, step=step), tiles, threads)
        over_ranges(partial(floyd_rest, D=D, step=step), tiles, threads)
    return D


def symmetric_graph(i: np.ndarray, j: np.ndarray, lengths: np.ndarray, n: int) -> sp.csr_array:
    """Both directions of every edge once; edges of length zero (equal rows) stay edges."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    _, first = np.unique(low.astype(np.int64) * n + high, return_index=True)
    low, high, lengths = low[first], high[first], lengths[first]
    data, ends = np.concatenate([lengths, lengths]), (np.concatenate([low, high]), np.concatenate([high, low]))
    graph = sp.coo_array((data, ends), shape=(n, n)).tocsr()
    graph.sort_indices()
    return graph


def _rows(owner: str, X: Any) -> np.ndarray:
    rows = finite(owner, "X", X)
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"{owner}: X must be a matrix of rows; got shape {rows.shape}.")
    return rows


def _graph(owner: str, W: Any) -> sp.csr_array:
    graph = sp.csr_array(W) if sp.issparse(W) else sp.csr_array(finite(owner, "W", W))
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise ValueError(f"{owner}: W must be a square matrix; got shape {graph.shape}.")
    if not np.isfinite(graph.data).all():
        raise ValueError(f"{owner}: W must be finite; got NaN or infinity.")
    return graph.astype(np.float64)
