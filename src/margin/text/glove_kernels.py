"""One pass of GloVe's AdaGrad compiled by Numba, in one thread: the steps follow each other."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["glove_pass"]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def glove_pass(order, rows, columns, log_counts, weights, W, C, W_squares, C_squares, rate):
    """A step per entry of the co-occurrence table; the last column of W and C is the bias. Returns the loss.

    AdaGrad divides each gradient by the root of the sum of its earlier squares (``W_squares``, ``C_squares``).
    """
    loss, d = 0.0, W.shape[1] - 1
    for entry in order:
        i, j = rows[entry], columns[entry]
        difference = W[i, d] + C[j, d] - log_counts[entry]
        for k in range(d):
            difference += W[i, k] * C[j, k]
        loss += weights[entry] * difference * difference
        error = weights[entry] * difference
        for k in range(d):
            to_w, to_c = error * C[j, k], error * W[i, k]
            W[i, k] -= rate * to_w / np.sqrt(W_squares[i, k])
            C[j, k] -= rate * to_c / np.sqrt(C_squares[j, k])
            W_squares[i, k] += to_w * to_w
            C_squares[j, k] += to_c * to_c
        W[i, d] -= rate * error / np.sqrt(W_squares[i, d])
        C[j, d] -= rate * error / np.sqrt(C_squares[j, d])
        W_squares[i, d] += error * error
        C_squares[j, d] += error * error
    return loss
