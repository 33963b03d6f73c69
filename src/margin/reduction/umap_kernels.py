"""One epoch of UMAP's stochastic descent. Edges take turns in a fixed order on one thread: the same bits always, and no
two updates of one position at a time."""

from __future__ import annotations

from math import pow

import cython

from margin.core.kernel_source import ConstIntegers, ConstVector, Matrix, Vector, inner, kernel

__all__ = ["epoch"]

MULTIPLIER, INCREMENT = 6364136223846793005, 1442695040888963407  # Knuth's MMIX
HIGH_BITS = 33
MODULUS_MASK = 0xFFFFFFFFFFFFFFFF  # what 64 bits hold, for integers that know no end
LARGEST_MOVE = 4.0  # of a coordinate per pull or push, before the learning rate
SOFTEN = 1e-3  # added to a squared distance, so that pushes of near positions stay finite

States = cython.ulonglong[::1]


@inner
def _clipped(value: cython.double) -> cython.double:
    return min(max(value, -LARGEST_MOVE), LARGEST_MOVE)


@inner
def _squared_gap(Y: Matrix, i: cython.Py_ssize_t, j: cython.Py_ssize_t) -> cython.double:
    square: cython.double = 0.0
    for c in range(Y.shape[1]):
        gap = Y[i, c] - Y[j, c]
        square += gap * gap
    return square


@kernel
def epoch(
    heads: ConstIntegers,
    tails: ConstIntegers,
    period: ConstVector,
    due: Vector,
    now: cython.double,
    Y: Matrix,
    a: cython.double,
    b: cython.double,
    rate: cython.double,
    pushes: cython.Py_ssize_t,
    random: States,
) -> cython.void:
    """Pull along every edge that is ``due`` by epoch ``now``, and push its head away from random positions.

    Changes ``Y`` (n, d), ``due`` and the state ``random`` (1,) in place.
    """
    state: cython.ulonglong = random[0]
    n: cython.ulonglong = Y.shape[0]
    k: cython.Py_ssize_t
    d = Y.shape[1]
    for edge in range(heads.shape[0]):
        if due[edge] > now:
            continue
        due[edge] += period[edge]
        i = heads[edge]
        j = tails[edge]
        square = _squared_gap(Y, i, j)
        if square > 0:
            power = pow(square, b)
            pull = -2.0 * a * b * power / (square * (1.0 + a * power))
            for c in range(d):
                move = rate * _clipped(pull * (Y[i, c] - Y[j, c]))
                Y[i, c] += move
                Y[j, c] -= move
        for _push in range(pushes):
            state = (state * MULTIPLIER + INCREMENT) & MODULUS_MASK
            k = (state >> HIGH_BITS) % n
            if k == i:
                continue
            square = _squared_gap(Y, i, k)
            if square > 0:
                push = 2.0 * b / ((SOFTEN + square) * (1.0 + a * pow(square, b)))
                for c in range(d):
                    Y[i, c] += rate * _clipped(push * (Y[i, c] - Y[k, c]))
            else:
                for c in range(d):
                    Y[i, c] += rate * LARGEST_MOVE
    random[0] = state
