"""Growing trees, compiled by Numba.

A node is described (weight, value, impurity) and searched for its best split when it is created, and split when its
turn comes: the newest first (depth-first), or, when the number of leaves is limited, the one whose split gains most.
The interpreter lock is released, so trees of a forest grow in parallel threads; each is grown by one thread. Small
trees are grown many in a call, because a call from Python takes as long as a tree over a few dozen rows.

Compiling takes as long as the code is, so there is a grower per criterion and per set of options
(:class:`~margin.trees.cart.kernel_types.Traits`), in which what is not asked for is left out: a kernel here is made by
a function of the options, and a branch on such an option disappears before types are inferred.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from margin.core.cached_kernels import cached_kernel, inner_kernel, interpreted
from margin.trees.cart.describing_kernels import description
from margin.trees.cart.kernel_types import (
    ABSOLUTE_ERROR,
    ENTROPY,
    FIRST_TARGET,
    GINI,
    MULTI_ENTROPY,
    PACKED_GINI,
    SPARE_TARGETS,
    SPARE_WEIGHTS,
    TARGETS,
    WEIGHTS,
    Traits,
    has_vectors,
)
from margin.trees.cart.search_kernels import SCATTERED, search_by

__all__ = ["grower", "interpreted_grower"]


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
def _bound_children(rules, nodes, value, node, first):
    """Keep the values of the children ``first`` and ``first + 1`` within their bounds, and bound what is below them."""
    lower, upper, last = nodes[node].lower, nodes[node].upper, value.shape[1] - 1
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


@cache
def _partition(packed: bool, categories: bool, missing_values: bool) -> Any:
    @inner_kernel
    def partition(codes, by_row, missing, row, amounts, here, sets):
        """Bring the rows that go left to the front, both sides keeping their order; returns where the right begins."""
        start, stop = np.uint64(here.start), np.uint64(here.stop)
        cut, missing_left, set_row = here.cut, here.missing_left != 0, here.category_row
        column, scattered = np.uint64(here.feature), (here.stop - here.start) * SCATTERED < codes.shape[1]
        left, right = start, np.uint64(0)  # unsigned: no index counts from the end
        if not packed:
            weights, targets = amounts[WEIGHTS], amounts[TARGETS]
            spare_weights, spare_targets = amounts[SPARE_WEIGHTS], amounts[SPARE_TARGETS]
        for i in range(start, stop):
            r = row[0, i]
            c = np.int64(by_row[r, column] if scattered else codes[column, r])
            goes_left = c <= cut
            if categories and set_row >= 0:
                goes_left = (sets[set_row, (c >> 3) & 31] >> (c & 7)) & 1 == 1
            if missing_values and c == missing:
                goes_left = missing_left
            # Both sides are written and one count moves: a branch here would be mispredicted every other time.
            if packed:
                both = amounts[0, i]
                amounts[0, left] = both
                amounts[1, right] = both
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
            if packed:
                amounts[0, at] = amounts[1, i]
            else:
                weights[at] = spare_weights[i]
                targets[at] = spare_targets[i]
        return np.int64(left)

    return partition


@cache
def grower(traits: Traits) -> Any:
    """The compiled grower, with the parts that ``traits`` ask for."""
    criterion, categories, missing_values, bounded, _ = traits
    describe, search = description(criterion), search_by(traits)
    partition = _partition(criterion == PACKED_GINI, categories, missing_values)
    gini, entropy, absolute = criterion == GINI, criterion == ENTROPY, criterion == ABSOLUTE_ERROR
    scale = 2.0 if criterion == PACKED_GINI else 1.0
    log_2, vectors = np.log(2.0), has_vectors(criterion)
    if criterion == MULTI_ENTROPY:
        scale = 1 / log_2

    @cached_kernel
    def grow(columns, rules, rows, buffers, tree):
        """Grow trees one after another into ``tree``, each over its own part of ``rows``.

        Nodes are numbered through, and ``tree.roots`` says where those of every tree begin.
        """
        nodes, value, sets, waiting, features = tree.nodes, tree.value, tree.sets, tree.waiting, buffers.features
        count = used_sets = 0
        for number in range(rows.starts.shape[0] - 1):
            tree.roots[number] = count
            buffers.generator[0] = buffers.states[number]
            for j in range(features.shape[0]):  # whatever the tree before left: a tree is the same in any company
                features[j] = j
            node, middle, turns, leaves = -1, 0, 0, 1
            while True:
                # The new nodes: the root at first, later the children of ``node``.
                first, last = count, count + 1
                if node >= 0:
                    last = count + 2
                    middle = partition(
                        columns.codes, columns.by_row, columns.missing, rows.row, rows.amounts, nodes[node], sets
                    )
                    nodes[node].child = first
                    leaves += 1
                count = last
                for at in range(first, last):
                    new = nodes[at]
                    new.feature, new.child, new.missing_left, new.category_row = -1, -1, -1, -1
                    new.cut, new.threshold, new.gain = -1, 0.0, 0.0
                    if node < 0:
                        new.start, new.stop, new.depth = rows.starts[number], rows.starts[number + 1], 0
                        new.lower, new.upper = -np.inf, np.inf
                    else:
                        above = nodes[node]
                        new.start = above.start if at == first else middle
                        new.stop = middle if at == first else above.stop
                        new.depth, new.lower, new.upper = above.depth + 1, above.lower, above.upper
                    new.weight, new.total, new.impurity = describe(
                        rows.amounts, value, buffers.ranking, at, new.start, new.stop
                    )
                if bounded and rules.constrained and node >= 0:
                    _bound_children(rules, nodes, value, node, first)
                for at in range(last - 1, first - 1, -1):
                    new = nodes[at]
                    n, weight, impurity = new.stop - new.start, new.weight, new.impurity
                    if n < rules.min_split or n < 2 * rules.min_leaf or weight < 2 * rules.min_weight:
                        continue
                    if new.depth >= rules.max_depth or impurity <= 0.0:
                        continue
                    gain = search(columns, rules, rows, buffers, new, sets[used_sets])
                    if gain == -np.inf:
                        continue
                    if absolute:
                        gain += impurity * weight
                    elif entropy:
                        gain = gain / log_2 + impurity * weight
                    elif gini:
                        gain -= (1.0 - impurity) * weight
                    elif vectors:
                        gain = scale * (gain - new.total) / (rows.amounts.shape[0] - FIRST_TARGET)
                    else:
                        gain = scale * (gain - new.total * new.total / weight)
                    gain = gain if gain > 0.0 else 0.0  # whatever rounding says
                    if gain < rules.min_decrease:
                        continue
                    new.gain = gain
                    if categories and new.category_row >= 0:
                        new.category_row = used_sets
                        used_sets += 1
                    waiting[turns] = at
                    turns += 1
                    if bounded and rules.max_leaves > 0:
                        _rise(waiting, turns, nodes)
                if turns == 0 or (bounded and 0 < rules.max_leaves <= leaves):
                    break
                turns -= 1
                node = waiting[turns]
                if bounded and rules.max_leaves > 0:
                    node, waiting[0] = waiting[0], node
                    _sink(waiting, turns, nodes)
        tree.roots[rows.starts.shape[0] - 1] = count

    return grow


@cache
def interpreted_grower(traits: Traits) -> Any:
    """:func:`grower` as plain Python."""
    return interpreted(grower(traits))
