"""One pass of coordinate descent for the machine of all classes at once, compiled."""

from __future__ import annotations

import cython

from margin.core.kernel_source import ConstIndices, ConstIntegers, ConstVector, Matrix, Vector, kernel

__all__ = ["sweep_rows"]


@kernel
def sweep_rows(
    data: ConstVector,
    indices: ConstIndices,
    indptr: ConstIndices,
    order: ConstIntegers,
    codes: ConstIntegers,
    bounds: ConstVector,
    squares: ConstVector,
    W: Matrix,
    alpha: Matrix,
    score: Vector,
    pull: Vector,
) -> cython.void:
    """Minimize over the coefficients of one row after the other, in place.

    Rows are in compressed form; ``score`` and ``pull`` (classes,) are memory to work in.
    """
    classes = W.shape[1]
    level: cython.double
    new: cython.double
    k: cython.Py_ssize_t
    count: cython.Py_ssize_t
    for position in range(order.shape[0]):
        i = order[position]
        square = squares[i]
        own = codes[i]
        bound = bounds[i]
        if square == 0.0:
            continue
        for m in range(classes):
            score[m] = 0.0 if m == own else 1.0
        for at in range(indptr[i], indptr[i + 1]):
            x = data[at]
            j = indices[at]
            for m in range(classes):
                score[m] += x * W[j, m]
        for m in range(classes):
            score[m] -= square * alpha[i, m]
            pull[m] = score[m] + (square * bound if m == own else 0.0)
        for m in range(1, classes):  # falling, by insertion: classes are few
            value = pull[m]
            k = m
            while k > 0 and pull[k - 1] < value:
                pull[k] = pull[k - 1]
                k -= 1
            pull[k] = value
        level = pull[0] - square * bound
        count = 1
        while count < classes and level < count * pull[count]:
            level += pull[count]
            count += 1
        level /= count
        for m in range(classes):
            limit = bound if m == own else 0.0
            new = (level - score[m]) / square
            new = limit if new > limit else new
            score[m] = new - alpha[i, m]  # from here on the change
            alpha[i, m] = new
        for at in range(indptr[i], indptr[i + 1]):
            x = data[at]
            j = indices[at]
            for m in range(classes):
                W[j, m] += x * score[m]
