"""One pass of coordinate descent for the machine of all classes at once, compiled by Numba."""

from __future__ import annotations

from margin.core.cached_kernels import cached_kernel

__all__ = ["sweep"]


@cached_kernel
def sweep(data, indices, indptr, order, codes, bounds, squares, W, alpha, score, pull):
    """Minimize over the coefficients of one row after the other, in place; see ``crammer_singer.sweep_reference``.

    Rows are in compressed form; ``score`` and ``pull`` (classes,) are memory to work in.
    """
    classes = W.shape[1]
    for position in range(order.shape[0]):
        i = order[position]
        square, own, bound = squares[i], codes[i], bounds[i]
        if square == 0.0:
            continue
        for m in range(classes):
            score[m] = 0.0 if m == own else 1.0
        for at in range(indptr[i], indptr[i + 1]):
            x, j = data[at], indices[at]
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
            x, j = data[at], indices[at]
            for m in range(classes):
                W[j, m] += x * score[m]
