r"""Sequential minimal optimization inside a working set: pairs of variables, chosen by second-order information.

What a variable may do is kept as an offset to its score, infinite where it may not move, so that the loops over the
working set have no branches that depend on the data. The largest of many numbers is found first and its place after
it: the first search becomes vector instructions, the second ends where the number is met.
"""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import cached_kernel, inner_kernel, separate_kernel
from margin.core.extremes_kernels import larger, smaller

__all__ = ["solve_pairs"]

# Curvature along a pair that is zero up to rounding (two equal rows): a step of this curvature goes to a bound.
FLAT = 1e-12


@cached_kernel
def solve_pairs(K, score, beta, low, high, epsilon, tol, max_steps, memory):
    """Minimize over the variables of ``K`` (q, q) in place; returns the number of pair steps.

    ``score`` is t - K beta - (what variables outside contribute), kept up to date; see :mod:`margin.kernels.dual`.
    ``memory`` (4, q) is written over.
    """
    return take_pair_steps(K, score, beta, low, high, epsilon, tol, max_steps, memory)


@separate_kernel
def take_pair_steps(K, score, beta, low, high, epsilon, tol, max_steps, memory):
    """:func:`solve_pairs`, as other kernels call it."""
    diagonal, rise, fall, gain = memory[0], memory[1], memory[2], memory[3]
    for k in range(len(beta)):
        diagonal[k] = K[k, k]
        rise[k], fall[k] = _offsets(beta[k], low[k], high[k], epsilon)
    steps = 0
    while steps < max_steps:
        up = _highest(score, rise)
        if up - _lowest(score, fall) <= tol:
            break
        i = _place(score, rise, up)
        j = _partner(K[i], diagonal, score, fall, gain, i, up)
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * K[i, j], FLAT)
        step = (up - (score[j] + fall[j])) / curvature
        top = _limit(beta[i], high[i], epsilon)
        bottom = -_limit(-beta[j], -low[j], epsilon)
        step = min(step, top - beta[i], beta[j] - bottom)
        # Exactly on the bound or on the kink, so that a variable at a bound is recognized as such.
        beta[i] = top if step == top - beta[i] else beta[i] + step
        beta[j] = bottom if step == beta[j] - bottom else beta[j] - step
        rise[i], fall[i] = _offsets(beta[i], low[i], high[i], epsilon)
        rise[j], fall[j] = _offsets(beta[j], low[j], high[j], epsilon)
        _move(K[i], K[j], step, score)
        steps += 1
    return steps


@inner_kernel
def _limit(value, bound, epsilon):
    """How far up a variable may go: to its bound, or first to the kink of epsilon |beta| at zero."""
    return 0.0 if epsilon > 0.0 and value < 0.0 else bound


@inner_kernel
def _offsets(beta, low, high, epsilon):
    """What is added to a score to say how much the variable wants to rise, and to fall."""
    rise = -np.inf if beta >= high else (-epsilon if beta >= 0.0 else epsilon)
    fall = np.inf if beta <= low else (-epsilon if beta > 0.0 else epsilon)
    return rise, fall


@inner_kernel
def _highest(score, rise):
    value = -np.inf
    for k in range(len(score)):
        value = larger(score[k] + rise[k], value)
    return value


@inner_kernel
def _lowest(score, fall):
    value = np.inf
    for k in range(len(score)):
        value = smaller(score[k] + fall[k], value)
    return value


@inner_kernel
def _place(score, offset, value):
    """The first variable whose sum is ``value``."""
    for k in range(len(score)):
        if score[k] + offset[k] == value:
            return k
    return 0


@inner_kernel
def _partner(row, diagonal, score, fall, gain, i, up):
    """The variable to decrease with which the objective falls most: (up - down_k)^2 / curvature_k is largest."""
    value = 0.0
    for k in range(len(score)):
        difference = up - (score[k] + fall[k])
        difference = difference if difference > 0.0 else 0.0
        curvature = diagonal[i] + diagonal[k] - 2.0 * row[k]
        curvature = curvature if curvature > FLAT else FLAT
        gain[k] = difference * difference / curvature
        value = larger(gain[k], value)
    for k in range(len(score)):
        if gain[k] == value:
            return k
    return 0


@inner_kernel
def _move(row_i, row_j, step, score):
    for k in range(len(score)):
        score[k] -= step * (row_i[k] - row_j[k])
