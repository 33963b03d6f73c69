"""The duals of many small pairs of classes, one class against others, in one compiled call.

What Python does for a pair (a problem with its arrays, a record) takes a hundred times as long as solving one of a few
rows. :class:`margin.kernels.dual.DualProblem` is the same in NumPy.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import (
    ConstIntegers,
    ConstMatrix,
    ConstVector,
    Integers,
    Matrix,
    Vector,
    inner,
    kernel,
)
from margin.kernels.smo_kernels import solve_pairs

__all__ = ["SmallPairs", "Solutions", "solve_small_pairs"]

INFINITE = float("inf")


@cython.cclass
class SmallPairs:
    """One class, of ``a`` rows, and others that come after it in the order of the rows, with ``m`` rows together."""

    own: ConstMatrix  # (a, a): kernel values of the rows of the class with each other
    across: ConstMatrix  # (a, m): the same with the rows of the others
    others: ConstVector  # kernel values of the rows of each of the others with each other, block after block
    block_starts: ConstIntegers  # (classes,): where in ``others`` the block of a class begins
    cuts: ConstIntegers  # (classes + 1,): class j has the columns cuts[j] to cuts[j + 1] of ``across``
    bounds: ConstVector  # (a + m,): the largest coefficient of each row

    def __init__(
        self,
        own: ConstMatrix,
        across: ConstMatrix,
        others: ConstVector,
        block_starts: ConstIntegers,
        cuts: ConstIntegers,
        bounds: ConstVector,
    ):
        self.own = own
        self.across = across
        self.others = others
        self.block_starts = block_starts
        self.cuts = cuts
        self.bounds = bounds


@cython.cclass
class Solutions:
    """What is learned. Of all pairs, one after the other: ``beta`` and ``rows``; of each pair a number: the others."""

    beta: Vector  # the coefficients of its rows
    rows: Integers  # which rows these are, 0 to a + m
    offset: Vector
    objective: Vector  # of the dual
    gap: Vector  # between primal and dual objective
    violation: Vector  # of optimality
    steps: Integers  # of pairs of variables

    def __init__(
        self,
        beta: Vector,
        rows: Integers,
        offset: Vector,
        objective: Vector,
        gap: Vector,
        violation: Vector,
        steps: Integers,
    ):
        self.beta = beta
        self.rows = rows
        self.offset = offset
        self.objective = objective
        self.gap = gap
        self.violation = violation
        self.steps = steps


@kernel
def solve_small_pairs(
    pairs: SmallPairs,
    tol: cython.double,
    max_steps: cython.Py_ssize_t,
    solutions: Solutions,
    K: Matrix,
    memory: Matrix,
) -> cython.Py_ssize_t:
    """Solve one class against others in turn; returns how many pairs came to ``tol``, ending at the first that did not.

    ``K`` (n, n) and ``memory`` (8, n), for the n rows of the largest pair, are written over.
    """
    begin: cython.Py_ssize_t = 0
    a: cython.Py_ssize_t = pairs.own.shape[0]
    low: Vector = memory[4]
    high: Vector = memory[5]
    target: Vector = memory[6]
    score: Vector = memory[7]
    for j in range(pairs.cuts.shape[0] - 1):
        n = a + pairs.cuts[j + 1] - pairs.cuts[j]
        _join(pairs, j, K)
        for k in range(n):
            row = k if k < a else k + pairs.cuts[j]
            bound = pairs.bounds[row]
            high[k] = bound if k < a else 0.0
            low[k] = 0.0 if k < a else -bound
            target[k] = 1.0 if k < a else -1.0
            score[k] = target[k]
            solutions.rows[begin + k] = row
            solutions.beta[begin + k] = 0.0
        beta: Vector = solutions.beta[begin : begin + n]
        solutions.steps[j] = solve_pairs(K, score, beta, low, high, 0.0, tol, max_steps, memory)
        _judge(K, beta, target, low, high, score, solutions, j)
        if solutions.violation[j] > tol:
            return j
        begin += n
    return pairs.cuts.shape[0] - 1


@inner
def _join(pairs: SmallPairs, j: cython.Py_ssize_t, K: Matrix) -> cython.void:
    """The kernel matrix of the rows of the class and of those of another, one after the other."""
    a = pairs.own.shape[0]
    first = pairs.cuts[j]
    start = pairs.block_starts[j]
    b = pairs.cuts[j + 1] - first
    for r in range(a):
        for c in range(a):
            K[r, c] = pairs.own[r, c]
        for c in range(b):
            value = pairs.across[r, first + c]
            K[r, a + c] = value
            K[a + c, r] = value
    for r in range(b):
        for c in range(b):
            K[a + r, a + c] = pairs.others[start + r * b + c]


@inner
def _judge(
    K: Matrix,
    beta: Vector,
    target: Vector,
    low: Vector,
    high: Vector,
    score: Vector,
    solutions: Solutions,
    pair: cython.Py_ssize_t,
) -> cython.void:
    """Offset, objectives and violation of a solution; its score is computed anew, without the rounding of the steps."""
    n = beta.shape[0]
    up: cython.double = -INFINITE
    down: cython.double = INFINITE
    inside: cython.double = 0.0
    free: cython.Py_ssize_t = 0
    dual: cython.double = 0.0
    total: cython.double
    offset: cython.double
    primal: cython.double
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
            inside += score[i]
            free += 1
    if free > 0:
        offset = inside / free
    elif up > -INFINITE and down < INFINITE:  # no coefficient between its bounds: the middle of what optimality allows
        offset = 0.5 * (up + down)
    else:  # which ends on one side only
        offset = up if up > -INFINITE else down
    primal = -dual
    for i in range(n):
        over = score[i] - offset
        primal += target[i] * beta[i] + (high[i] * over if over > 0.0 else low[i] * over)
    solutions.offset[pair] = offset
    solutions.objective[pair] = dual
    solutions.gap[pair] = primal - dual
    solutions.violation[pair] = up - down
