"""The duals of many small pairs of classes, one class against others, in one compiled call.

What Python does for a pair (a problem with its arrays, a record) takes a hundred times as long as solving one of a few
rows. :class:`margin.kernels.dual.DualProblem` is the same in NumPy.
"""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import cached_kernel, inner_kernel
from margin.kernels.smo_kernels import take_pair_steps

__all__ = ["GAP", "OBJECTIVE", "OFFSET", "STEPS", "VIOLATION", "solve_small_pairs"]

OFFSET, OBJECTIVE, GAP, VIOLATION, STEPS = range(5)  # columns of ``numbers``


@cached_kernel
def solve_small_pairs(
    own, across, others, block_starts, cuts, bounds, tol, max_steps, beta, place, numbers, matrix, memory
):
    """Solve one class of ``a`` rows against others in turn; returns how many pairs came to ``tol``, ending at the first
    that did not.

    Kernel values: ``own`` (a, a), ``across`` (a, m) with the rows that come after, of which class j has those from
    ``cuts[j]`` to ``cuts[j + 1]``, and ``others``, in which the block of j with itself begins at ``block_starts[j]``.
    ``bounds`` (a + m,) are the largest coefficients. Pair after pair, ``beta`` gets the coefficients and ``place`` the
    rows they belong to, 0 to a + m; ``numbers`` gets a line per pair. ``matrix`` and
    ``memory`` are written over: room for the values and for eight numbers of each row of the largest pair.
    """
    a, begin = len(own), 0
    for j in range(len(cuts) - 1):
        b = cuts[j + 1] - cuts[j]
        n = a + b
        K, lines = matrix[: n * n].reshape(n, n), memory[: 8 * n].reshape(8, n)
        low, high, target, score = lines[4], lines[5], lines[6], lines[7]
        _join(K, own, across[:, cuts[j] : cuts[j + 1]], others[block_starts[j] : block_starts[j] + b * b])
        coef, rows = beta[begin : begin + n], place[begin : begin + n]
        for k in range(n):
            rows[k] = k if k < a else k + cuts[j]
            bound = bounds[rows[k]]
            high[k], low[k], target[k] = (bound, 0.0, 1.0) if k < a else (0.0, -bound, -1.0)
            coef[k], score[k] = 0.0, target[k]
        numbers[j, STEPS] = take_pair_steps(K, score, coef, low, high, 0.0, tol, max_steps, lines[:4])
        _judge(K, coef, target, low, high, score, numbers[j])
        if numbers[j, VIOLATION] > tol:
            return j
        begin += n
    return len(cuts) - 1


@inner_kernel
def _join(K, own, across, other):
    """The kernel matrix of the rows of two classes, one after the other."""
    a, b = across.shape
    for i in range(a):
        for j in range(a):
            K[i, j] = own[i, j]
        for j in range(b):
            K[i, a + j] = K[a + j, i] = across[i, j]
    for i in range(b):
        for j in range(b):
            K[a + i, a + j] = other[i * b + j]


@inner_kernel
def _judge(K, beta, target, low, high, score, numbers):
    """Offset, objectives and violation of a solution; its score is computed anew, without the rounding of the steps."""
    n = len(beta)
    up, down, inside, free, dual = -np.inf, np.inf, 0.0, 0, 0.0
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += K[i, j] * beta[j]
        score[i] = target[i] - total
        dual += 0.5 * beta[i] * (target[i] + score[i])
        if beta[i] < high[i]:
            up = max(up, score[i])
        if beta[i] > low[i]:
            down = min(down, score[i])
        if low[i] < beta[i] < high[i]:
            inside, free = inside + score[i], free + 1
    # Where no coefficient is between its bounds, the middle of what optimality allows, if that ends on both sides.
    middle = 0.5 * (up + down) if up > -np.inf and down < np.inf else (up if up > -np.inf else down)
    offset = inside / free if free else middle
    primal = -dual
    for i in range(n):
        over = score[i] - offset
        primal += target[i] * beta[i] + (high[i] * over if over > 0.0 else low[i] * over)
    numbers[OFFSET], numbers[OBJECTIVE], numbers[GAP], numbers[VIOLATION] = offset, dual, primal - dual, up - down
