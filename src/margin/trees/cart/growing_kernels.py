"""Growing one tree, compiled by Numba.

A node is described (weight, value, impurity) and searched for its best split when it is created, and split when its
turn comes: the newest first (depth-first), or, when the number of leaves is limited, the one whose split gains most.
The interpreter lock is released, so trees of a forest grow in parallel threads; each is grown by one thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.jit_cache import sources_key
from margin.trees.cart import (
    absolute_kernels,
    absolute_split_kernels,
    class_split_kernels,
    cut_kernels,
    drawn_split_kernels,
    kernel_types,
    level_kernels,
    splitting_kernels,
    sum_split_kernels,
)
from margin.trees.cart.absolute_kernels import weighted_median
from margin.trees.cart.kernel_types import (
    ABSOLUTE,
    ENTROPY,
    GINI,
    PACKED,
    SPARE_TARGET,
    SPARE_WEIGHT,
    TARGET,
    TOTAL,
    WEIGHT,
    Node,
)
from margin.trees.cart.level_kernels import POSITION, entry, hot, inner
from margin.trees.cart.splitting_kernels import SCATTERED, search

__all__ = ["grow"]

FIRST_CAPACITY = 64

# Columns of the growing tables of nodes.
FEATURE, CHILD, MISSING_LEFT, SET_ROW, START, STOP, DEPTH, CUT = 0, 1, 2, 3, 4, 5, 6, 7
THRESHOLD, NODE_WEIGHT, IMPURITY, NODE_GAIN, LOWER, UPPER, NODE_TOTAL = 0, 1, 2, 3, 4, 5, 6


BELOW = sources_key(
    absolute_kernels,
    absolute_split_kernels,
    class_split_kernels,
    cut_kernels,
    drawn_split_kernels,
    kernel_types,
    level_kernels,
    splitting_kernels,
    sum_split_kernels,
)


@inner
def _grow(table, rules, rows, work):
    whole = np.empty((FIRST_CAPACITY, 8), dtype=np.int64)
    number = np.empty((FIRST_CAPACITY, 7), dtype=np.float64)
    value = np.empty((FIRST_CAPACITY, rules.classes), dtype=np.float64)
    sets = np.empty((1, 32), dtype=np.uint8)
    waiting = np.empty(FIRST_CAPACITY, dtype=np.int64)
    nodes = turns = used_sets = 0
    leaves, best_first = 1, rules.max_leaves > 0
    _create(whole, number, value, 0, 0, rows.row.shape[1], 0, -np.inf, np.inf)
    _describe(rules, rows, whole, number, value, work.ranked, 0)
    node = -1
    while True:
        # The new nodes: the root at first, later the children of ``node``.
        first, last = (0, 1) if node < 0 else (nodes, nodes + 2)
        if node >= 0:
            if last > len(whole):
                whole, number, value = _wider(whole), _wider(number), _wider(value)
            _split(table, rules, rows, whole, number, value, sets, work.ranked, node, first)
            leaves += 1
        nodes = last
        for new in range(last - 1, first - 1, -1):
            if not _search_node(table, rules, rows, work, whole, number, new):
                continue
            if work.best_code[3]:
                if used_sets == len(sets):
                    sets = _wider(sets)
                for byte in range(32):
                    sets[used_sets, byte] = work.best_set[byte]
                whole[new, SET_ROW] = used_sets
                used_sets += 1
            if turns == len(waiting):
                waiting = np.append(waiting, waiting)
            waiting[turns] = new
            turns += 1
            if best_first:
                _rise(waiting, turns, number)
        if turns == 0 or (best_first and leaves >= rules.max_leaves):
            break
        turns -= 1
        if best_first:
            node = waiting[0]
            waiting[0] = waiting[turns]
            _sink(waiting, turns, number)
        else:
            node = waiting[turns]
    return whole[:nodes].copy(), number[:nodes].copy(), value[:nodes].copy(), sets[:used_sets].copy()


@inner
def _wider(array):
    wide = np.empty((2 * array.shape[0], array.shape[1]), dtype=array.dtype)
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            wide[i, j] = array[i, j]
    return wide


@hot
def _before(a, b, number):
    """Whether node ``a`` has its turn before ``b``: the larger gain, then the older node."""
    return number[a, NODE_GAIN] > number[b, NODE_GAIN] or (number[a, NODE_GAIN] == number[b, NODE_GAIN] and a < b)


@hot
def _rise(heap, size, number):
    at = size - 1
    while at > 0 and _before(heap[at], heap[(at - 1) // 2], number):
        heap[at], heap[(at - 1) // 2] = heap[(at - 1) // 2], heap[at]
        at = (at - 1) // 2


@hot
def _sink(heap, size, number):
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _before(heap[child + 1], heap[child], number):
            child += 1
        if not _before(heap[child], heap[at], number):
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@hot
def _create(whole, number, value, node, start, stop, depth, lower, upper):
    for column in range(8):
        whole[node, column] = -1
    whole[node, START], whole[node, STOP], whole[node, DEPTH] = start, stop, depth
    for column in range(7):
        number[node, column] = 0.0
    number[node, LOWER], number[node, UPPER] = lower, upper
    for column in range(value.shape[1]):
        value[node, column] = 0.0


@hot
def _describe(rules, rows, whole, number, value, ranked, node):
    """Weight, total, value and impurity of a node; a pure one gets the impurity zero exactly."""
    start, stop = whole[node, START], whole[node, STOP]
    if rules.mode == PACKED:
        both, packed = np.int64(0), rows.packed
        for i in range(start, stop):
            both += packed[0, i]
        weight, total = float(both >> 32), float(both & POSITION)
        share = total / weight
        value[node, 0], value[node, 1] = (weight - total) / weight, share
        impurity = 2.0 * share * (1.0 - share)
    elif rules.mode == GINI or rules.mode == ENTROPY:
        weight, total, impurity = _describe_classes(rules, rows.number, value, node, start, stop)
    else:
        weight, total, impurity = _describe_numbers(rules.mode, rows.number, value, ranked, node, start, stop)
    number[node, NODE_WEIGHT], number[node, IMPURITY], number[node, NODE_TOTAL] = weight, impurity, total


@hot
def _describe_classes(rules, rows, value, node, start, stop):
    weight = 0.0
    for i in range(start, stop):
        value[node, np.int64(rows[TARGET, i])] += rows[WEIGHT, i]
    for q in range(rules.classes):
        weight += value[node, q]
    total, pure = value[node, rules.classes - 1], False
    impurity = 1.0 if rules.mode == GINI else 0.0
    for q in range(rules.classes):
        share = value[node, q] / weight
        value[node, q] = share
        pure |= share == 1.0
        if rules.mode == GINI:
            impurity -= share * share
        elif share > 0:
            impurity -= share * np.log2(share)
    return weight, total, 0.0 if pure else max(impurity, 0.0)


@hot
def _describe_numbers(mode, rows, value, ranked, node, start, stop):
    weight = total = 0.0
    low = high = rows[TARGET, start]
    for i in range(start, stop):
        t, w = rows[TARGET, i], rows[WEIGHT, i]
        weight += w
        total += w * t
        low = t if t < low else low
        high = t if t > high else high
    center = min(max(total / weight, low), high)
    if mode == ABSOLUTE:
        center = weighted_median(rows, start, stop, weight, ranked)
    loss = 0.0
    if low < high:
        for i in range(start, stop):
            off = rows[TARGET, i] - center
            loss += rows[WEIGHT, i] * (abs(off) if mode == ABSOLUTE else off * off)
    value[node, 0] = center
    return weight, total, loss / weight


@hot
def _search_node(table, rules, rows, work, whole, number, node):
    """Look for the split of a node that may have one and write it down; returns whether it has one."""
    start, stop, weight, impurity = (
        whole[node, START],
        whole[node, STOP],
        number[node, NODE_WEIGHT],
        number[node, IMPURITY],
    )
    n, total = stop - start, number[node, NODE_TOTAL]
    may = n >= rules.min_split and n >= 2 * rules.min_leaf and weight >= 2 * rules.min_weight
    if not may or whole[node, DEPTH] >= rules.max_depth or impurity <= 0.0:
        return False
    if rules.mode == GINI or rules.mode == ENTROPY:
        classes, targets = work.classes, rows.number
        for q in range(rules.classes):
            classes[TOTAL, q] = 0.0
        for i in range(start, stop):
            classes[TOTAL, np.int64(targets[TARGET, i])] += targets[WEIGHT, i]
    if not search(table, rules, Node(start, stop, weight, total, number[node, LOWER], number[node, UPPER]), rows, work):
        return False
    gain = work.best_number[0]
    if rules.mode == ABSOLUTE:
        gain += impurity * weight
    elif rules.mode == ENTROPY:
        gain = gain / np.log(2.0) + impurity * weight
    elif rules.mode == GINI:
        gain -= (1.0 - impurity) * weight
    else:
        gain = (2.0 if rules.mode == PACKED else 1.0) * (gain - total * total / weight)
    gain = max(gain, 0.0)  # whatever rounding says
    if gain < rules.min_decrease:
        return False
    whole[node, FEATURE], whole[node, CUT], whole[node, MISSING_LEFT] = (
        work.best_code[0],
        work.best_code[1],
        work.best_code[2],
    )
    number[node, THRESHOLD], number[node, NODE_GAIN] = 0.0 if work.best_code[3] else work.best_number[1], gain
    return True


@hot
def _split(table, rules, rows, whole, number, value, sets, ranked, node, first):
    """Give the rows of ``node`` to its children ``first`` (left) and ``first + 1``."""
    start, stop, depth = whole[node, START], whole[node, STOP], whole[node, DEPTH] + 1
    packed = rules.mode == PACKED
    middle = _partition(
        *(table.codes, table.by_row, table.missing, packed, rows.row, rows.number, rows.packed),
        *(whole, sets, node, start, stop),
    )
    lower, upper = number[node, LOWER], number[node, UPPER]
    whole[node, CHILD] = first
    _create(whole, number, value, first, start, middle, depth, lower, upper)
    _create(whole, number, value, first + 1, middle, stop, depth, lower, upper)
    _describe(rules, rows, whole, number, value, ranked, first)
    _describe(rules, rows, whole, number, value, ranked, first + 1)
    if not rules.constrained:
        return
    last = rules.classes - 1
    for child in range(first, first + 2):  # the search kept them inside, up to rounding
        value[child, last] = min(max(value[child, last], lower), upper)
        if last == 1:
            value[child, 0] = 1.0 - value[child, 1]
    sign = rules.monotone[whole[node, FEATURE]]
    if sign != 0:
        between = 0.5 * (value[first, last] + value[first + 1, last])
        low_side = first if sign > 0 else first + 1
        number[low_side, UPPER] = between
        number[2 * first + 1 - low_side, LOWER] = between


@hot
def _partition(codes, by_row, missing, use_packed, row, number, packed, whole, sets, node, start, stop):
    """Bring the rows that go left to the front, both sides keeping their order; returns where the right begins."""
    j, cut, missing_left, set_row = (
        whole[node, FEATURE],
        whole[node, CUT],
        whole[node, MISSING_LEFT],
        whole[node, SET_ROW],
    )
    column, scattered = np.uint64(j), (stop - start) * SCATTERED < codes.shape[1]
    left, right = np.uint64(start), np.uint64(0)  # unsigned: no place counts from the end
    for i in range(np.uint64(start), np.uint64(stop)):
        r = row[0, i]
        c = np.int64(by_row[r, column] if scattered else codes[column, r])
        if c == missing:
            goes_left = missing_left != 0
        elif set_row >= 0:
            goes_left = (sets[set_row, c >> 3] >> (c & 7)) & 1 == 1
        else:
            goes_left = c <= cut
        # Both places are written and one count moves: a branch here would be mispredicted every other time.
        if use_packed:
            both = packed[0, i]
            packed[0, left] = both
            packed[1, right] = both
        else:
            w, t = number[WEIGHT, i], number[TARGET, i]
            number[WEIGHT, left], number[TARGET, left] = w, t
            number[SPARE_WEIGHT, right], number[SPARE_TARGET, right] = w, t
        row[0, left] = r
        row[1, right] = r
        left += np.uint64(goes_left)
        right += np.uint64(not goes_left)
    for i in range(right):
        at = left + np.uint64(i)
        row[0, at] = row[1, i]
        if use_packed:
            packed[0, at] = packed[1, i]
        else:
            number[WEIGHT, at] = number[SPARE_WEIGHT, i]
            number[TARGET, at] = number[SPARE_TARGET, i]
    return np.int64(left)


def _kept(below: int) -> Any:
    @entry
    def grow(table, rules, rows, work):
        """Grow a tree over all of ``rows``; returns nodes (columns as above), values and category sets."""
        below  # noqa: B018  part of the key under which Numba keeps the compiled code
        return _grow(table, rules, rows, work)

    return grow


grow = _kept(BELOW)
