"""Stochastic average gradients (SAG) and their unbiased form (SAGA), compiled by Numba.

Schmidt, Le Roux and Bach (2017); Defazio, Bach and Lacoste-Julien (2014). Rows are given in compressed form.
"""

from __future__ import annotations

import math

from margin.core.cached_kernels import njit

__all__ = ["sweep_rows"]

SQUARED, LOGISTIC, SOFTMAX = 0, 1, 2


@njit(cache=True)
def sweep_rows(
    data, indices, indptr, targets, weights, order, loss, saga, intercept, rates, theta, memory, sums, seen, score
):
    """Visit the rows in ``order``, each time moving ``theta`` (p + 1, k; the last row the intercepts) in place.

    ``memory`` (n, k) holds the last derivative of every row by its scores, ``sums`` (p + 1, k) the sum of the gradients
    that follow from them, ``seen`` (n,) the rows that have one; ``score`` (k,) is scratch, ``rates`` are the step and
    both penalties, ``intercept`` the square of the entry that stands in the column of the intercepts. Returns the
    number of rows seen so far.
    """
    p, k = theta.shape[0] - 1, theta.shape[1]
    step, l1, l2 = rates
    known = 0
    for i in range(len(seen)):
        known += seen[i]
    for i in order:
        first, last = indptr[i], indptr[i + 1]
        for c in range(k):
            score[c] = theta[p, c]
        for at in range(first, last):
            for c in range(k):
                score[c] += data[at] * theta[indices[at], c]
        _slopes(loss, score, targets[i], weights[i])
        if seen[i] == 0:
            seen[i] = 1
            known += 1
        for c in range(k):
            change = score[c] - memory[i, c]
            memory[i, c] = score[c]
            # SAG steps along the mean of the remembered gradients, this one included; SAGA along the mean before it
            # plus the whole change, whose expectation is the gradient.
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


@njit(cache=True)
def _slopes(loss, score, target, weight):
    """The derivatives of a row's loss by its scores, in place of the scores."""
    k = len(score)
    if loss == SQUARED:
        for c in range(k):
            score[c] = weight * (score[c] - target[c])
    elif loss == LOGISTIC:
        score[0] = weight * (1.0 / (1.0 + math.exp(-score[0])) - target[0])
    else:
        top = score[0]
        for c in range(1, k):
            top = max(top, score[c])
        total = 0.0
        for c in range(k):
            score[c] = math.exp(score[c] - top)
            total += score[c]
        for c in range(k):
            score[c] = weight * (score[c] / total - target[c])


@njit(cache=True)
def _move(theta, sums, c, p, step, l2, known):
    for j in range(p):
        theta[j, c] -= step * (sums[j, c] / known + l2 * theta[j, c])
    theta[p, c] -= step * sums[p, c] / known


@njit(cache=True)
def _shrink(theta, c, p, amount):
    if amount > 0.0:
        for j in range(p):
            if theta[j, c] > amount:
                theta[j, c] -= amount
            elif theta[j, c] < -amount:
                theta[j, c] += amount
            else:
                theta[j, c] = 0.0
