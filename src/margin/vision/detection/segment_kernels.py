"""Joining of pixels into segments, compiled by Numba; the tests hold the same loop in Python."""

from __future__ import annotations

from margin.core.cached_kernels import njit

__all__ = ["join"]


@njit(cache=True)
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True)
def join(first, second, weight, parent, size, inner, k, min_size):
    """Edges in the order of their weight join two segments unless the edge is steeper than both are inside."""
    for e in range(first.shape[0]):
        a, b = _root(parent, first[e]), _root(parent, second[e])
        if a != b and weight[e] <= min(inner[a] + k / size[a], inner[b] + k / size[b]):
            parent[b] = a
            size[a] += size[b]
            inner[a] = weight[e]
    for e in range(first.shape[0]):
        a, b = _root(parent, first[e]), _root(parent, second[e])
        if a != b and (size[a] < min_size or size[b] < min_size):
            parent[b] = a
            size[a] += size[b]
    for i in range(parent.shape[0]):
        parent[i] = _root(parent, i)
