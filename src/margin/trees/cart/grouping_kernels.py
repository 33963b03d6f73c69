"""What the rows of a node with the same code of one column (a group) sum to.

Many rows are added up in a table with one entry per code; few rows are sorted by code instead. Both add the rows of
a group in the order in which they lie, so both give the same bits.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import inner
from margin.trees.cart.records_kernels import PlacedRows, Search

__all__ = [
    *("INSERTION", "POSITION", "SPARSE"),
    *("group_by_class", "group_packed", "group_sums", "is_sorting_better", "sort_keys"),
]

INSERTION = 24  # rows up to which insertion beats counting bytes
SPARSE = 4  # codes per row beyond which sorting beats clearing and scanning a table
POSITION = 0xFFFFFFFF


@inner
def sort_keys(search: Search, n: cython.Py_ssize_t, low: cython.longlong, high: cython.longlong) -> cython.void:
    """Fill ``keys[:n]`` with code << 32 | position and sort them by code; equal codes keep their order.

    Few keys by insertion, many by counting the bytes of ``code - low``, the least significant first.
    """
    j: cython.Py_ssize_t
    start: cython.longlong
    shift: cython.int = 0
    if n <= INSERTION:
        for i in range(n):
            key = (cython.cast(cython.longlong, search.node_codes[i]) << 32) | i
            j = i
            while j > 0 and search.keys[j - 1] > key:
                search.keys[j] = search.keys[j - 1]
                j -= 1
            search.keys[j] = key
        return
    for i in range(n):
        search.keys[i] = (cython.cast(cython.longlong, search.node_codes[i]) << 32) | i
    while (high - low) >> shift > 0:
        for digit in range(256):
            search.digit_starts[digit] = 0
        for i in range(n):
            search.digit_starts[(((search.keys[i] >> 32) - low) >> shift) & 255] += 1
        start = 0
        for digit in range(256):
            count = search.digit_starts[digit]
            search.digit_starts[digit] = start
            start += count
        for i in range(n):
            at = (((search.keys[i] >> 32) - low) >> shift) & 255
            search.spare_keys[search.digit_starts[at]] = search.keys[i]
            search.digit_starts[at] += 1
        for i in range(n):
            search.keys[i] = search.spare_keys[i]
        shift += 8


@inner
def is_sorting_better(n: cython.Py_ssize_t, span: cython.longlong, entries: cython.longlong) -> cython.bint:
    """Whether ``n`` rows are sorted, their codes being ``span`` apart and a table having so many ``entries``."""
    return entries > SPARSE * n or (n <= INSERTION // 2 and span > n)


@inner
def _count_rows(search: Search, n: cython.Py_ssize_t, groups: cython.Py_ssize_t) -> cython.void:
    """The rows of every group."""
    for i in range(n):
        search.row_counts[search.node_codes[i]] += 1
    for k in range(groups):
        c = search.group_codes[k]
        search.group_rows[k] = search.row_counts[c]
        search.row_counts[c] = 0


@inner
def group_packed(
    rows: PlacedRows,
    search: Search,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    low: cython.longlong,
    high: cython.longlong,
    absent: cython.longlong,
    missing: cython.longlong,
    count_rows: cython.bint,
) -> cython.Py_ssize_t:
    """:func:`group_sums` of packed weights."""
    groups: cython.Py_ssize_t
    last: cython.longlong = -1
    if is_sorting_better(n, high - low, high - low + 1):
        sort_keys(search, n, low, missing if absent else high)
        groups = -1
        for i in range(n):
            code = search.keys[i] >> 32
            both = rows.packed[start + (search.keys[i] & POSITION)]
            if code != last:
                groups += 1
                search.group_codes[groups] = code
                search.group_rows[groups] = 0
                search.group_weights[groups] = 0.0
                search.group_totals[groups] = 0.0
                last = code
            search.group_weights[groups] += both >> 32
            search.group_totals[groups] += both & POSITION
            search.group_rows[groups] += 1
        return groups + 1
    for i in range(n):
        search.packed_sums[search.node_codes[i]] += rows.packed[start + i]
    groups = 0
    for c in range(low, high + 1):
        both = search.packed_sums[c]
        search.packed_sums[c] = 0
        search.group_codes[groups] = c
        search.group_weights[groups] = both >> 32
        search.group_totals[groups] = both & POSITION
        groups += both != 0  # without a branch: an empty group is overwritten
    if absent > 0:
        both = search.packed_sums[missing]
        search.packed_sums[missing] = 0
        search.group_codes[groups] = missing
        search.group_weights[groups] = both >> 32
        search.group_totals[groups] = both & POSITION
        groups += 1
    if count_rows:
        _count_rows(search, n, groups)
    return groups


@inner
def group_sums(
    rows: PlacedRows,
    search: Search,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    low: cython.longlong,
    high: cython.longlong,
    absent: cython.longlong,
    missing: cython.longlong,
    count_rows: cython.bint,
) -> cython.Py_ssize_t:
    """Weight, total and (if asked for) rows of every group that occurs; missing ones are the last group.

    Fills ``group_codes``, ``group_weights``, ``group_totals`` and ``group_rows``; returns how many groups there are.
    """
    groups: cython.Py_ssize_t
    last: cython.longlong = -1
    if is_sorting_better(n, high - low, high - low + 1):
        sort_keys(search, n, low, missing if absent else high)
        groups = -1
        for i in range(n):
            code = search.keys[i] >> 32
            at = start + (search.keys[i] & POSITION)
            if code != last:
                groups += 1
                search.group_codes[groups] = code
                search.group_rows[groups] = 0
                search.group_weights[groups] = 0.0
                search.group_totals[groups] = 0.0
                last = code
            search.group_weights[groups] += rows.weights[at]
            search.group_totals[groups] += rows.weights[at] * rows.targets[at]
            search.group_rows[groups] += 1
        return groups + 1
    for i in range(n):
        c = 2 * cython.cast(cython.Py_ssize_t, search.node_codes[i])
        w = rows.weights[start + i]
        search.sums[c] += w
        search.sums[c + 1] += w * rows.targets[start + i]
    groups = 0
    for c in range(low, high + 1):
        groups += _take_sums(search, c, groups)
    if absent > 0:
        groups += _take_sums(search, missing, groups)
    if count_rows:
        _count_rows(search, n, groups)
    return groups


@inner
def _take_sums(search: Search, c: cython.Py_ssize_t, group: cython.Py_ssize_t) -> cython.bint:
    """Make the sums of code ``c`` those of ``group``, without a branch: an empty group is overwritten."""
    w = search.sums[2 * c]
    search.group_codes[group] = c
    search.group_weights[group] = w
    search.group_totals[group] = search.sums[2 * c + 1]
    search.sums[2 * c] = 0.0
    search.sums[2 * c + 1] = 0.0
    return w != 0.0


@inner
def group_by_class(
    rows: PlacedRows,
    search: Search,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    low: cython.longlong,
    high: cython.longlong,
    absent: cython.longlong,
    missing: cython.longlong,
    two_sides: cython.bint,
) -> cython.Py_ssize_t:
    """The weight of each class of the node (``group_sums``), and the rows, of every group that occurs.

    The ``two_sides`` of a drawn cut are never worth sorting.
    """
    groups: cython.Py_ssize_t
    position: cython.Py_ssize_t
    last: cython.longlong = -1
    k = search.present
    if not two_sides and is_sorting_better(n, high - low, (high - low + 1) * k):
        sort_keys(search, n, low, missing if absent else high)
        clear_groups(search, n, high - low, k)
        groups = -1
        for i in range(n):
            code = search.keys[i] >> 32
            position = search.keys[i] & POSITION
            if code != last:
                groups += 1
                search.group_codes[groups] = code
                search.group_rows[groups] = 0
                last = code
            search.group_sums[groups * k + search.node_classes[position]] += rows.weights[start + position]
            search.group_rows[groups] += 1
        return groups + 1
    for i in range(n):
        c = cython.cast(cython.Py_ssize_t, search.node_codes[i])
        search.sums[c * k + search.node_classes[i]] += rows.weights[start + i]
        search.row_counts[c] += 1
    return take_channels(search, low, high, absent, missing, k)


@inner
def clear_groups(search: Search, n: cython.Py_ssize_t, span: cython.longlong, k: cython.Py_ssize_t) -> cython.void:
    """Begin the sums of all groups that ``n`` rows, with known codes ``span`` apart, can have."""
    most: cython.Py_ssize_t = span + 2 if span + 2 < n else n
    for q in range(most * k):
        search.group_sums[q] = 0.0


@inner
def take_channels(
    search: Search,
    low: cython.longlong,
    high: cython.longlong,
    absent: cython.longlong,
    missing: cython.longlong,
    k: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Make the ``k`` sums of every code that occurs those of a group; returns how many groups there are."""
    groups: cython.Py_ssize_t = 0
    c: cython.Py_ssize_t
    known = high - low + 1
    for step in range(known + 1 if absent > 0 else known):
        c = low + step if step < known else missing
        search.group_codes[groups] = c
        search.group_rows[groups] = search.row_counts[c]
        if search.row_counts[c] != 0:
            for q in range(k):
                search.group_sums[groups * k + q] = search.sums[c * k + q]
                search.sums[c * k + q] = 0.0
            groups += 1
        search.row_counts[c] = 0
    return groups
