r"""Sequential minimal optimization inside a working set: pairs of variables, chosen by second-order information."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["solve_pairs"]

# Curvature along a pair that is zero up to rounding (two equal rows): a step of this curvature goes to a bound.
FLAT = 1e-12


@njit(cache=True, fastmath=False)
def solve_pairs(K, score, beta, low, high, epsilon, tol, max_steps):
    """Minimize over the variables of ``K`` (q, q) in place; returns the number of pair steps.

    ``score`` is t - K beta - (what variables outside contribute), kept up to date; see :mod:`margin.kernels.dual`.
    """
    q = len(beta)
    diagonal = np.empty(q)
    for k in range(q):
        diagonal[k] = K[k, k]
    i, best_up, worst_down = _extremes(score, beta, low, high, epsilon)
    steps = 0
    while steps < max_steps and best_up - worst_down > tol:
        j, down_j, curvature = _partner(K, diagonal, score, beta, low, i, best_up, epsilon)
        step = (best_up - down_j) / curvature
        move_i, move_j = _limit(beta[i], high[i], epsilon), -_limit(-beta[j], -low[j], epsilon)
        limit = min(move_i - beta[i], beta[j] - move_j)
        if step >= limit:
            # Exactly on the bound or on the kink, so that a variable at a bound is recognized as such.
            step = limit
            new_i = move_i if move_i - beta[i] <= limit else beta[i] + step
            new_j = move_j if beta[j] - move_j <= limit else beta[j] - step
        else:
            new_i, new_j = beta[i] + step, beta[j] - step
        beta[i], beta[j] = new_i, new_j
        i, best_up, worst_down = _update(K[i], K[j], step, score, beta, low, high, epsilon)
        steps += 1
    return steps


@njit(cache=True, fastmath=False)
def _limit(value, bound, epsilon):
    """How far up a variable may go: to its bound, or first to the kink of epsilon |beta| at zero."""
    return 0.0 if epsilon > 0.0 and value < 0.0 else bound


@njit(cache=True, fastmath=False)
def _extremes(score, beta, low, high, epsilon):
    best, best_up, worst_down = 0, -np.inf, np.inf
    for k in range(len(beta)):
        up = score[k] - epsilon if beta[k] >= 0.0 else score[k] + epsilon
        down = score[k] - epsilon if beta[k] > 0.0 else score[k] + epsilon
        if beta[k] < high[k] and up > best_up:
            best, best_up = k, up
        if beta[k] > low[k] and down < worst_down:
            worst_down = down
    return best, best_up, worst_down


@njit(cache=True, fastmath=False)
def _partner(K, diagonal, score, beta, low, i, up, epsilon):
    """The variable to decrease with which the objective falls most: (up - down_k)^2 / curvature_k is largest."""
    row, best, best_gain, best_down, best_curvature = K[i], -1, -1.0, np.inf, 1.0
    for k in range(len(beta)):
        down = score[k] - epsilon if beta[k] > 0.0 else score[k] + epsilon
        difference = up - down
        if beta[k] > low[k] and difference > 0.0:
            curvature = max(diagonal[i] + diagonal[k] - 2.0 * row[k], FLAT)
            gain = difference * difference / curvature
            if gain > best_gain:
                best, best_gain, best_down, best_curvature = k, gain, down, curvature
    return best, best_down, best_curvature


@njit(cache=True, fastmath=False)
def _update(row_i, row_j, step, score, beta, low, high, epsilon):
    """Scores after the step, and the extremes of the new ones in the same pass."""
    best, best_up, worst_down = 0, -np.inf, np.inf
    for k in range(len(beta)):
        score[k] -= step * (row_i[k] - row_j[k])
        up = score[k] - epsilon if beta[k] >= 0.0 else score[k] + epsilon
        down = score[k] - epsilon if beta[k] > 0.0 else score[k] + epsilon
        if beta[k] < high[k] and up > best_up:
            best, best_up = k, up
        if beta[k] > low[k] and down < worst_down:
            worst_down = down
    return best, best_up, worst_down
