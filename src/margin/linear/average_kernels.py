"""Stochastic average gradients (SAG) and their unbiased form (SAGA).

Schmidt, Le Roux and Bach (2017); Defazio, Bach and Lacoste-Julien (2014). Rows are given in compressed form.
"""

from __future__ import annotations

import cython

from margin.core.elementary_kernels import exp
from margin.core.kernel_source import (
    ConstIntegers,
    ConstMatrix,
    ConstVector,
    Matrix,
    Vector,
    inner,
    kernel,
)

__all__ = ["sweep_rows"]

SQUARED, LOGISTIC, SOFTMAX = 0, 1, 2
Flags = cython.schar[::1]


@kernel
def sweep_rows(
    data: ConstVector,
    indices: ConstIntegers,
    indptr: ConstIntegers,
    targets: ConstMatrix,
    weights: ConstVector,
    order: ConstIntegers,
    loss: cython.int,
    saga: cython.bint,
    intercept: cython.double,
    rates: tuple[cython.double, cython.double, cython.double],
    theta: Matrix,
    memory: Matrix,
    sums: Matrix,
    seen: Flags,
    score: Vector,
) -> cython.Py_ssize_t:
    """Visit the rows in ``order``, each time moving ``theta`` (p + 1, k; the last row the intercepts) in place.

    ``memory`` (n, k) holds the last derivative of every row by its scores, ``sums`` (p + 1, k) the sum of the gradients
    that follow from them, ``seen`` (n,) the rows that have one; ``score`` (k,) is scratch, ``rates`` are the step and
    both penalties, ``intercept`` the square of the entry that stands in the column of the intercepts. Returns the
    number of rows seen so far.
    """
    step: cython.double = rates[0]
    l1: cython.double = rates[1]
    l2: cython.double = rates[2]
    p = theta.shape[0] - 1
    k = theta.shape[1]
    known: cython.Py_ssize_t = 0
    for i in range(seen.shape[0]):
        known += seen[i]
    for visit in range(order.shape[0]):
        row = order[visit]
        first = indptr[row]
        last = indptr[row + 1]
        for c in range(k):
            score[c] = theta[p, c]
        for at in range(first, last):
            for c in range(k):
                score[c] += data[at] * theta[indices[at], c]
        _slopes(loss, score, targets[row], weights[row])
        if seen[row] == 0:
            seen[row] = 1
            known += 1
        for c in range(k):
            change = score[c] - memory[row, c]
            memory[row, c] = score[c]
            # SAG steps along the mean of the remembered gradients, this one included; SAGA along the mean before
            # it plus the whole change, whose expectation is the gradient.
            if saga:
                _move(theta, sums, c, p, step, l2, known)
                for at in range(first, last):
                    theta[indices[at], c] -= step * change * data[at]
                theta[p, c] -= step * change * intercept
            for at in range(first, last):
                sums[indices[at], c] += change * data[at]
            sums[p, c] += change * intercept
            if saga:
                _shrink(theta, c, p, step * l1)
            else:
                _move(theta, sums, c, p, step, l2, known)
    return known


@inner
def _slopes(loss: cython.int, score: Vector, target: ConstVector, weight: cython.double) -> cython.void:
    """The derivatives of a row's loss by its scores, in place of the scores."""
    top: cython.double
    total: cython.double = 0.0
    k = score.shape[0]
    if loss == SQUARED:
        for c in range(k):
            score[c] = weight * (score[c] - target[c])
    elif loss == LOGISTIC:
        score[0] = weight * (1.0 / (1.0 + exp(-score[0])) - target[0])
    else:
        top = score[0]
        for c in range(1, k):
            top = max(top, score[c])
        for c in range(k):
            score[c] = exp(score[c] - top)
            total += score[c]
        for c in range(k):
            score[c] = weight * (score[c] / total - target[c])


@inner
def _move(
    theta: Matrix,
    sums: ConstMatrix,
    c: cython.Py_ssize_t,
    p: cython.Py_ssize_t,
    step: cython.double,
    l2: cython.double,
    known: cython.Py_ssize_t,
) -> cython.void:
    for j in range(p):
        theta[j, c] -= step * (sums[j, c] / known + l2 * theta[j, c])
    theta[p, c] -= step * sums[p, c] / known


@inner
def _shrink(theta: Matrix, c: cython.Py_ssize_t, p: cython.Py_ssize_t, amount: cython.double) -> cython.void:
    if amount > 0.0:
        for j in range(p):
            if theta[j, c] > amount:
                theta[j, c] -= amount
            elif theta[j, c] < -amount:
                theta[j, c] += amount
            else:
                theta[j, c] = 0.0
