"""One epoch of UMAP's stochastic descent, compiled. Edges take turns in a fixed order on one thread: the same bits
always, and no two updates of one position at a time."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["epoch"]

MULTIPLIER, INCREMENT = np.uint64(6364136223846793005), np.uint64(1442695040888963407)  # Knuth's MMIX
HIGH_BITS = np.uint64(33)
LARGEST_MOVE = 4.0  # of a coordinate per pull or push, before the learning rate
SOFTEN = 1e-3  # added to a squared distance, so that pushes of near positions stay finite


@njit(cache=True)
def clipped(value):
    return min(max(value, -LARGEST_MOVE), LARGEST_MOVE)


@njit(cache=True)
def epoch(heads, tails, period, due, now, Y, a, b, rate, pushes, random):
    """Pull along every edge that is ``due`` by epoch ``now``, and push its head away from random positions.

    Changes ``Y`` (n, d), ``due`` and the state ``random`` (1,) in place.
    """
    n, d = Y.shape
    state = random[0]
    for edge in range(len(heads)):
        if due[edge] > now:
            continue
        due[edge] += period[edge]
        i, j = heads[edge], tails[edge]
        square = 0.0
        for c in range(d):
            square += (Y[i, c] - Y[j, c]) ** 2
        if square > 0:
            power = square**b
            pull = -2.0 * a * b * power / (square * (1.0 + a * power))
            for c in range(d):
                move = rate * clipped(pull * (Y[i, c] - Y[j, c]))
                Y[i, c] += move
                Y[j, c] -= move
        for _ in range(pushes):
            state = state * MULTIPLIER + INCREMENT
            k = np.int64((state >> HIGH_BITS) % np.uint64(n))
            if k == i:
                continue
            square = 0.0
            for c in range(d):
                square += (Y[i, c] - Y[k, c]) ** 2
            if square > 0:
                push = 2.0 * b / ((SOFTEN + square) * (1.0 + a * square**b))
                for c in range(d):
                    Y[i, c] += rate * clipped(push * (Y[i, c] - Y[k, c]))
            else:
                for c in range(d):
                    Y[i, c] += rate * LARGEST_MOVE
    random[0] = state
