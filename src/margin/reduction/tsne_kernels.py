"""Forces between the points of a map, compiled: pushes of all pairs in single precision, pulls along stored pairs."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

__all__ = ["pulls", "pushes"]

LANES = 64  # points that meet every other point together: their sums are separate, so they fill vector registers


@njit(cache=True, nogil=True, parallel=True)
def pushes(Y, force, sums):
    """For every point i, into ``force`` (d, n) the sum over j of w^2 (y_i - y_j), into ``sums`` (n,) that of w, with
    w = 1 / (1 + |y_i - y_j|^2); ``Y`` (d, n) float32. The point itself adds one to its sum and nothing to its force."""
    d, n = Y.shape
    one, zero = np.float32(1), np.float32(0)
    for block in prange((n + LANES - 1) // LANES):
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


@njit(cache=True, nogil=True, parallel=True)
def pulls(starts, neighbors, P, Y, force, spread):
    """For every point i, into ``force`` (d, n) the sum over stored pairs of p w (y_i - y_j); into ``spread`` the
    1 + |y_i - y_j|^2 of every pair. The pairs of point i are ``starts[i]`` to ``starts[i + 1]``."""
    d, n = Y.shape
    for i in prange(n):
        total = np.zeros(d)
        for pair in range(starts[i], starts[i + 1]):
            j = neighbors[pair]
            square = 1.0
            for a in range(d):
                gap = np.float64(Y[a, i]) - np.float64(Y[a, j])
                square += gap * gap
            spread[pair] = square
            for a in range(d):
                total[a] += P[pair] / square * (np.float64(Y[a, i]) - np.float64(Y[a, j]))
        for a in range(d):
            force[a, i] = total[a]
