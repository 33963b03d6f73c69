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
    candidate_kernels,
    class_split_kernels,
    grouping_kernels,
    kernel_types,
    random_split_kernels,
    search_kernels,
    sum_split_kernels,
)
from margin.trees.cart.absolute_kernels import weighted_median
from margin.trees.cart.grouping_kernels import POSITION, allocating_kernel, entry_kernel, inner_kernel
from margin.trees.cart.kernel_types import (
    ABSOLUTE_ERROR,
    ENTROPY,
    GINI,
    NODE,
    NODE_CLASSES,
    PACKED_GINI,
    SPARE_TARGETS,
    SPARE_WEIGHTS,
    TARGETS,
    WEIGHTS,
    NodeState,
)
from margin.trees.cart.search_kernels import SCATTERED, search

__all__ = ["grow"]

FIRST_CAPACITY = 64

BELOW = sources_key(
    absolute_kernels,
    absolute_split_kernels,
    class_split_kernels,
    candidate_kernels,
    random_split_kernels,
    kernel_types,
    grouping_kernels,
    search_kernels,
    sum_split_kernels,
)


@allocating_kernel
def _wider(array):
    wide = np.empty((2 * array.shape[0], array.shape[1]), dtype=array.dtype)
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            wide[i, j] = array[i, j]
    return wide


@allocating_kernel
def _more_nodes(nodes):
    more = np.empty(2 * len(nodes), dtype=NODE)
    for i in range(len(nodes)):
        more[i] = nodes[i]
    return more


@inner_kernel
def _before(a, b, nodes):
    """Whether node ``a`` has its turn before ``b``: the larger gain, then the older node."""
    return nodes[a].gain > nodes[b].gain or (nodes[a].gain == nodes[b].gain and a < b)


@inner_kernel
def _rise(heap, size, nodes):
    at = size - 1
    while at > 0 and _before(heap[at], heap[(at - 1) // 2], nodes):
        heap[at], heap[(at - 1) // 2] = heap[(at - 1) // 2], heap[at]
        at = (at - 1) // 2


@inner_kernel
def _sink(heap, size, nodes):
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _before(heap[child + 1], heap[child], nodes):
            child += 1
        if not _before(heap[child], heap[at], nodes):
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@inner_kernel
def _create(nodes, value, node, start, stop, depth, lower, upper):
    new = nodes[node]
    new.feature, new.child, new.missing_left, new.category_row, new.cut = -1, -1, -1, -1, -1
    new.start, new.stop, new.depth = start, stop, depth
    new.threshold, new.weight, new.impurity, new.gain, new.total = 0.0, 0.0, 0.0, 0.0, 0.0
    new.lower, new.upper = lower, upper
    for column in range(value.shape[1]):
        value[node, column] = 0.0


@inner_kernel
def _describe(rules, rows, nodes, value, ranking, node):
    """Weight, total, value and impurity of a node; a pure one gets the impurity zero exactly."""
    start, stop = nodes[node].start, nodes[node].stop
    if rules.mode == PACKED_GINI:
        both, packed = np.int64(0), rows.packed
        for i in range(start, stop):
            both += packed[0, i]
        weight, total = float(both >> 32), float(both & POSITION)
        fraction = total / weight
        value[node, 0], value[node, 1] = (weight - total) / weight, fraction
        impurity = 2.0 * fraction * (1.0 - fraction)
    elif rules.mode == GINI or rules.mode == ENTROPY:
        weight, total, impurity = _describe_classes(rules, rows.numbers, value, node, start, stop)
    else:
        weight, total, impurity = _describe_numbers(rules.mode, rows.numbers, value, ranking, node, start, stop)
    nodes[node].weight, nodes[node].impurity, nodes[node].total = weight, impurity, total


@inner_kernel
def _describe_classes(rules, row_numbers, value, node, start, stop):
    targets = row_numbers[TARGETS]
    weights = row_numbers[WEIGHTS]
    weight = 0.0
    for i in range(start, stop):
        value[node, np.int64(targets[i])] += weights[i]
    for q in range(rules.classes):
        weight += value[node, q]
    total, pure = value[node, rules.classes - 1], False
    impurity = 1.0 if rules.mode == GINI else 0.0
    for q in range(rules.classes):
        fraction = value[node, q] / weight
        value[node, q] = fraction
        pure |= fraction == 1.0
        if rules.mode == GINI:
            impurity -= fraction * fraction
        elif fraction > 0:
            impurity -= fraction * np.log2(fraction)
    return weight, total, 0.0 if pure else max(impurity, 0.0)


@inner_kernel
def _describe_numbers(mode, row_numbers, value, ranking, node, start, stop):
    targets = row_numbers[TARGETS]
    weights = row_numbers[WEIGHTS]
    weight = total = 0.0
    low = high = targets[start]
    for i in range(start, stop):
        t, w = targets[i], weights[i]
        weight += w
        total += w * t
        low = t if t < low else low
        high = t if t > high else high
    center = min(max(total / weight, low), high)
    if mode == ABSOLUTE_ERROR:
        center = weighted_median(row_numbers, start, stop, weight, ranking)
    loss = 0.0
    if low < high:
        for i in range(start, stop):
            off = targets[i] - center
            loss += weights[i] * (abs(off) if mode == ABSOLUTE_ERROR else off * off)
    value[node, 0] = center
    return weight, total, loss / weight


@inner_kernel
def _search_node(columns, rules, rows, buffers, nodes, node):
    """Look for the split of a node that may have one and write it down; returns whether it has one."""
    here, best = nodes[node], buffers.best[0]
    start, stop, weight, total, impurity = here.start, here.stop, here.weight, here.total, here.impurity
    n = stop - start
    may = n >= rules.min_split and n >= 2 * rules.min_leaf and weight >= 2 * rules.min_weight
    if not may or here.depth >= rules.max_depth or impurity <= 0.0:
        return False
    if rules.mode == GINI or rules.mode == ENTROPY:
        targets = rows.numbers[TARGETS]
        weights = rows.numbers[WEIGHTS]
        node_classes = buffers.class_weights[NODE_CLASSES]
        for q in range(rules.classes):
            node_classes[q] = 0.0
        for i in range(start, stop):
            node_classes[np.int64(targets[i])] += weights[i]
    if not search(columns, rules, NodeState(start, stop, weight, total, here.lower, here.upper), rows, buffers):
        return False
    gain = best.gain
    if rules.mode == ABSOLUTE_ERROR:
        gain += impurity * weight
    elif rules.mode == ENTROPY:
        gain = gain / np.log(2.0) + impurity * weight
    elif rules.mode == GINI:
        gain -= (1.0 - impurity) * weight
    else:
        gain = (2.0 if rules.mode == PACKED_GINI else 1.0) * (gain - total * total / weight)
    gain = max(gain, 0.0)  # whatever rounding says
    if gain < rules.min_decrease:
        return False
    here.feature, here.cut, here.missing_left = best.column, best.cut, best.missing_left
    here.threshold, here.gain = 0.0 if best.is_category else best.threshold, gain
    return True


@inner_kernel
def _split(columns, rules, rows, nodes, value, sets, ranking, node, first):
    """Give the rows of ``node`` to its children ``first`` (left) and ``first + 1``."""
    start, stop, depth = nodes[node].start, nodes[node].stop, nodes[node].depth + 1
    packed = rules.mode == PACKED_GINI
    middle = _partition(
        *(columns.codes, columns.by_row, columns.missing, packed, rows.row, rows.numbers, rows.packed),
        *(nodes[node], sets, start, stop),
    )
    lower, upper = nodes[node].lower, nodes[node].upper
    nodes[node].child = first
    _create(nodes, value, first, start, middle, depth, lower, upper)
    _create(nodes, value, first + 1, middle, stop, depth, lower, upper)
    _describe(rules, rows, nodes, value, ranking, first)
    _describe(rules, rows, nodes, value, ranking, first + 1)
    if not rules.constrained:
        return
    last = rules.classes - 1
    for child in range(first, first + 2):  # the search kept them inside, up to rounding
        value[child, last] = min(max(value[child, last], lower), upper)
        if last == 1:
            value[child, 0] = 1.0 - value[child, 1]
    sign = rules.monotone[nodes[node].feature]
    if sign != 0:
        between = 0.5 * (value[first, last] + value[first + 1, last])
        low_side = first if sign > 0 else first + 1
        nodes[low_side].upper = between
        nodes[2 * first + 1 - low_side].lower = between


@inner_kernel
def _partition(codes, by_row, missing, use_packed, row, row_numbers, packed, node, sets, start, stop):
    """Bring the rows that go left to the front, both sides keeping their order; returns where the right begins."""
    targets = row_numbers[TARGETS]
    weights = row_numbers[WEIGHTS]
    spare_targets = row_numbers[SPARE_TARGETS]
    spare_weights = row_numbers[SPARE_WEIGHTS]
    j, cut, missing_left, set_row = node.feature, node.cut, node.missing_left, node.category_row
    column, scattered = np.uint64(j), (stop - start) * SCATTERED < codes.shape[1]
    left, right = np.uint64(start), np.uint64(0)  # unsigned: no index counts from the end
    for i in range(np.uint64(start), np.uint64(stop)):
        r = row[0, i]
        c = np.int64(by_row[r, column] if scattered else codes[column, r])
        if c == missing:
            goes_left = missing_left != 0
        elif set_row >= 0:
            goes_left = (sets[set_row, c >> 3] >> (c & 7)) & 1 == 1
        else:
            goes_left = c <= cut
        # Both sides are written and one count moves: a branch here would be mispredicted every other time.
        if use_packed:
            both = packed[0, i]
            packed[0, left] = both
            packed[1, right] = both
        else:
            w, t = weights[i], targets[i]
            weights[left], targets[left] = w, t
            spare_weights[right], spare_targets[right] = w, t
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
            weights[at] = spare_weights[i]
            targets[at] = spare_targets[i]
    return np.int64(left)


def _cached(below: int) -> Any:
    @entry_kernel
    def grow(columns, rules, rows, buffers):
        """Grow a tree over all of ``rows``; returns its nodes (:data:`NODE`), values and category sets."""
        below  # noqa: B018  part of the key of Numba's JIT cache
        nodes = np.empty(FIRST_CAPACITY, dtype=NODE)
        value = np.empty((FIRST_CAPACITY, rules.classes), dtype=np.float64)
        sets = np.empty((1, 32), dtype=np.uint8)
        waiting = np.empty(FIRST_CAPACITY, dtype=np.int64)
        count = turns = used_sets = 0
        leaves, best_first = 1, rules.max_leaves > 0
        _create(nodes, value, 0, 0, rows.row.shape[1], 0, -np.inf, np.inf)
        _describe(rules, rows, nodes, value, buffers.ranking, 0)
        node = -1
        while True:
            # The new nodes: the root at first, later the children of ``node``.
            first, last = (0, 1) if node < 0 else (count, count + 2)
            if node >= 0:
                if last > len(nodes):
                    nodes, value = _more_nodes(nodes), _wider(value)
                _split(columns, rules, rows, nodes, value, sets, buffers.ranking, node, first)
                leaves += 1
            count = last
            for new in range(last - 1, first - 1, -1):
                if not _search_node(columns, rules, rows, buffers, nodes, new):
                    continue
                if buffers.best[0].is_category:
                    if used_sets == len(sets):
                        sets = _wider(sets)
                    for byte in range(32):
                        sets[used_sets, byte] = buffers.left_set[byte]
                    nodes[new].category_row = used_sets
                    used_sets += 1
                if turns == len(waiting):
                    waiting = np.append(waiting, waiting)
                waiting[turns] = new
                turns += 1
                if best_first:
                    _rise(waiting, turns, nodes)
            if turns == 0 or (best_first and leaves >= rules.max_leaves):
                break
            turns -= 1
            if best_first:
                node = waiting[0]
                waiting[0] = waiting[turns]
                _sink(waiting, turns, nodes)
            else:
                node = waiting[turns]
        return nodes[:count].copy(), value[:count].copy(), sets[:used_sets].copy()

    return grow


grow = _cached(BELOW)
