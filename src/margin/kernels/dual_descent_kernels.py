"""One pass of coordinate descent in the dual of the squared hinge, compiled by Numba."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import cached_kernel, inner_kernel

__all__ = ["dual_pass"]


@inner_kernel
def _row_times(data, indices, first, last, theta):
    """Four sums side by side: each addition to a single one would wait for the one before. Unsigned: no negatives."""
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    a = b = c = d = 0.0
    at = first
    while at + four <= last:
        a += data[at] * theta[np.uint64(indices[at])]
        b += data[at + one] * theta[np.uint64(indices[at + one])]
        c += data[at + two] * theta[np.uint64(indices[at + two])]
        d += data[at + three] * theta[np.uint64(indices[at + three])]
        at += four
    while at < last:
        a += data[at] * theta[np.uint64(indices[at])]
        at += one
    return (a + b) + (c + d)


@cached_kernel
def dual_pass(data, indices, indptr, order, y, inverse, curvature, constant, settled, limit, alpha, theta):
    """Minimize over one coefficient after the other, in place; see ``dual_descent.dual_pass_reference``.

    Rows are in compressed form. Returns the largest slope along which a coefficient could move.
    """
    b = theta.shape[0] - 2  # after the weights of the columns: that of the constant column, and the offset
    largest = 0.0
    for position in range(order.shape[0]):
        i = order[position]
        if settled[i]:
            continue
        first, last = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        value = constant * theta[b] + theta[b + 1] + _row_times(data, indices, first, last, theta)
        before = alpha[i]
        slope = y[i] * value - 1.0 + inverse[i] * before
        if before == 0.0 and slope >= 0.0:
            settled[i] = slope > limit
            continue
        size = abs(slope)
        largest = size if size > largest else largest
        after = before - slope / curvature[i]
        after = after if after > 0.0 else 0.0
        change = (after - before) * y[i]
        alpha[i] = after
        for at in range(first, last):
            theta[np.uint64(indices[at])] += change * data[at]
        theta[b] += change * constant
    return largest
