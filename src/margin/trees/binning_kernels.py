"""Codes of many values compiled by Numba: the same as :func:`margin.trees.binning._codes` gives."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import cached_kernel, inner_kernel

__all__ = ["fill_codes_by_column", "fill_codes_by_row", "value_ranges"]

BLOCK = 512  # rows per step: one block of X and one row of edges stay in the first-level cache
MISSING = np.uint8(255)


@inner_kernel
def _code(x, edges, is_category):
    # Eight halvings of a table of 256 with no branch: infinity fills the end, so the position stays within it.
    at = 0
    half = 128
    while half > 0:
        at += half if edges[at + half - 1] < x else 0
        half >>= 1
    if x != x or (is_category and edges[at] != x):
        return MISSING
    return np.uint8(at)


@cached_kernel
def fill_codes_by_column(X, table, categorical, codes, first, last):
    """Codes (p, n) of rows ``first`` to ``last`` of X (n, p): columns together."""
    for low in range(first, last, BLOCK):
        high = low + BLOCK if low + BLOCK < last else last
        for j in range(X.shape[1]):
            if table[j, 1] == np.inf and not categorical[j]:  # where there is one edge, one comparison is enough
                edge = table[j, 0]
                for i in range(low, high):
                    codes[j, i] = MISSING if X[i, j] != X[i, j] else np.uint8(X[i, j] > edge)
            else:
                for i in range(low, high):
                    codes[j, i] = _code(X[i, j], table[j], categorical[j])


@cached_kernel
def fill_codes_by_row(X, table, categorical, codes, first, last):
    """Codes (n, p) of rows ``first`` to ``last`` of X (n, p): rows together."""
    for low in range(first, last, BLOCK):
        high = low + BLOCK if low + BLOCK < last else last
        for j in range(X.shape[1]):
            if table[j, 1] == np.inf and not categorical[j]:
                edge = table[j, 0]
                for i in range(low, high):
                    codes[i, j] = MISSING if X[i, j] != X[i, j] else np.uint8(X[i, j] > edge)
            else:
                for i in range(low, high):
                    codes[i, j] = _code(X[i, j], table[j], categorical[j])


@cached_kernel
def value_ranges(X, codes, offsets, ranges):
    """The smallest and the largest value of every code, missing ones left out."""
    n, p = X.shape
    for start in range(0, n, 512):
        for j in range(p):
            first = offsets[j]
            for i in range(start, n if n < start + 512 else start + 512):
                x = X[i, j]
                if x == x:
                    at = first + codes[j, i]
                    ranges[0, at] = x if x < ranges[0, at] else ranges[0, at]
                    ranges[1, at] = x if x > ranges[1, at] else ranges[1, at]
