"""Sums over the rows of each class.

Every row is added to what is there, in the order of the table. A table read in chunks therefore leaves exactly the bits
that it leaves when read at once, which sums of sums would not.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import (
    ConstIndices,
    ConstIntegers,
    ConstMatrix,
    ConstVector,
    Matrix,
    Vector,
    kernel,
)

__all__ = ["add_deviations", "add_rows", "add_sparse_rows"]


@kernel
def add_deviations(
    X: ConstMatrix, codes: ConstIntegers, weights: ConstVector, total: Vector, mean: Matrix, scatter: Matrix
) -> cython.void:
    """Welford's update of weight (classes,), mean and summed squared deviations (classes, d), in place."""
    for i in range(X.shape[0]):
        w = weights[i]
        c = codes[i]
        if w == 0:
            continue
        total[c] += w
        fraction = w / total[c]
        for j in range(X.shape[1]):
            gap = X[i, j] - mean[c, j]
            moved = mean[c, j] + fraction * gap
            scatter[c, j] += w * gap * (X[i, j] - moved)
            mean[c, j] = moved


@kernel
def add_rows(X: ConstMatrix, codes: ConstIntegers, weights: ConstVector, sums: Matrix) -> cython.void:
    """Weighted sums of the rows of each class (classes, d), in place."""
    for i in range(X.shape[0]):
        w = weights[i]
        c = codes[i]
        for j in range(X.shape[1]):
            sums[c, j] += w * X[i, j]


@kernel
def add_sparse_rows(
    data: ConstVector,
    indices: ConstIndices,
    indptr: ConstIndices,
    codes: ConstIntegers,
    weights: ConstVector,
    sums: Matrix,
) -> cython.void:
    """The same for rows in compressed form."""
    for i in range(codes.shape[0]):
        w = weights[i]
        c = codes[i]
        for position in range(indptr[i], indptr[i + 1]):
            sums[c, indices[position]] += w * data[position]
