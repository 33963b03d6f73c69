"""Walking many rows down a tree, compiled by Numba: the same leaves as :func:`margin.trees.structure.apply`."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

__all__ = ["walk", "walk_and_add", "walk_few"]

BLOCK = 512  # rows per task


@njit(cache=True)
def _leaf_of(row, feature, threshold, left, right, missing_left, category_row, category_set):
    node = np.int32(0)
    while feature[node] >= 0:
        x = row[feature[node]]
        if np.isnan(x):
            go_left = missing_left[node]
        elif category_row[node] >= 0:
            code = int(x)
            go_left = (category_set[category_row[node], code >> 3] >> (code & 7)) & 1 == 1
        else:
            go_left = x <= threshold[node]
        node = left[node] if go_left else right[node]
    return node


@njit(cache=True)
def walk_few(X, feature, threshold, left, right, missing_left, category_row, category_set, leaves):
    """The leaf of every row, by one thread."""
    for i in range(X.shape[0]):
        leaves[i] = _leaf_of(X[i], feature, threshold, left, right, missing_left, category_row, category_set)


@njit(cache=True, parallel=True)
def walk(X, feature, threshold, left, right, missing_left, category_row, category_set, leaves):
    """The leaf of every row."""
    n = X.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        for i in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
            leaves[i] = _leaf_of(X[i], feature, threshold, left, right, missing_left, category_row, category_set)


@njit(cache=True, parallel=True)
def walk_and_add(X, feature, threshold, left, right, missing_left, category_row, category_set, value, total):
    """Add the value of every row's leaf to ``total``."""
    n = X.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        for i in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
            node = _leaf_of(X[i], feature, threshold, left, right, missing_left, category_row, category_set)
            for k in range(value.shape[1]):
                total[i, k] += value[node, k]
