"""Walking rows down a tree, compiled by Numba: the same leaves as :func:`margin.trees.structure.apply` finds.

The threshold of a question about categories is NaN here, so that the two comparisons of the common case let it through.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["walk", "walk_and_add"]


@njit(cache=True, error_model="numpy", nogil=True)
def walk(X, feature, threshold, left, right, missing_left, category_row, category_set, leaves):
    """The leaf of every row."""
    for i in range(X.shape[0]):
        at = np.uint32(0)  # unsigned: no index counts from the end
        column = feature[at]
        while column >= 0:
            x, t = X[i, np.uint32(column)], threshold[at]
            if x <= t:
                at = np.uint32(left[at])
            elif x > t:
                at = np.uint32(right[at])
            else:  # a missing value or a question about categories
                go_left = missing_left[at]
                if not np.isnan(x):
                    code = int(x)
                    go_left = (category_set[category_row[at], code >> 3] >> (code & 7)) & 1 == 1
                at = np.uint32(left[at] if go_left else right[at])
            column = feature[at]
        leaves[i] = at


@njit(cache=True, error_model="numpy", nogil=True)
def walk_and_add(X, feature, threshold, left, right, missing_left, category_row, category_set, leaves, value, total):
    """Add the value of every row's leaf to ``total``; ``leaves`` is overwritten."""
    walk(X, feature, threshold, left, right, missing_left, category_row, category_set, leaves)
    for i in range(X.shape[0]):
        for k in range(value.shape[1]):
            total[i, k] += value[leaves[i], k]
