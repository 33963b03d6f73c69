"""Forces between the points of a map, compiled: pushes of all pairs in single precision, pulls along stored pairs.

Maps are nearly always planes, and with the number of axes known gaps stay in registers: kernels of their own.
"""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["LANES", "pulls", "pulls_in_plane", "pushes", "pushes_in_plane"]

LANES = 64  # points that meet every other point together: their sums are separate, so they fill vector registers


@njit(cache=True, nogil=True)
def pushes(low, high, Y, force, sums):
    """For every point i, into ``force`` (d, n) the sum over j of w^2 (y_i - y_j), into ``sums`` (n,) that of w, with
    w = 1 / (1 + |y_i - y_j|^2); ``Y`` (d, n) float32. The point itself adds one to its sum and nothing to its force.
    Blocks ``low`` to ``high`` of LANES points are computed."""
    d, n = Y.shape
    one, zero = np.float32(1), np.float32(0)
    for block in range(low, high):
        start = block * LANES
        count = min(LANES, n - start)
        mine = np.zeros((d, LANES), np.float32)
        total = np.zeros((d, LANES), np.float32)
        weight, gap, similarity = (
            np.zeros(LANES, np.float32),
            np.empty((d, LANES), np.float32),
            np.empty(LANES, np.float32),
        )
        for a in range(d):
            for lane in range(count):
                mine[a, lane] = Y[a, start + lane]
        for j in range(n):
            for lane in range(LANES):
                similarity[lane] = one
            for a in range(d):
                other = Y[a, j]
                for lane in range(LANES):
                    gap[a, lane] = mine[a, lane] - other
                    similarity[lane] += gap[a, lane] * gap[a, lane]
            for lane in range(LANES):
                similarity[lane] = one / similarity[lane]
                weight[lane] += similarity[lane]
                similarity[lane] *= similarity[lane]
            for a in range(d):
                for lane in range(LANES):
                    total[a, lane] += similarity[lane] * gap[a, lane]
        for lane in range(count):
            sums[start + lane] = weight[lane]
            for a in range(d):
                force[a, start + lane] = total[a, lane] + zero


@njit(cache=True, nogil=True)
def pushes_in_plane(low, high, Y, force, sums):
    """:func:`pushes` of points with two coordinates, the same bits in a third of the time."""
    n = Y.shape[1]
    one = np.float32(1)
    x, y = np.zeros(LANES, np.float32), np.zeros(LANES, np.float32)
    push_x, push_y, weight = np.empty(LANES, np.float32), np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    for block in range(low, high):
        start = block * LANES
        count = min(LANES, n - start)
        for lane in range(count):
            x[lane], y[lane] = Y[0, start + lane], Y[1, start + lane]
        push_x[:], push_y[:], weight[:] = 0, 0, 0
        for j in range(n):
            other_x, other_y = Y[0, j], Y[1, j]
            for lane in range(LANES):
                gap_x, gap_y = x[lane] - other_x, y[lane] - other_y
                similarity = one / (one + gap_x * gap_x + gap_y * gap_y)
                weight[lane] += similarity
                similarity *= similarity
                push_x[lane] += similarity * gap_x
                push_y[lane] += similarity * gap_y
        for lane in range(count):
            sums[start + lane] = weight[lane]
            force[0, start + lane], force[1, start + lane] = push_x[lane], push_y[lane]


@njit(cache=True, nogil=True)
def pulls(low, high, starts, neighbors, P, Y, force, spread):
    """For the points i from ``low`` to ``high``: into ``force`` (d, n) the sum over stored pairs of p w (y_i - y_j),
    into ``spread``, unless it is empty, the 1 + |y_i - y_j|^2 of every pair. The pairs of point i are ``starts[i]`` to
    ``starts[i + 1]``."""
    d, keep = Y.shape[0], len(spread) > 0
    total = np.empty(d)
    for i in range(low, high):
        total[:] = 0.0
        for pair in range(starts[i], starts[i + 1]):
            j = neighbors[pair]
            square = 1.0
            for a in range(d):
                gap = np.float64(Y[a, i]) - np.float64(Y[a, j])
                square += gap * gap
            if keep:
                spread[pair] = square
            for a in range(d):
                total[a] += P[pair] / square * (np.float64(Y[a, i]) - np.float64(Y[a, j]))
        for a in range(d):
            force[a, i] = total[a]


@njit(cache=True, nogil=True)
def pulls_in_plane(low, high, starts, neighbors, P, Y, force, spread):
    """:func:`pulls` of points with two coordinates, the same bits."""
    keep = len(spread) > 0
    for i in range(low, high):
        x, y = np.float64(Y[0, i]), np.float64(Y[1, i])
        pull_x = pull_y = 0.0
        for pair in range(starts[i], starts[i + 1]):
            j = neighbors[pair]
            gap_x, gap_y = x - np.float64(Y[0, j]), y - np.float64(Y[1, j])
            square = 1.0 + gap_x * gap_x + gap_y * gap_y
            if keep:
                spread[pair] = square
            strength = P[pair] / square
            pull_x += strength * gap_x
            pull_y += strength * gap_y
        force[0, i], force[1, i] = pull_x, pull_y
