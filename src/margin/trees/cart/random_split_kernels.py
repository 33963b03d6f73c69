"""Splits that are drawn, not searched (extremely randomized trees)."""

from __future__ import annotations

import cython

from margin.core.kernel_source import inner
from margin.trees.cart.candidate_kernels import INFINITE, midpoint
from margin.trees.cart.grouping_kernels import POSITION
from margin.trees.cart.kernel_types import PACKED_GINI
from margin.trees.cart.records_kernels import Columns, Rows, Rules, Search, Tree

__all__ = ["draw_sides", "random_cut", "random_gain", "uniform"]

FACTOR = 2685821657736338717
STEP = 1.0 / 9007199254740992.0


@inner
def uniform(search: Search) -> cython.double:
    """A number in [0, 1) from a 64-bit xorshift-multiply generator whose state is ``search.state``."""
    x: cython.ulonglong = search.state
    x ^= x >> 12
    x ^= x << 25
    x ^= x >> 27
    search.state = x
    x *= FACTOR
    return (x >> 11) * STEP


@inner
def random_cut(
    columns: Columns, search: Search, j: cython.Py_ssize_t, low: cython.longlong, high: cython.longlong
) -> tuple[cython.longlong, cython.double]:
    """A code with rows on both sides, from a threshold drawn between the smallest and the largest value."""
    below: cython.longlong = low
    candidates: cython.longlong = high - low
    first = columns.offsets[j]
    smallest, largest = columns.ranges[0, first + low], columns.ranges[1, first + high]
    threshold = smallest + (largest - smallest) * uniform(search)
    # The last code before ``high`` whose values are all at most the threshold. Halving without a branch: which half is
    # next cannot be predicted, and guessing wrong costs more than the step.
    while candidates > 1:
        half = candidates >> 1
        below += half * (columns.ranges[1, first + below + half] <= threshold)
        candidates -= half
    left, right = columns.ranges[1, first + below], columns.ranges[0, first + below + 1]
    return (below, threshold if left <= threshold < right else midpoint(left, right))


@inner
def draw_sides(
    columns: Columns,
    search: Search,
    j: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    low: cython.longlong,
    high: cython.longlong,
) -> tuple[cython.longlong, cython.double]:
    """Draw one cut of a column and its threshold: codes become 0 (left) and 1, missing values stay."""
    cut: cython.longlong
    threshold: cython.double
    if low == high:  # the only cut parts the one known group from the missing ones
        return (low, INFINITE)
    cut, threshold = random_cut(columns, search, j, low, high)
    for i in range(n):
        if search.node_codes[i] != columns.missing:
            search.node_codes[i] = search.node_codes[i] > cut
    return (cut, threshold)


@inner
def draw_sides_of_categories(
    search: Search, n: cython.Py_ssize_t, missing: cython.longlong
) -> tuple[cython.longlong, cython.longlong]:
    """Send every category, and missing, to a side drawn for it, kept in ``split_order``; the first and the last side
    that have rows."""
    first: cython.longlong = 1
    last: cython.longlong = 0
    for c in range(256):
        search.split_order[c] = 0 if uniform(search) < 0.5 else 1
    for i in range(n):
        side = search.split_order[255 if search.node_codes[i] == missing else search.node_codes[i]]
        search.node_codes[i] = side
        first = min(first, side)
        last = max(last, side)
    return (first, last)


@inner
def random_gain(
    rules: Rules,
    rows: Rows,
    search: Search,
    tree: Tree,
    at: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    cut: cython.longlong,
) -> tuple[cython.double, cython.double, cython.double, cython.double]:
    """The gain of one cut of a column without missing values for squared error or two classes; weight, total and rows
    on its left."""
    weight_left: cython.double = 0.0
    total_left: cython.double = 0.0
    rows_left: cython.longlong = 0
    both: cython.longlong = 0
    goes: cython.bint
    start = tree.nodes[at].start
    last = cython.cast(cython.int, cut)
    if rules.mode == PACKED_GINI:
        for i in range(n):
            taken = -cython.cast(cython.longlong, search.node_codes[i] <= last)  # all bits, or none: no branch
            both += rows.packed[start + i] & taken
            rows_left -= taken
        weight_left = both >> 32
        total_left = both & POSITION
    else:
        for i in range(n):
            goes = search.node_codes[i] <= last
            w = rows.weights[start + i] if goes else 0.0
            weight_left += w
            total_left += w * rows.targets[start + i]
            rows_left += goes
    weight_right = tree.nodes[at].weight - weight_left
    total_right = tree.nodes[at].total - total_left
    gain = total_left * total_left * weight_right + total_right * total_right * weight_left
    return (gain / (weight_left * weight_right), weight_left, total_left, rows_left)
