r"""Sequential minimal optimization inside a working set: pairs of variables, chosen by second-order information.

What a variable may do is kept as an offset to its score, infinite where it may not move, so that the loops over the
working set have no branches that depend on the data. The largest of many numbers is found first, in lanes that become
vector instructions, and its place after it: that search ends where the number is met.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import ConstMatrix, ConstVector, Matrix, Vector, inner, kernel

__all__ = ["solve_pairs"]

# Curvature along a pair that is zero up to rounding (two equal rows): a step of this curvature goes to a bound.
FLAT = 1e-12
INFINITE = float("inf")
LANES = 32


@kernel
def solve_pairs(
    K: ConstMatrix,
    score: Vector,
    beta: Vector,
    low: ConstVector,
    high: ConstVector,
    epsilon: cython.double,
    tol: cython.double,
    max_steps: cython.Py_ssize_t,
    memory: Matrix,
) -> cython.Py_ssize_t:
    """Minimize over the variables ``beta`` (q,) in place; returns the number of pair steps.

    ``score`` is t - K beta - (what variables outside contribute), kept up to date; see :mod:`margin.kernels.dual`.
    ``memory`` (4, q) is written over. All arrays but ``beta`` may be larger; their first q rows and columns count.
    """
    n = beta.shape[0]
    diagonal: Vector = memory[0]
    rise: Vector = memory[1]
    fall: Vector = memory[2]
    gain: Vector = memory[3]
    steps: cython.Py_ssize_t = 0
    for k in range(n):
        diagonal[k] = K[k, k]
        rise[k] = _rise(beta[k], high[k], epsilon)
        fall[k] = _fall(beta[k], low[k], epsilon)
    while steps < max_steps:
        up = _highest(n, score, rise)
        if up - _lowest(n, score, fall) <= tol:
            break
        i = _place(n, score, rise, up)
        j = _partner(n, K, diagonal, score, fall, gain, i, up)
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * K[i, j], FLAT)
        top = _limit(beta[i], high[i], epsilon)
        bottom = -_limit(-beta[j], -low[j], epsilon)
        step = min((up - (score[j] + fall[j])) / curvature, top - beta[i], beta[j] - bottom)
        # Exactly on the bound or on the kink, so that a variable at a bound is recognized as such.
        beta[i] = top if step == top - beta[i] else beta[i] + step
        beta[j] = bottom if step == beta[j] - bottom else beta[j] - step
        rise[i] = _rise(beta[i], high[i], epsilon)
        fall[i] = _fall(beta[i], low[i], epsilon)
        rise[j] = _rise(beta[j], high[j], epsilon)
        fall[j] = _fall(beta[j], low[j], epsilon)
        for k in range(n):
            score[k] -= step * (K[i, k] - K[j, k])
        steps += 1
    return steps


@inner
def _limit(value: cython.double, bound: cython.double, epsilon: cython.double) -> cython.double:
    """How far up a variable may go: to its bound, or first to the kink of epsilon |beta| at zero."""
    return 0.0 if epsilon > 0.0 and value < 0.0 else bound


@inner
def _rise(beta: cython.double, high: cython.double, epsilon: cython.double) -> cython.double:
    """What is added to a score to say how much the variable wants to rise."""
    return -INFINITE if beta >= high else (-epsilon if beta >= 0.0 else epsilon)


@inner
def _fall(beta: cython.double, low: cython.double, epsilon: cython.double) -> cython.double:
    """What is added to a score to say how much the variable wants to fall."""
    return INFINITE if beta <= low else (-epsilon if beta > 0.0 else epsilon)


@inner
def _highest(n: cython.Py_ssize_t, score: ConstVector, rise: ConstVector) -> cython.double:
    best = cython.declare(cython.double[LANES])
    highest: cython.double = -INFINITE
    value: cython.double
    k: cython.Py_ssize_t = 0
    if n >= LANES:
        for lane in range(LANES):
            best[lane] = -INFINITE
        while k + LANES <= n:
            for lane in range(LANES):
                value = score[k + lane] + rise[k + lane]
                best[lane] = value if value > best[lane] else best[lane]
            k += LANES
        for lane in range(LANES):
            highest = best[lane] if best[lane] > highest else highest
    while k < n:
        value = score[k] + rise[k]
        highest = value if value > highest else highest
        k += 1
    return highest


@inner
def _lowest(n: cython.Py_ssize_t, score: ConstVector, fall: ConstVector) -> cython.double:
    best = cython.declare(cython.double[LANES])
    lowest: cython.double = INFINITE
    value: cython.double
    k: cython.Py_ssize_t = 0
    if n >= LANES:
        for lane in range(LANES):
            best[lane] = INFINITE
        while k + LANES <= n:
            for lane in range(LANES):
                value = score[k + lane] + fall[k + lane]
                best[lane] = value if value < best[lane] else best[lane]
            k += LANES
        for lane in range(LANES):
            lowest = best[lane] if best[lane] < lowest else lowest
    while k < n:
        value = score[k] + fall[k]
        lowest = value if value < lowest else lowest
        k += 1
    return lowest


@inner
def _place(n: cython.Py_ssize_t, score: ConstVector, offset: ConstVector, value: cython.double) -> cython.Py_ssize_t:
    """The first variable whose sum is ``value``."""
    for k in range(n):
        if score[k] + offset[k] == value:
            return k
    return 0


@inner
def _partner(
    n: cython.Py_ssize_t,
    K: ConstMatrix,
    diagonal: ConstVector,
    score: ConstVector,
    fall: ConstVector,
    gain: Vector,
    i: cython.Py_ssize_t,
    up: cython.double,
) -> cython.Py_ssize_t:
    """The variable to decrease with which the objective falls most: (up - down_k)^2 / curvature_k is largest."""
    best = cython.declare(cython.double[LANES])
    largest: cython.double = 0.0
    difference: cython.double
    curvature: cython.double
    k: cython.Py_ssize_t = 0
    own = diagonal[i]
    for place in range(n):
        difference = up - (score[place] + fall[place])
        difference = difference if difference > 0.0 else 0.0
        curvature = own + diagonal[place] - 2.0 * K[i, place]
        curvature = curvature if curvature > FLAT else FLAT
        gain[place] = difference * difference / curvature
    if n >= LANES:
        for lane in range(LANES):
            best[lane] = 0.0
        while k + LANES <= n:
            for lane in range(LANES):
                best[lane] = gain[k + lane] if gain[k + lane] > best[lane] else best[lane]
            k += LANES
        for lane in range(LANES):
            largest = best[lane] if best[lane] > largest else largest
    while k < n:
        largest = gain[k] if gain[k] > largest else largest
        k += 1
    for place in range(n):
        if gain[place] == largest:
            return place
    return 0
