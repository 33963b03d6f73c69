"""What the rows of a node with the same code of one column (a group) sum to, compiled by Numba.

Many rows are added up in a table with one entry per code; few rows are sorted by code instead. Both add the rows of
a group in the order in which they lie, so both give the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from margin.trees.cart.kernel_types import (
    DIGIT_STARTS,
    GROUP_CODES,
    GROUP_ROWS,
    GROUP_TOTALS,
    GROUP_WEIGHTS,
    PACKED_GINI,
    PACKED_SUMS,
    ROW_COUNTS,
    TARGETS,
    WEIGHTS,
)

__all__ = [
    "allocating_kernel",
    "entry_kernel",
    "inner_kernel",
    "sort_keys",
    "span",
    "sum_group_classes",
    "sum_groups",
    "value_ranges",
]

INSERTION = 24  # rows up to which insertion beats Numba's quicksort
SPARSE = 4  # codes per row beyond which sorting beats clearing and scanning a table
POSITION = np.int64(0xFFFFFFFF)

# Only the outermost function is called from Python and cached on disk; the others need no way in. What runs once per
# node or column neither allocates nor counts references: two atomic additions per array and call cost more than the
# work on a small node.
INNER: Any = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
entry_kernel: Any = njit(cache=True, nogil=True, error_model="numpy")
allocating_kernel: Any = njit(**INNER)
inner_kernel: Any = njit(**{**INNER, "_nrt": False})


@inner_kernel
def span(node_codes, n, missing, may_miss):
    """Smallest and largest known code and how many are missing; the smallest exceeds the largest if all miss."""
    if not may_miss:
        low = node_codes[0]
        high = node_codes[0]
        for i in range(1, n):
            c = node_codes[i]
            low = c if c < low else low
            high = c if c > high else high
        return np.int64(low), np.int64(high), 0
    smallest, largest, absent = np.int64(missing), np.int64(-1), 0
    for i in range(n):
        c = np.int64(node_codes[i])
        if c == missing:
            absent += 1
        else:
            smallest = c if c < smallest else smallest
            largest = c if c > largest else largest
    return smallest, largest, absent


@inner_kernel
def sort_keys(keys, n, low, high, group_integers):
    """Sort ``keys[0, :n]``, code << 32 | position with ascending positions, by code; equal codes keep their order.

    Few keys by insertion, many by counting the bytes of ``code - low``, the least significant first.
    """
    digit_starts = group_integers[DIGIT_STARTS]
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
            digit_starts[digit] = 0
        for i in range(n):
            digit_starts[(((keys[0, i] >> 32) - low) >> shift) & 255] += 1
        start = np.int64(0)
        for digit in range(256):
            count = digit_starts[digit]
            digit_starts[digit] = start
            start += count
        for i in range(n):
            at = (((keys[0, i] >> 32) - low) >> shift) & 255
            keys[1, digit_starts[at]] = keys[0, i]
            digit_starts[at] += 1
        for i in range(n):
            keys[0, i] = keys[1, i]
        shift += 8


@inner_kernel
def sum_groups(
    mode,
    count_rows,
    start,
    n,
    row_numbers,
    packed,
    low,
    high,
    absent,
    missing,
    node_codes,
    keys,
    group_integers,
    group_numbers,
    sums,
):
    """Weight, total and (if asked for) rows of every group that occurs; missing ones are the last group.

    Fills the rows GROUP_* of ``group_integers`` and ``group_numbers`` and returns how many groups there are.
    """
    group_codes = group_integers[GROUP_CODES]
    group_rows = group_integers[GROUP_ROWS]
    row_counts = group_integers[ROW_COUNTS]
    if high - low + 1 > SPARSE * n or (n <= INSERTION // 2 and high - low > n):
        for i in range(n):
            keys[0, i] = (np.int64(node_codes[i]) << 32) | i
        sort_keys(keys, n, low, missing if absent else high, group_integers)
        if mode == PACKED_GINI:
            return _sorted_packed(keys, n, start, packed, group_integers, group_numbers)
        return _sorted_sums(keys, n, start, row_numbers, group_integers, group_numbers)
    if mode == PACKED_GINI:
        groups = _table_of_packed(
            node_codes, n, start, packed, low, high, absent, missing, group_integers, group_numbers
        )
    else:
        groups = _table_of_sums(
            node_codes, n, start, row_numbers, low, high, absent, missing, sums, group_integers, group_numbers
        )
    if count_rows:
        for i in range(n):
            row_counts[node_codes[i]] += 1
        for k in range(groups):
            c = group_codes[k]
            group_rows[k] = row_counts[c]
            row_counts[c] = 0
    return groups


@inner_kernel
def _table_of_packed(node_codes, n, start, packed, low, high, absent, missing, group_integers, group_numbers):
    group_codes = group_integers[GROUP_CODES]
    packed_sums = group_integers[PACKED_SUMS]
    group_totals = group_numbers[GROUP_TOTALS]
    group_weights = group_numbers[GROUP_WEIGHTS]
    for i in range(n):
        packed_sums[node_codes[i]] += packed[0, start + i]
    groups = 0
    for step in range(high - low + 1 + (absent > 0)):
        c = low + step if step <= high - low else missing
        both = packed_sums[c]
        packed_sums[c] = 0
        group_codes[groups] = c
        group_weights[groups] = both >> 32
        group_totals[groups] = both & POSITION
        groups += both != 0  # without a branch: an empty group is overwritten
    return groups


@inner_kernel
def _table_of_sums(node_codes, n, start, row_numbers, low, high, absent, missing, sums, group_integers, group_numbers):
    targets = row_numbers[TARGETS]
    weights = row_numbers[WEIGHTS]
    group_codes = group_integers[GROUP_CODES]
    group_totals = group_numbers[GROUP_TOTALS]
    group_weights = group_numbers[GROUP_WEIGHTS]
    for i in range(n):
        c, w = 2 * np.int64(node_codes[i]), weights[start + i]
        sums[c] += w
        sums[c + 1] += w * targets[start + i]
    groups = 0
    for step in range(high - low + 1 + (absent > 0)):
        c = low + step if step <= high - low else missing
        w = sums[2 * c]
        group_codes[groups] = c
        group_weights[groups] = w
        group_totals[groups] = sums[2 * c + 1]
        sums[2 * c] = 0.0
        sums[2 * c + 1] = 0.0
        groups += w != 0.0
    return groups


@inner_kernel
def _sorted_packed(keys, n, start, packed, group_integers, group_numbers):
    group_codes = group_integers[GROUP_CODES]
    group_rows = group_integers[GROUP_ROWS]
    group_totals = group_numbers[GROUP_TOTALS]
    group_weights = group_numbers[GROUP_WEIGHTS]
    groups, last = -1, np.int64(-1)
    for i in range(n):
        code, both = keys[0, i] >> 32, packed[0, start + (keys[0, i] & POSITION)]
        if code != last:
            groups += 1
            group_codes[groups], group_rows[groups] = code, 0
            group_weights[groups], group_totals[groups] = 0.0, 0.0
            last = code
        group_weights[groups] += both >> 32
        group_totals[groups] += both & POSITION
        group_rows[groups] += 1
    return groups + 1


@inner_kernel
def _sorted_sums(keys, n, start, row_numbers, group_integers, group_numbers):
    group_codes = group_integers[GROUP_CODES]
    group_rows = group_integers[GROUP_ROWS]
    group_totals = group_numbers[GROUP_TOTALS]
    group_weights = group_numbers[GROUP_WEIGHTS]
    targets = row_numbers[TARGETS]
    weights = row_numbers[WEIGHTS]
    groups, last = -1, np.int64(-1)
    for i in range(n):
        code, at = keys[0, i] >> 32, start + (keys[0, i] & POSITION)
        if code != last:
            groups += 1
            group_codes[groups], group_rows[groups] = code, 0
            group_weights[groups], group_totals[groups] = 0.0, 0.0
            last = code
        group_weights[groups] += weights[at]
        group_totals[groups] += weights[at] * targets[at]
        group_rows[groups] += 1
    return groups + 1


@inner_kernel
def sum_group_classes(
    k, start, n, row_numbers, low, high, absent, missing, node_codes, keys, group_integers, sums, group_classes
):
    """The weight of each of ``k`` classes (``group_classes``), and the rows, of every group that occurs."""
    if (high - low + 1) * k <= SPARSE * n and (n > INSERTION // 2 or high - low <= n):
        return _table_of_classes(
            k, node_codes, n, start, row_numbers, low, high, absent, missing, sums, group_integers, group_classes
        )
    for i in range(n):
        keys[0, i] = (np.int64(node_codes[i]) << 32) | i
    sort_keys(keys, n, low, missing if absent else high, group_integers)
    return _sorted_classes(k, keys, n, start, row_numbers, group_integers, group_classes)


@inner_kernel
def _table_of_classes(
    k, node_codes, n, start, row_numbers, low, high, absent, missing, sums, group_integers, group_classes
):
    targets = row_numbers[TARGETS]
    weights = row_numbers[WEIGHTS]
    group_codes = group_integers[GROUP_CODES]
    group_rows = group_integers[GROUP_ROWS]
    row_counts = group_integers[ROW_COUNTS]
    for i in range(n):
        c = np.int64(node_codes[i])
        sums[c * k + np.int64(targets[start + i])] += weights[start + i]
        row_counts[c] += 1
    groups = 0
    for step in range(high - low + 1 + (absent > 0)):
        c = low + step if step <= high - low else missing
        group_codes[groups] = c
        group_rows[groups] = row_counts[c]
        if row_counts[c] != 0:
            for q in range(k):
                group_classes[groups * k + q] = sums[c * k + q]
                sums[c * k + q] = 0.0
            groups += 1
        row_counts[c] = 0
    return groups


@inner_kernel
def _sorted_classes(k, keys, n, start, row_numbers, group_integers, group_classes):
    group_codes = group_integers[GROUP_CODES]
    group_rows = group_integers[GROUP_ROWS]
    targets = row_numbers[TARGETS]
    weights = row_numbers[WEIGHTS]
    groups, last = -1, np.int64(-1)
    for i in range(n):
        code, at = keys[0, i] >> 32, start + (keys[0, i] & POSITION)
        if code != last:
            groups += 1
            group_codes[groups], group_rows[groups] = code, 0
            for q in range(k):
                group_classes[groups * k + q] = 0.0
            last = code
        group_classes[groups * k + np.int64(targets[at])] += weights[at]
        group_rows[groups] += 1
    return groups + 1


@entry_kernel
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
