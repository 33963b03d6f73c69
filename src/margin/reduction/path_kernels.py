"""Dijkstra's algorithm from many sources at once, one heap per source, and Floyd and Warshall's by tiles."""

from __future__ import annotations

import cython

from margin.core.kernel_source import ConstIntegers, ConstVector, Integers, Matrix, Vector, inner, kernel
from margin.reduction.block_sizes import TILE

__all__ = ["dijkstra", "floyd_cross", "floyd_rest", "through_tile"]

UNSEEN, SETTLED = -1, -2  # what stands in place of a vertex's position in the heap
INFINITE = float("inf")


@inner
def _rise(heap: Integers, position: Integers, distance: Vector, slot: cython.Py_ssize_t) -> cython.void:
    """Move the vertex in ``slot`` up until its parent is not farther."""
    vertex = heap[slot]
    while slot > 0:
        parent = (slot - 1) >> 2
        if distance[heap[parent]] <= distance[vertex]:
            break
        heap[slot] = heap[parent]
        position[heap[slot]] = slot
        slot = parent
    heap[slot] = vertex
    position[vertex] = slot


@inner
def _sink(heap: Integers, position: Integers, distance: Vector, size: cython.Py_ssize_t) -> cython.void:
    """Move the vertex at the top down until none of its four children is nearer."""
    slot: cython.Py_ssize_t = 0
    best: cython.Py_ssize_t
    vertex = heap[0]
    while True:
        first = 4 * slot + 1
        if first >= size:
            break
        best = first
        for child in range(first + 1, min(first + 4, size)):
            if distance[heap[child]] < distance[heap[best]]:
                best = child
        if distance[vertex] <= distance[heap[best]]:
            break
        heap[slot] = heap[best]
        position[heap[slot]] = slot
        slot = best
    heap[slot] = vertex
    position[vertex] = slot


@inner
def _from_source(
    source: cython.longlong,
    starts: ConstIntegers,
    neighbors: ConstIntegers,
    lengths: ConstVector,
    heap: Integers,
    position: Integers,
    distance: Vector,
) -> cython.void:
    size: cython.Py_ssize_t = 1
    for vertex in range(distance.shape[0]):
        distance[vertex] = INFINITE
        position[vertex] = UNSEEN
    heap[0] = source
    position[source] = 0
    distance[source] = 0.0
    while size > 0:
        nearest = heap[0]
        position[nearest] = SETTLED
        size -= 1
        if size > 0:
            heap[0] = heap[size]
            _sink(heap, position, distance, size)
        for edge in range(starts[nearest], starts[nearest + 1]):
            other = neighbors[edge]
            longer = distance[nearest] + lengths[edge]
            if longer < distance[other]:
                distance[other] = longer
                if position[other] == UNSEEN:
                    heap[size] = other
                    position[other] = size
                    size += 1
                _rise(heap, position, distance, position[other])


@kernel
def dijkstra(
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    starts: ConstIntegers,
    neighbors: ConstIntegers,
    lengths: ConstVector,
    sources: ConstIntegers,
    heap: Integers,
    position: Integers,
    out: Matrix,
) -> cython.void:
    """Shortest distances from ``sources`` (m,) to all vertices, into ``out`` (m, n); infinite where there is no path.

    Sources ``low`` to ``high`` are computed. The graph is in compressed rows: the edges of vertex i are ``starts[i]``
    to ``starts[i + 1]``. ``heap`` and ``position`` (n,) are scratch.
    """
    for s in range(low, high):
        _from_source(sources[s], starts, neighbors, lengths, heap, position, out[s])


@inner
def _nearer(
    D: Matrix, i: cython.Py_ssize_t, k: cython.Py_ssize_t, first: cython.Py_ssize_t, last: cython.Py_ssize_t
) -> cython.void:
    """Paths from ``i`` to the vertices ``first`` to ``last`` through ``k``."""
    to_k = D[i, k]
    for j in range(first, last):
        there = to_k + D[k, j]
        D[i, j] = there if there < D[i, j] else D[i, j]


@kernel
def through_tile(
    D: Matrix, via: cython.Py_ssize_t, rows: cython.Py_ssize_t, columns: cython.Py_ssize_t, n: cython.Py_ssize_t
) -> cython.void:
    """Paths from a tile of ``rows`` to one of ``columns`` through the vertices of the tile ``via``."""
    for k in range(via, min(via + TILE, n)):
        for i in range(rows, min(rows + TILE, n)):
            _nearer(D, i, k, columns, min(columns + TILE, n))


@kernel
def floyd_cross(low: cython.Py_ssize_t, high: cython.Py_ssize_t, D: Matrix, step: cython.Py_ssize_t) -> cython.void:
    """Paths through the tile number ``step`` within its row and column of tiles, of which ``low`` to ``high``."""
    n = D.shape[0]
    via = step * TILE
    for t in range(low, high):
        if t != step:
            through_tile(D, via, via, t * TILE, n)
            through_tile(D, via, t * TILE, via, n)


@kernel
def floyd_rest(low: cython.Py_ssize_t, high: cython.Py_ssize_t, D: Matrix, step: cython.Py_ssize_t) -> cython.void:
    """Paths through the tile number ``step`` in the rows of tiles ``low`` to ``high``, without its row and column."""
    n = D.shape[0]
    via = step * TILE
    for t in range(low, high):
        if t != step:
            for s in range((n + TILE - 1) // TILE):
                if s != step:
                    through_tile(D, via, t * TILE, s * TILE, n)
