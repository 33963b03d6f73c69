"""One pass of coordinate descent in the dual of the squared hinge, compiled."""

from __future__ import annotations

import cython

from margin.core.kernel_source import Bytes, ConstIndices, ConstIntegers, ConstVector, Vector, inner, kernel

__all__ = ["dual_pass"]


@kernel
def dual_pass(
    data: ConstVector,
    indices: ConstIndices,
    indptr: ConstIndices,
    order: ConstIntegers,
    y: ConstVector,
    inverse: ConstVector,
    curvature: ConstVector,
    constant: cython.double,
    settled: Bytes,
    limit: cython.double,
    alpha: Vector,
    theta: Vector,
) -> cython.double:
    """Minimize over one coefficient after the other, in place.

    Rows are in compressed form. ``theta`` is w, the weight of the ``constant`` column and b; ``inverse`` is 1 / 2c,
    ``curvature`` the square of the row (constant included) plus ``inverse``. A coefficient of zero whose slope is over
    ``limit`` is ``settled``. Returns the largest slope along which a coefficient could move.
    """
    b = theta.shape[0] - 2  # after the weights of the columns: that of the constant column, and the offset
    largest: cython.double = 0.0
    after: cython.double
    first: cython.Py_ssize_t
    last: cython.Py_ssize_t
    for position in range(order.shape[0]):
        i = order[position]
        if settled[i]:
            continue
        first = indptr[i]
        last = indptr[i + 1]
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
            theta[indices[at]] += change * data[at]
        theta[b] += change * constant
    return largest


@inner
def _row_times(
    data: ConstVector, indices: ConstIndices, first: cython.Py_ssize_t, last: cython.Py_ssize_t, theta: Vector
) -> cython.double:
    """Four sums side by side: each addition to a single one would wait for the one before."""
    a: cython.double = 0.0
    b: cython.double = 0.0
    c: cython.double = 0.0
    d: cython.double = 0.0
    at: cython.Py_ssize_t = first
    while at + 4 <= last:
        a += data[at] * theta[indices[at]]
        b += data[at + 1] * theta[indices[at + 1]]
        c += data[at + 2] * theta[indices[at + 2]]
        d += data[at + 3] * theta[indices[at + 3]]
        at += 4
    while at < last:
        a += data[at] * theta[indices[at]]
        at += 1
    return (a + b) + (c + d)
