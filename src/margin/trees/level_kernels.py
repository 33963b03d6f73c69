"""What a node's rows sum to at every level of one column, compiled by Numba.

Many rows are added up in a table with one place per code; few rows are sorted by code instead. Both add the rows of
a level in the order in which they lie, so both give the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from margin.trees.kernel_types import (
    COUNTS,
    LEVEL,
    LEVEL_ROWS,
    LEVEL_TOTAL,
    LEVEL_WEIGHT,
    PACKED,
    PACKED_SUMS,
    TARGET,
    WEIGHT,
)

__all__ = ["classes_of_levels", "packed_sides", "sort_keys", "span", "sums_of_levels", "value_ranges"]

INSERTION = 24  # rows up to which insertion beats Numba's quicksort
SPARSE = 16  # codes per row beyond which sorting beats clearing and scanning a table
POSITION = np.int64(0xFFFFFFFF)

# Only the outermost function is called from Python and kept on disk; the others need no way in. Functions with one
# caller are inlined before they are compiled, else each would be compiled again with everything below it.
INNER: Any = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
entry: Any = njit(cache=True, nogil=True, error_model="numpy")
inner: Any = njit(**INNER)
inlined: Any = njit(inline="always", **INNER)


@inner
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


@inner
def sort_keys(keys, n):
    """Sort ``keys[:n]`` by merging runs of doubling length, the first ones sorted by insertion."""
    for start in range(0, n, INSERTION):
        for i in range(start + 1, min(n, start + INSERTION)):
            key = keys[i]
            j = i
            while j > start and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key
    if n <= INSERTION:
        return
    spare = np.empty(n, dtype=np.int64)
    width = INSERTION
    while width < n:
        for start in range(0, n, 2 * width):
            a, middle, stop = start, min(n, start + width), min(n, start + 2 * width)
            b = middle
            for k in range(start, stop):
                if a < middle and (b >= stop or keys[a] <= keys[b]):
                    spare[k] = keys[a]
                    a += 1
                else:
                    spare[k] = keys[b]
                    b += 1
        for k in range(n):
            keys[k] = spare[k]
        width *= 2


@inner
def sums_of_levels(mode, count_rows, node, rows, low, high, absent, missing, work):
    """Weight, total and (if asked for) rows of every level that occurs; missing ones are the last level.

    Fills the rows LEVEL... of ``work`` and returns how many levels there are.
    """
    n, start = node.stop - node.start, node.start
    level, weights, totals = work.whole[LEVEL], work.real[LEVEL_WEIGHT], work.real[LEVEL_TOTAL]
    level_rows, counts = work.whole[LEVEL_ROWS], work.whole[COUNTS]
    sparse = high - low + 1 > SPARSE * n or (n <= INSERTION // 2 and high - low > n)
    if sparse:
        for i in range(n):
            work.keys[i] = (np.int64(work.local[i]) << 32) | i
        sort_keys(work.keys, n)
        if mode == PACKED:
            return _sorted_packed(work.keys, n, start, rows.packed[0], level, weights, totals, level_rows)
        return _sorted_sums(work.keys, n, start, rows.number, level, weights, totals, level_rows)
    if mode == PACKED:
        table = work.whole[PACKED_SUMS]
        m = _packed_table(
            work.local, n, start, rows.packed[0], low, high, absent, missing, table, level, weights, totals
        )
    else:
        m = _sums_table(
            work.local, n, start, rows.number, low, high, absent, missing, work.sums, level, weights, totals
        )
    if count_rows:
        for i in range(n):
            counts[work.local[i]] += 1
        for k in range(m):
            level_rows[k] = counts[level[k]]
            counts[level[k]] = 0
    return m


@inner
def packed_sides(local, n, start, packed, cut, level, weights, totals):
    """Two levels: codes up to ``cut`` and those above."""
    left = whole = np.int64(0)
    for i in range(n):
        both = packed[start + i]
        whole += both
        left += both if local[i] <= cut else 0
    level[0], level[1] = 0, 1
    weights[0], totals[0] = left >> 32, left & POSITION
    weights[1], totals[1] = (whole - left) >> 32, (whole - left) & POSITION
    return 2


@inner
def _packed_table(local, n, start, packed, low, high, absent, missing, table, level, weights, totals):
    for i in range(n):
        table[local[i]] += packed[start + i]
    m = 0
    for step in range(high - low + 1 + (absent > 0)):
        c = low + step if step <= high - low else missing
        both = table[c]
        table[c] = 0
        level[m] = c
        weights[m] = both >> 32
        totals[m] = both & POSITION
        m += both != 0  # without a branch: an empty level is overwritten
    return m


@inner
def _sums_table(local, n, start, number, low, high, absent, missing, sums, level, weights, totals):
    for i in range(n):
        c, w = 2 * np.int64(local[i]), number[WEIGHT, start + i]
        sums[c] += w
        sums[c + 1] += w * number[TARGET, start + i]
    m = 0
    for step in range(high - low + 1 + (absent > 0)):
        c = low + step if step <= high - low else missing
        w = sums[2 * c]
        level[m] = c
        weights[m] = w
        totals[m] = sums[2 * c + 1]
        sums[2 * c] = 0.0
        sums[2 * c + 1] = 0.0
        m += w != 0.0
    return m


@inner
def _sorted_packed(keys, n, start, packed, level, weights, totals, level_rows):
    m, last = -1, np.int64(-1)
    for i in range(n):
        code, both = keys[i] >> 32, packed[start + (keys[i] & POSITION)]
        if code != last:
            m += 1
            level[m], weights[m], totals[m], level_rows[m] = code, 0.0, 0.0, 0
            last = code
        weights[m] += both >> 32
        totals[m] += both & POSITION
        level_rows[m] += 1
    return m + 1


@inner
def _sorted_sums(keys, n, start, number, level, weights, totals, level_rows):
    m, last = -1, np.int64(-1)
    for i in range(n):
        code, at = keys[i] >> 32, start + (keys[i] & POSITION)
        if code != last:
            m += 1
            level[m], weights[m], totals[m], level_rows[m] = code, 0.0, 0.0, 0
            last = code
        weights[m] += number[WEIGHT, at]
        totals[m] += number[WEIGHT, at] * number[TARGET, at]
        level_rows[m] += 1
    return m + 1


@inner
def classes_of_levels(k, node, rows, low, high, absent, missing, work):
    """The weight of each of ``k`` classes (``work.level_classes``), and the rows, of every level that occurs."""
    n, start = node.stop - node.start, node.start
    if (high - low + 1) * k <= SPARSE * n and (n > INSERTION // 2 or high - low <= n):
        return _classes_table(
            k, work.local, n, start, rows.number, low, high, absent, missing, work.sums, work.whole, work.level_classes
        )
    for i in range(n):
        work.keys[i] = (np.int64(work.local[i]) << 32) | i
    sort_keys(work.keys, n)
    return _sorted_classes(k, work.keys, n, start, rows.number, work.whole, work.level_classes)


@inner
def _classes_table(k, local, n, start, number, low, high, absent, missing, sums, whole, found):
    counts = whole[COUNTS]
    for i in range(n):
        c = np.int64(local[i])
        sums[c * k + np.int64(number[TARGET, start + i])] += number[WEIGHT, start + i]
        counts[c] += 1
    m = 0
    for step in range(high - low + 1 + (absent > 0)):
        c = low + step if step <= high - low else missing
        whole[LEVEL, m] = c
        whole[LEVEL_ROWS, m] = counts[c]
        if counts[c] != 0:
            for q in range(k):
                found[m * k + q] = sums[c * k + q]
                sums[c * k + q] = 0.0
            m += 1
        counts[c] = 0
    return m


@inner
def _sorted_classes(k, keys, n, start, number, whole, found):
    m, last = -1, np.int64(-1)
    for i in range(n):
        code, at = keys[i] >> 32, start + (keys[i] & POSITION)
        if code != last:
            m += 1
            whole[LEVEL, m] = code
            whole[LEVEL_ROWS, m] = 0
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
