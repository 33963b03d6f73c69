"""Dijkstra's algorithm from many sources at once, compiled: one binary heap per source, sources shared out."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["TILE", "dijkstra", "floyd_cross", "floyd_rest", "through_tile"]

TILE = 64  # vertices of a tile: three tiles of float64 fit the second-level cache


@njit(cache=True, nogil=True)
def _rise(heap, position, distance, slot):
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


@njit(cache=True, nogil=True)
def _sink(heap, position, distance, size):
    """Move the vertex at the top down until none of its four children is nearer."""
    vertex, slot = heap[0], 0
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


@njit(cache=True, nogil=True)
def dijkstra(low, high, starts, neighbors, lengths, sources, out):
    """Shortest distances from ``sources`` (m,) to all vertices, into ``out`` (m, n); infinite where there is no path.

    Sources ``low`` to ``high`` are computed.
    The graph is in compressed rows: the edges of vertex i are ``starts[i]`` to ``starts[i + 1]``.
    """
    n = len(starts) - 1
    heap, position = np.empty(n, np.int64), np.empty(n, np.int64)
    for s in range(low, high):
        distance = out[s]
        distance[:] = np.inf
        position[:] = -1  # not seen; -2: settled
        heap[0] = sources[s]
        position[sources[s]] = 0
        distance[sources[s]] = 0.0
        size = 1
        while size > 0:
            vertex = heap[0]
            position[vertex] = -2
            size -= 1
            if size > 0:
                heap[0] = heap[size]
                _sink(heap, position, distance, size)
            for edge in range(starts[vertex], starts[vertex + 1]):
                other = neighbors[edge]
                longer = distance[vertex] + lengths[edge]
                if longer < distance[other]:
                    distance[other] = longer
                    if position[other] == -1:
                        heap[size] = other
                        position[other] = size
                        size += 1
                    _rise(heap, position, distance, position[other])


@njit(cache=True, nogil=True)
def through_tile(D, via, rows, columns, n):
    """Paths from a tile of ``rows`` to one of ``columns`` through the vertices of the tile ``via``."""
    for k in range(via, min(via + TILE, n)):
        for i in range(rows, min(rows + TILE, n)):
            first = D[i, k]
            for j in range(columns, min(columns + TILE, n)):
                there = first + D[k, j]
                D[i, j] = there if there < D[i, j] else D[i, j]


@njit(cache=True, nogil=True)
def floyd_cross(low, high, D, step):
    """Paths through the tile number ``step`` within its row and column of tiles, of which ``low`` to ``high``."""
    n, via = len(D), step * TILE
    for t in range(low, high):
        if t != step:
            through_tile(D, via, via, t * TILE, n)
            through_tile(D, via, t * TILE, via, n)


@njit(cache=True, nogil=True)
def floyd_rest(low, high, D, step):
    """Paths through the tile number ``step`` in the rows of tiles ``low`` to ``high``, without its row and column."""
    n, via = len(D), step * TILE
    for t in range(low, high):
        if t != step:
            for s in range((n + TILE - 1) // TILE):
                if s != step:
                    through_tile(D, via, t * TILE, s * TILE, n)
