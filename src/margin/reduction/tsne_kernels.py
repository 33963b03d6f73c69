"""Forces between the points of a map: pushes of all pairs in single precision, pulls along stored pairs.

Maps are nearly always planes, and with the number of axes known gaps stay in registers: kernels of their own.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import (
    ConstIntegers,
    ConstIntegers32,
    ConstMatrix32,
    ConstVector,
    Matrix,
    Matrix32,
    Vector,
    Vector32,
    kernel,
)
from margin.reduction.block_sizes import LANES

__all__ = ["pulls", "pulls_in_plane", "pushes", "pushes_in_plane"]


@kernel
def pushes(
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    Y: ConstMatrix32,
    mine: Matrix32,
    total: Matrix32,
    force: Matrix32,
    sums: Vector32,
) -> cython.void:
    """For every point i, into ``force`` (d, n) the sum over j of w^2 (y_i - y_j), into ``sums`` (n,) that of w, with
    w = 1 / (1 + |y_i - y_j|^2); ``Y`` (d, n) float32. The point itself adds one to its sum and nothing to its force.
    Blocks ``low`` to ``high`` of LANES points are computed; ``mine`` and ``total`` (d, LANES) are scratch."""
    weight = cython.declare(cython.float[LANES])
    similarity = cython.declare(cython.float[LANES])
    one: cython.float = 1
    gap: cython.float
    d = Y.shape[0]
    n = Y.shape[1]
    for block in range(low, high):
        start = block * LANES
        count = min(LANES, n - start)
        for lane in range(LANES):
            weight[lane] = 0
            for a in range(d):
                mine[a, lane] = Y[a, start + lane] if lane < count else 0
                total[a, lane] = 0
        for j in range(n):
            for lane in range(LANES):
                similarity[lane] = one
            for a in range(d):
                other = Y[a, j]
                for lane in range(LANES):
                    gap = mine[a, lane] - other
                    similarity[lane] += gap * gap
            for lane in range(LANES):
                similarity[lane] = one / similarity[lane]
                weight[lane] += similarity[lane]
                similarity[lane] *= similarity[lane]
            for a in range(d):
                other = Y[a, j]
                for lane in range(LANES):
                    total[a, lane] += similarity[lane] * (mine[a, lane] - other)
        for lane in range(count):
            sums[start + lane] = weight[lane]
            for a in range(d):
                force[a, start + lane] = total[a, lane]


@kernel
def pushes_in_plane(
    low: cython.Py_ssize_t, high: cython.Py_ssize_t, Y: ConstMatrix32, force: Matrix32, sums: Vector32
) -> cython.void:
    """:func:`pushes` of points with two coordinates, the same bits in a third of the time."""
    x = cython.declare(cython.float[LANES])
    y = cython.declare(cython.float[LANES])
    push_x = cython.declare(cython.float[LANES])
    push_y = cython.declare(cython.float[LANES])
    weight = cython.declare(cython.float[LANES])
    one: cython.float = 1
    similarity: cython.float
    n = Y.shape[1]
    for block in range(low, high):
        start = block * LANES
        count = min(LANES, n - start)
        for lane in range(LANES):
            x[lane] = Y[0, start + lane] if lane < count else 0
            y[lane] = Y[1, start + lane] if lane < count else 0
            push_x[lane] = 0
            push_y[lane] = 0
            weight[lane] = 0
        for j in range(n):
            other_x = Y[0, j]
            other_y = Y[1, j]
            for lane in range(LANES):
                gap_x = x[lane] - other_x
                gap_y = y[lane] - other_y
                similarity = one / (one + gap_x * gap_x + gap_y * gap_y)
                weight[lane] += similarity
                similarity = similarity * similarity
                push_x[lane] += similarity * gap_x
                push_y[lane] += similarity * gap_y
        for lane in range(count):
            sums[start + lane] = weight[lane]
            force[0, start + lane] = push_x[lane]
            force[1, start + lane] = push_y[lane]


@kernel
def pulls(
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    starts: ConstIntegers,
    neighbors: ConstIntegers32,
    P: ConstVector,
    Y: ConstMatrix32,
    force: Matrix,
    spread: Vector,
) -> cython.void:
    """For the points i from ``low`` to ``high``: into ``force`` (d, n) the sum over stored pairs of p w (y_i - y_j),
    into ``spread``, unless it is empty, the 1 + |y_i - y_j|^2 of every pair. The pairs of point i are ``starts[i]`` to
    ``starts[i + 1]``."""
    square: cython.double
    gap: cython.double
    keep: cython.bint = spread.shape[0] > 0
    d = Y.shape[0]
    for i in range(low, high):
        for a in range(d):
            force[a, i] = 0.0
        for pair in range(starts[i], starts[i + 1]):
            j = neighbors[pair]
            square = 1.0
            for a in range(d):
                gap = cython.cast(cython.double, Y[a, i]) - cython.cast(cython.double, Y[a, j])
                square += gap * gap
            if keep:
                spread[pair] = square
            strength = P[pair] / square
            for a in range(d):
                force[a, i] += strength * (cython.cast(cython.double, Y[a, i]) - cython.cast(cython.double, Y[a, j]))


@kernel
def pulls_in_plane(
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    starts: ConstIntegers,
    neighbors: ConstIntegers32,
    P: ConstVector,
    Y: ConstMatrix32,
    force: Matrix,
    spread: Vector,
) -> cython.void:
    """:func:`pulls` of points with two coordinates, the same bits."""
    x: cython.double
    y: cython.double
    gap_x: cython.double
    gap_y: cython.double
    pull_x: cython.double
    pull_y: cython.double
    keep: cython.bint = spread.shape[0] > 0
    for i in range(low, high):
        x = Y[0, i]
        y = Y[1, i]
        pull_x = 0.0
        pull_y = 0.0
        for pair in range(starts[i], starts[i + 1]):
            j = neighbors[pair]
            gap_x = x - Y[0, j]
            gap_y = y - Y[1, j]
            square = 1.0 + gap_x * gap_x + gap_y * gap_y
            if keep:
                spread[pair] = square
            strength = P[pair] / square
            pull_x += strength * gap_x
            pull_y += strength * gap_y
        force[0, i] = pull_x
        force[1, i] = pull_y
