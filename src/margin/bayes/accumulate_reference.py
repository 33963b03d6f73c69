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
    """Welford's update of weight (classes,), mean and summed squared deviations (classes, d), in place.

    The first rows of all classes are added at once, then the second ones, and so on: classes do not touch each other,
    so every sum still goes through its own rows in their order.
    """
    order = np.argsort(codes, kind="stable")
    order = order[weights[order] != 0]
    counts = np.bincount(codes[order], minlength=len(total))
    starts = np.cumsum(counts) - counts
    largest_first = np.argsort(-counts, kind="stable")
    longer = np.searchsorted(-counts[largest_first], -np.arange(counts.max(initial=0)), side="left")
    for step, active in enumerate(longer):
        c = largest_first[:active]  # the classes that have more than ``step`` rows
        rows = order[starts[c] + step]
        x, w, m = X[rows], weights[rows], mean[c]
        total[c] += w
        gap = x - m
        moved = m + (w / total[c])[:, None] * gap
        scatter[c] += w[:, None] * gap * (x - moved)
        mean[c] = moved


def add_rows(X: np.ndarray, codes: np.ndarray, weights: np.ndarray, sums: np.ndarray) -> None:
    """Weighted sums of the rows of each class (classes, d), in place."""
    np.add.at(sums, codes, weights[:, None] * X)  # one row after the other


def add_sparse_rows(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, codes: np.ndarray, weights: np.ndarray, sums: np.ndarray
) -> None:
    """The same for rows in compressed form."""
    rows = np.repeat(np.arange(len(codes)), np.diff(indptr))
    np.add.at(sums.reshape(-1), codes[rows] * sums.shape[1] + indices, weights[rows] * data)
