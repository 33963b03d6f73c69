"""Codes of values, and the range of values of every code; see :mod:`margin.trees.binning`."""

from __future__ import annotations

import cython

from margin.core.kernel_source import (
    ByteMatrix,
    ConstByteMatrix,
    ConstBytes,
    ConstIntegers,
    ConstMatrix,
    Matrix,
    inner,
    kernel,
)

__all__ = ["fill_codes_by_column", "fill_codes_by_row", "value_ranges"]

BLOCK_ROWS = 512  # rows per step: one block of X and one row of edges stay in the first-level cache
MISSING_CODE = 255
NO_EDGE = float("inf")


@inner
def _code(x: cython.double, table: ConstMatrix, j: cython.Py_ssize_t, is_category: cython.bint) -> cython.uchar:
    # Eight halvings of a table of 256 with no branch: infinity fills the end, so the position stays within it.
    at: cython.Py_ssize_t = (table[j, 127] < x) << 7
    at += (table[j, at + 63] < x) << 6
    at += (table[j, at + 31] < x) << 5
    at += (table[j, at + 15] < x) << 4
    at += (table[j, at + 7] < x) << 3
    at += (table[j, at + 3] < x) << 2
    at += (table[j, at + 1] < x) << 1
    at += table[j, at] < x
    if x != x or (is_category and table[j, at] != x):
        return MISSING_CODE
    return at


@kernel
def fill_codes_by_column(
    X: ConstMatrix,
    table: ConstMatrix,
    categorical: ConstBytes,
    codes: ByteMatrix,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.void:
    """Codes (p, n) of rows ``first`` to ``last`` of X (n, p): columns together."""
    low: cython.Py_ssize_t = first
    while low < last:
        high = min(low + BLOCK_ROWS, last)
        for j in range(X.shape[1]):
            if table[j, 1] == NO_EDGE and not categorical[j]:  # where there is one edge, one comparison is enough
                edge = table[j, 0]
                for i in range(low, high):
                    codes[j, i] = MISSING_CODE if X[i, j] != X[i, j] else X[i, j] > edge
            else:
                for i in range(low, high):
                    codes[j, i] = _code(X[i, j], table, j, categorical[j])
        low = high


@kernel
def fill_codes_by_row(
    X: ConstMatrix,
    table: ConstMatrix,
    categorical: ConstBytes,
    codes: ByteMatrix,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.void:
    """Codes (n, p) of rows ``first`` to ``last`` of X (n, p): rows together."""
    low: cython.Py_ssize_t = first
    while low < last:
        high = min(low + BLOCK_ROWS, last)
        for j in range(X.shape[1]):
            if table[j, 1] == NO_EDGE and not categorical[j]:
                edge = table[j, 0]
                for i in range(low, high):
                    codes[i, j] = MISSING_CODE if X[i, j] != X[i, j] else X[i, j] > edge
            else:
                for i in range(low, high):
                    codes[i, j] = _code(X[i, j], table, j, categorical[j])
        low = high


@kernel
def value_ranges(X: ConstMatrix, codes: ConstByteMatrix, offsets: ConstIntegers, ranges: Matrix) -> cython.void:
    """The smallest and the largest value of every code, missing ones left out."""
    low: cython.Py_ssize_t = 0
    while low < X.shape[0]:
        high = min(low + BLOCK_ROWS, X.shape[0])
        for j in range(X.shape[1]):
            for i in range(low, high):
                x = X[i, j]
                if x == x:
                    at = offsets[j] + codes[j, i]
                    ranges[0, at] = x if x < ranges[0, at] else ranges[0, at]
                    ranges[1, at] = x if x > ranges[1, at] else ranges[1, at]
        low = high
