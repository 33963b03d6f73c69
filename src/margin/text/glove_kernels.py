"""One pass of GloVe's AdaGrad, in one thread: the steps follow each other."""

from __future__ import annotations

from math import sqrt

import cython

from margin.core.kernel_source import ConstIntegers, ConstIntegers32, ConstVector, Matrix, inner, kernel

__all__ = ["glove_pass"]

LANES_64 = 8


@inner
def _inner_product(
    A: Matrix, a: cython.Py_ssize_t, B: Matrix, b: cython.Py_ssize_t, d: cython.Py_ssize_t
) -> cython.double:
    """Of the first ``d`` columns of two rows, summed in lanes."""
    lanes = cython.declare(cython.double[LANES_64])
    j: cython.Py_ssize_t = 0
    for lane in range(LANES_64):
        lanes[lane] = 0.0
    while j + LANES_64 <= d:
        for lane in range(LANES_64):
            lanes[lane] += A[a, j + lane] * B[b, j + lane]
        j += LANES_64
    for lane in range(d - j):
        lanes[lane] += A[a, j + lane] * B[b, j + lane]
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))


@kernel
def glove_pass(
    order: ConstIntegers,
    rows: ConstIntegers32,
    columns: ConstIntegers32,
    log_counts: ConstVector,
    weights: ConstVector,
    W: Matrix,
    C: Matrix,
    W_squares: Matrix,
    C_squares: Matrix,
    rate: cython.double,
) -> cython.double:
    """A step per entry of the co-occurrence table; the last column of W and C is the bias. Returns the loss.

    AdaGrad divides each gradient by the root of the sum of its earlier squares (``W_squares``, ``C_squares``).
    """
    loss: cython.double = 0.0
    d = W.shape[1] - 1
    for e in range(order.shape[0]):
        entry = order[e]
        i = rows[entry]
        j = columns[entry]
        difference = W[i, d] + C[j, d] - log_counts[entry] + _inner_product(W, i, C, j, d)
        error = weights[entry] * difference
        loss += error * difference
        for k in range(d):
            to_w = error * C[j, k]
            to_c = error * W[i, k]
            W[i, k] -= rate * to_w / sqrt(W_squares[i, k])
            C[j, k] -= rate * to_c / sqrt(C_squares[j, k])
            W_squares[i, k] += to_w * to_w
            C_squares[j, k] += to_c * to_c
        W[i, d] -= rate * error / sqrt(W_squares[i, d])
        C[j, d] -= rate * error / sqrt(C_squares[j, d])
        W_squares[i, d] += error * error
        C_squares[j, d] += error * error
    return loss
