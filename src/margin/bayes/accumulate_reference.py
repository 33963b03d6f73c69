"""Sums over the rows of each class, row after row: for small tables, and the twin of the compiled loops.

Every row is added to what is there, in the order of the table. A table read in chunks therefore leaves exactly the bits
that it leaves when read at once, which sums of sums would not.
"""

from __future__ import annotations

import numpy as np

__all__ = ["add_deviations", "add_rows", "add_sparse_rows"]


def add_deviations(
    X: np.ndarray, codes: np.ndarray, weights: np.ndarray, total: np.ndarray, mean: np.ndarray, scatter: np.ndarray
) -> None:
    """Welford's update of weight (classes,), mean and summed squared deviations (classes, d), in place."""
    for x, c, w in zip(X, codes, weights):
        if w == 0:
            continue
        total[c] += w
        gap = x - mean[c]
        mean[c] += (w / total[c]) * gap
        scatter[c] += w * gap * (x - mean[c])


def add_rows(X: np.ndarray, codes: np.ndarray, weights: np.ndarray, sums: np.ndarray) -> None:
    """Weighted sums of the rows of each class (classes, d), in place."""
    for x, c, w in zip(X, codes, weights):
        sums[c] += w * x


def add_sparse_rows(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, codes: np.ndarray, weights: np.ndarray, sums: np.ndarray
) -> None:
    """The same for rows in compressed form."""
    rows = np.repeat(np.arange(len(codes)), np.diff(indptr))
    np.add.at(sums.reshape(-1), codes[rows] * sums.shape[1] + indices, weights[rows] * data)
