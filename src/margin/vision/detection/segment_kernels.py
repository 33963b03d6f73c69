"""Joining of pixels into segments."""

from __future__ import annotations

import cython

from margin.core.kernel_source import ConstIntegers, ConstVector, Integers, Vector, inner, kernel

__all__ = ["join"]


@inner
def _root(parent: Integers, i: cython.longlong) -> cython.longlong:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def join(
    first: ConstIntegers,
    second: ConstIntegers,
    weight: ConstVector,
    parent: Integers,
    size: Integers,
    steepest: Vector,
    k: cython.double,
    min_size: cython.longlong,
) -> cython.void:
    """Edges in the order of their weight join two segments unless the edge is steeper than both are inside."""
    for e in range(first.shape[0]):
        a = _root(parent, first[e])
        b = _root(parent, second[e])
        if a != b and weight[e] <= min(steepest[a] + k / size[a], steepest[b] + k / size[b]):
            parent[b] = a
            size[a] += size[b]
            steepest[a] = weight[e]
    for e in range(first.shape[0]):
        a = _root(parent, first[e])
        b = _root(parent, second[e])
        if a != b and (size[a] < min_size or size[b] < min_size):
            parent[b] = a
            size[a] += size[b]
    for i in range(parent.shape[0]):
        parent[i] = _root(parent, i)
