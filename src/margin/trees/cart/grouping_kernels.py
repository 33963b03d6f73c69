"""What the rows of a node with the same code of one column (a group) sum to, compiled by Numba.

Many rows are added up in a table with one entry per code; few rows are sorted by code instead. Both add the rows of
a group in the order in which they lie, so both give the same bits.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from margin.core.cached_kernels import inner_kernel
from margin.trees.cart.kernel_types import (
    DIGIT_STARTS,
    GROUP_CODES,
    GROUP_ROWS,
    GROUP_TOTALS,
    GROUP_WEIGHTS,
    PACKED_SUMS,
    ROW_COUNTS,
    TARGETS,
    WEIGHTS,
)

__all__ = ["group_classes_by", "group_packed_by", "group_sums_by", "sort_keys"]

INSERTION = 24  # rows up to which insertion beats Numba's quicksort
SPARSE = 4  # codes per row beyond which sorting beats clearing and scanning a table
POSITION = np.int64(0xFFFFFFFF)


@inner_kernel
def sort_keys(node_codes, n, low, high, keys, group_integers):
    """Fill ``keys[0, :n]`` with code << 32 | position and sort them by code; equal codes keep their order.

    Few keys by insertion, many by counting the bytes of ``code - low``, the least significant first.
    """
    for i in range(n):
        keys[0, i] = (np.int64(node_codes[i]) << 32) | i
    if n <= INSERTION:
        for i in range(1, n):
            key = keys[0, i]
            j = i
            while j > 0 and keys[0, j - 1] > key:
                keys[0, j] = keys[0, j - 1]
                j -= 1
            keys[0, j] = key
        return
    digit_starts = group_integers[DIGIT_STARTS]
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
def _count_rows(node_codes, n, groups, group_integers):
    """The rows of every group."""
    group_codes = group_integers[GROUP_CODES]
    group_rows = group_integers[GROUP_ROWS]
    row_counts = group_integers[ROW_COUNTS]
    for i in range(n):
        row_counts[node_codes[i]] += 1
    for k in range(groups):
        c = group_codes[k]
        group_rows[k] = row_counts[c]
        row_counts[c] = 0


@cache
def group_packed_by(missing_values: bool) -> Any:
    """The kernel that sums packed weights; see :func:`group_sums_by`."""

    @inner_kernel
    def group_packed(
        node_codes, n, start, packed, low, high, absent, missing, count_rows, keys, group_integers, group_numbers, _sums
    ):
        group_codes = group_integers[GROUP_CODES]
        group_totals = group_numbers[GROUP_TOTALS]
        group_weights = group_numbers[GROUP_WEIGHTS]
        if high - low + 1 > SPARSE * n or (n <= INSERTION // 2 and high - low > n):
            sort_keys(node_codes, n, low, missing if absent else high, keys, group_integers)
            group_rows = group_integers[GROUP_ROWS]
            groups, last = np.int64(-1), np.int64(-1)
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
        packed_sums = group_integers[PACKED_SUMS]
        for i in range(n):
            packed_sums[node_codes[i]] += packed[0, start + i]
        groups, steps = np.int64(0), high - low + 1
        if missing_values:
            steps += absent > 0
        for step in range(steps):
            c = low + step
            if missing_values and step > high - low:
                c = np.int64(missing)
            both = packed_sums[c]
            packed_sums[c] = 0
            group_codes[groups] = c
            group_weights[groups] = both >> 32
            group_totals[groups] = both & POSITION
            groups += both != 0  # without a branch: an empty group is overwritten
        if count_rows:
            _count_rows(node_codes, n, groups, group_integers)
        return groups

    return group_packed


@cache
def group_sums_by(missing_values: bool) -> Any:
    """The kernel that sums weights and targets."""

    @inner_kernel
    def group_sums(
        node_codes, n, start, numbers, low, high, absent, missing, count_rows, keys, group_integers, group_numbers, sums
    ):
        """Weight, total and (if asked for) rows of every group that occurs; missing ones are the last group.

        Fills the rows GROUP_* of ``group_integers`` and ``group_numbers`` and returns how many groups there are.
        """
        group_codes = group_integers[GROUP_CODES]
        group_totals = group_numbers[GROUP_TOTALS]
        group_weights = group_numbers[GROUP_WEIGHTS]
        weights = numbers[WEIGHTS]
        targets = numbers[TARGETS]
        if high - low + 1 > SPARSE * n or (n <= INSERTION // 2 and high - low > n):
            sort_keys(node_codes, n, low, missing if absent else high, keys, group_integers)
            group_rows = group_integers[GROUP_ROWS]
            groups, last = np.int64(-1), np.int64(-1)
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
        for i in range(n):
            c, w = 2 * np.int64(node_codes[i]), weights[start + i]
            sums[c] += w
            sums[c + 1] += w * targets[start + i]
        groups, steps = np.int64(0), high - low + 1
        if missing_values:
            steps += absent > 0
        for step in range(steps):
            c = low + step
            if missing_values and step > high - low:
                c = np.int64(missing)
            w = sums[2 * c]
            group_codes[groups] = c
            group_weights[groups] = w
            group_totals[groups] = sums[2 * c + 1]
            sums[2 * c] = 0.0
            sums[2 * c + 1] = 0.0
            groups += w != 0.0
        if count_rows:
            _count_rows(node_codes, n, groups, group_integers)
        return groups

    return group_sums


@cache
def group_classes_by(missing_values: bool, two_sides: bool) -> Any:
    """The kernel that sums the weight of every class; the ``two_sides`` of a drawn cut are never worth sorting."""

    @inner_kernel
    def group_by_class(
        k, node_codes, n, start, numbers, low, high, absent, missing, keys, group_integers, sums, group_classes
    ):
        """The weight of each of ``k`` classes (``group_classes``), and the rows, of every group that occurs."""
        group_codes = group_integers[GROUP_CODES]
        group_rows = group_integers[GROUP_ROWS]
        weights = numbers[WEIGHTS]
        targets = numbers[TARGETS]
        if not two_sides and ((high - low + 1) * k > SPARSE * n or (n <= INSERTION // 2 and high - low > n)):
            sort_keys(node_codes, n, low, missing if absent else high, keys, group_integers)
            groups, last = np.int64(-1), np.int64(-1)
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
        row_counts = group_integers[ROW_COUNTS]
        for i in range(n):
            c = np.int64(node_codes[i])
            sums[c * k + np.int64(targets[start + i])] += weights[start + i]
            row_counts[c] += 1
        groups, steps = np.int64(0), high - low + 1
        if missing_values:
            steps += absent > 0
        for step in range(steps):
            c = low + step
            if missing_values and step > high - low:
                c = np.int64(missing)
            group_codes[groups] = c
            group_rows[groups] = row_counts[c]
            if row_counts[c] != 0:
                for q in range(k):
                    group_classes[groups * k + q] = sums[c * k + q]
                    sums[c * k + q] = 0.0
                groups += 1
            row_counts[c] = 0
        return groups

    return group_by_class
