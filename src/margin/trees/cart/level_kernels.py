"""What a node's rows sum to at every level of one column, compiled by Numba.

Many rows are added up in a table with one place per code; few rows are sorted by code instead. Both add the rows of
a level in the order in which they lie, so both give the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from margin.trees.cart.kernel_types import (
    COUNTS,
    LEVEL,
    LEVEL_ROWS,
    LEVEL_TOTAL,
    LEVEL_WEIGHT,
    PACKED,
    PACKED_SUMS,
    PLACES,
    TARGET,
    WEIGHT,
)

__all__ = ["classes_of_levels", "sort_keys", "span", "sums_of_levels", "value_ranges"]

INSERTION = 24  # rows up to which insertion beats Numba's quicksort
SPARSE = 4  # codes per row beyond which sorting beats clearing and scanning a table
POSITION = np.int64(0xFFFFFFFF)

# Only the outermost function is called from Python and kept on disk; the others need no way in. What runs once per node
# or column neither allocates nor counts references: two atomic additions per array and call cost more than the work
# on a small node.
INNER: Any = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
entry: Any = njit(cache=True, nogil=True, error_model="numpy")
inner: Any = njit(**INNER)
hot: Any = njit(**{**INNER, "_nrt": False})


@hot
def span(local, n, missing, may_miss):
    """Smallest and largest known code and the number of missing ones; the smallest exceeds the largest if all miss."""
    if not may_miss:
        low = local[0]
        high = local[0]
        for i in range(1, n):
            c = local[i]
            low = c if c < low else low
            high = c if c > high else high
        return np.int64(low), np.int64(high), 0
    smallest, largest, absent = np.int64(missing), np.int64(-1), 0
    for i in range(n):
        c = np.int64(local[i])
        if c == missing:
            absent += 1
        else:
            smallest = c if c < smallest else smallest
            largest = c if c > largest else largest
    return smallest, largest, absent


@hot
def sort_keys(keys, n, low, high, whole):
    """Sort ``keys[0, :n]``, code << 32 | position with ascending positions, by code; equal codes keep their order.

    Few keys by insertion, many by counting the bytes of ``code - low``, the least significant first.
    """
    if n <= INSERTION:
        for i in range(1, n):
            key = keys[0, i]
            j = i
            while j > 0 and keys[0, j - 1] > key:
                keys[0, j] = keys[0, j - 1]
                j -= 1
            keys[0, j] = key
        return
    shift = 0
    while (high - low) >> shift > 0:
        for digit in range(256):
            whole[PLACES, digit] = 0
        for i in range(n):
            whole[PLACES, (((keys[0, i] >> 32) - low) >> shift) & 255] += 1
        start = np.int64(0)
        for digit in range(256):
            count = whole[PLACES, digit]
            whole[PLACES, digit] = start
            start += count
        for i in range(n):
            at = (((keys[0, i] >> 32) - low) >> shift) & 255
            keys[1, whole[PLACES, at]] = keys[0, i]
            whole[PLACES, at] += 1
        for i in range(n):
            keys[0, i] = keys[1, i]
        shift += 8


@hot
def sums_of_levels(
    mode, count_rows, start, n, number, packed, low, high, absent, missing, local, keys, whole, real, sums
):
    """Weight, total and (if asked for) rows of every level that occurs; missing ones are the last level.

    Fills the rows LEVEL... of ``whole`` and ``real`` and returns how many levels there are.
    """
    if high - low + 1 > SPARSE * n or (n <= INSERTION // 2 and high - low > n):
        for i in range(n):
            keys[0, i] = (np.int64(local[i]) << 32) | i
        sort_keys(keys, n, low, missing if absent else high, whole)
        if mode == PACKED:
            return _sorted_packed(keys, n, start, packed, whole, real)
        return _sorted_sums(keys, n, start, number, whole, real)
    if mode == PACKED:
        m = _packed_table(local, n, start, packed, low, high, absent, missing, whole, real)
    else:
        m = _sums_table(local, n, start, number, low, high, absent, missing, sums, whole, real)
    if count_rows:
        for i in range(n):
            whole[COUNTS, local[i]] += 1
        for k in range(m):
            c = whole[LEVEL, k]
            whole[LEVEL_ROWS, k] = whole[COUNTS, c]
            whole[COUNTS, c] = 0
    return m


@hot
def _packed_table(local, n, start, packed, low, high, absent, missing, whole, real):
    for i in range(n):
        whole[PACKED_SUMS, local[i]] += packed[0, start + i]
    m = 0
    for step in range(high - low + 1 + (absent > 0)):
        c = low + step if step <= high - low else missing
        both = whole[PACKED_SUMS, c]
        whole[PACKED_SUMS, c] = 0
        whole[LEVEL, m] = c
        real[LEVEL_WEIGHT, m] = both >> 32
        real[LEVEL_TOTAL, m] = both & POSITION
        m += both != 0  # without a branch: an empty level is overwritten
    return m


@hot
def _sums_table(local, n, start, number, low, high, absent, missing, sums, whole, real):
    for i in range(n):
        c, w = 2 * np.int64(local[i]), number[WEIGHT, start + i]
        sums[c] += w
        sums[c + 1] += w * number[TARGET, start + i]
    m = 0
    for step in range(high - low + 1 + (absent > 0)):
        c = low + step if step <= high - low else missing
        w = sums[2 * c]
        whole[LEVEL, m] = c
        real[LEVEL_WEIGHT, m] = w
        real[LEVEL_TOTAL, m] = sums[2 * c + 1]
        sums[2 * c] = 0.0
        sums[2 * c + 1] = 0.0
        m += w != 0.0
    return m


@hot
def _sorted_packed(keys, n, start, packed, whole, real):
    m, last = -1, np.int64(-1)
    for i in range(n):
        code, both = keys[0, i] >> 32, packed[0, start + (keys[0, i] & POSITION)]
        if code != last:
            m += 1
            whole[LEVEL, m], whole[LEVEL_ROWS, m] = code, 0
            real[LEVEL_WEIGHT, m], real[LEVEL_TOTAL, m] = 0.0, 0.0
            last = code
        real[LEVEL_WEIGHT, m] += both >> 32
        real[LEVEL_TOTAL, m] += both & POSITION
        whole[LEVEL_ROWS, m] += 1
    return m + 1


@hot
def _sorted_sums(keys, n, start, number, whole, real):
    m, last = -1, np.int64(-1)
    for i in range(n):
        code, at = keys[0, i] >> 32, start + (keys[0, i] & POSITION)
        if code != last:
            m += 1
            whole[LEVEL, m], whole[LEVEL_ROWS, m] = code, 0
            real[LEVEL_WEIGHT, m], real[LEVEL_TOTAL, m] = 0.0, 0.0
            last = code
        real[LEVEL_WEIGHT, m] += number[WEIGHT, at]
        real[LEVEL_TOTAL, m] += number[WEIGHT, at] * number[TARGET, at]
        whole[LEVEL_ROWS, m] += 1
    return m + 1


@hot
def classes_of_levels(k, start, n, number, low, high, absent, missing, local, keys, whole, sums, found):
    """The weight of each of ``k`` classes (``found``), and the rows, of every level that occurs."""
    if (high - low + 1) * k <= SPARSE * n and (n > INSERTION // 2 or high - low <= n):
        return _classes_table(k, local, n, start, number, low, high, absent, missing, sums, whole, found)
    for i in range(n):
        keys[0, i] = (np.int64(local[i]) << 32) | i
    sort_keys(keys, n, low, missing if absent else high, whole)
    return _sorted_classes(k, keys, n, start, number, whole, found)


@hot
def _classes_table(k, local, n, start, number, low, high, absent, missing, sums, whole, found):
    for i in range(n):
        c = np.int64(local[i])
        sums[c * k + np.int64(number[TARGET, start + i])] += number[WEIGHT, start + i]
        whole[COUNTS, c] += 1
    m = 0
    for step in range(high - low + 1 + (absent > 0)):
        c = low + step if step <= high - low else missing
        whole[LEVEL, m] = c
        whole[LEVEL_ROWS, m] = whole[COUNTS, c]
        if whole[COUNTS, c] != 0:
            for q in range(k):
                found[m * k + q] = sums[c * k + q]
                sums[c * k + q] = 0.0
            m += 1
        whole[COUNTS, c] = 0
    return m


@hot
def _sorted_classes(k, keys, n, start, number, whole, found):
    m, last = -1, np.int64(-1)
    for i in range(n):
        code, at = keys[0, i] >> 32, start + (keys[0, i] & POSITION)
        if code != last:
            m += 1
            whole[LEVEL, m], whole[LEVEL_ROWS, m] = code, 0
            for q in range(k):
                found[m * k + q] = 0.0
            last = code
        found[m * k + np.int64(number[TARGET, at])] += number[WEIGHT, at]
        whole[LEVEL_ROWS, m] += 1
    return m + 1


@entry
def value_ranges(X, codes, offsets, ranges):
    """The smallest and the largest value of every code, missing ones left out."""
    n, p = X.shape
    for start in range(0, n, 512):
        for j in range(p):
            first = offsets[j]
            for i in range(start, min(n, start + 512)):
                x = X[i, j]
                if not np.isnan(x):
                    at = first + codes[j, i]
                    ranges[0, at] = x if x < ranges[0, at] else ranges[0, at]
                    ranges[1, at] = x if x > ranges[1, at] else ranges[1, at]
