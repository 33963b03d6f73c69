"""Codes of many values compiled by Numba: the same as :func:`margin.trees.binning._codes` gives."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

__all__ = ["fill_codes_by_column", "fill_codes_by_row"]

BLOCK = 512  # rows per task: one block of X and one row of edges stay in the first-level cache
MISSING = np.uint8(255)


@njit(cache=True)
def _code(x, edges, is_category):
    # Eight halvings of a table of 256 with no branch: infinity fills the end, so the position stays within it.
    at = 0
    half = 128
    while half > 0:
        at += half if edges[at + half - 1] < x else 0
        half >>= 1
    if np.isnan(x) or (is_category and edges[at] != x):
        return MISSING
    return np.uint8(at)


@njit(cache=True)
def _fill(x, edges, is_category, codes):
    """Codes of some values of one column; where there is one edge, one comparison is enough."""
    if edges[1] == np.inf and not is_category:
        edge = edges[0]
        for i in range(x.size):
            codes[i] = MISSING if np.isnan(x[i]) else np.uint8(x[i] > edge)
    else:
        for i in range(x.size):
            codes[i] = _code(x[i], edges, is_category)


@njit(cache=True, parallel=True)
def fill_codes_by_column(X, table, categorical, codes):
    """Codes (p, n) of X (n, p): columns together."""
    n, p = X.shape
    for block in prange((n + BLOCK - 1) // BLOCK):
        low, high = block * BLOCK, min(n, (block + 1) * BLOCK)
        for j in range(p):
            _fill(X[low:high, j], table[j], categorical[j], codes[j, low:high])


@njit(cache=True, parallel=True)
def fill_codes_by_row(X, table, categorical, codes):
    """Codes (n, p) of X (n, p): rows together."""
    n, p = X.shape
    for block in prange((n + BLOCK - 1) // BLOCK):
        low, high = block * BLOCK, min(n, (block + 1) * BLOCK)
        for j in range(p):
            _fill(X[low:high, j], table[j], categorical[j], codes[low:high, j])
