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


@njit(cache=True, parallel=True)
def fill_codes_by_column(X, table, categorical, codes):
    """Codes (p, n) of X (n, p): columns together."""
    n, p = X.shape
    for block in prange((n + BLOCK - 1) // BLOCK):
        for j in range(p):
            edges = table[j]
            for i in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
                codes[j, i] = _code(X[i, j], edges, categorical[j])


@njit(cache=True, parallel=True)
def fill_codes_by_row(X, table, categorical, codes):
    """Codes (n, p) of X (n, p): rows together."""
    n, p = X.shape
    for block in prange((n + BLOCK - 1) // BLOCK):
        for j in range(p):
            edges = table[j]
            for i in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
                codes[i, j] = _code(X[i, j], edges, categorical[j])
