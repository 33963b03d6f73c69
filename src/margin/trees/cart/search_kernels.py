r"""The best split of a node, compiled by Numba.

Every column is tried in turn: its groups are summed (``grouping_kernels``), put in order (by value; categories by
their mean target, among whose cuts is the best of all subsets for two classes and for squared error),
and every cut between neighbors is scored (``sum_split_kernels``, ``class_split_kernels``, ``absolute_split_kernels``),
or one cut is drawn (``random_split_kernels``). Missing values are tried on both sides.
"""

from __future__ import annotations

import numpy as np

from margin.trees.cart.absolute_kernels import rank_targets
from margin.trees.cart.absolute_split_kernels import best_absolute_split
from margin.trees.cart.candidate_kernels import gain_to_beat, is_allowed, midpoint
from margin.trees.cart.class_split_kernels import best_class_split
from margin.trees.cart.grouping_kernels import inner_kernel, span
from margin.trees.cart.kernel_types import (
    ABSOLUTE_ERROR,
    ENTROPY,
    GINI,
    GROUP_CODES,
    PACKED_GINI,
    SPLIT_ORDER,
    SQUARED_ERROR,
)
from margin.trees.cart.random_split_kernels import draw_sides, random_cut, random_gain, uniform
from margin.trees.cart.sum_split_kernels import best_sum_split

__all__ = ["search"]

# When fewer than one row in so many is in a node, rows lie so far apart in a column that each needs a cache line, while
# the line that holds a row's codes serves all columns tried in the node.
SCATTERED = 16


@inner_kernel
def search(columns, rules, node, rows, buffers):
    """Find the best split of ``node`` and write it to ``buffers.best``; returns whether there is one."""
    codes, ranges, offsets, flags = columns.codes, columns.ranges, columns.offsets, columns.flags
    missing, row, row_numbers, packed = columns.missing, rows.row, rows.numbers, rows.packed
    node_codes, keys, sums, generator = buffers.node_codes, buffers.keys, buffers.sums, buffers.generator
    group_integers, group_numbers = buffers.group_integers, buffers.group_numbers
    group_classes, class_weights, ranking = buffers.group_classes, buffers.class_weights, buffers.ranking
    features, best = buffers.features, buffers.best
    p, n = codes.shape[0], node.stop - node.start
    best[0].gain = -np.inf
    sums_alone = rules.mode == PACKED_GINI or rules.mode == SQUARED_ERROR
    if rules.mode == ABSOLUTE_ERROR:
        rank_targets(row_numbers, node.start, node.stop, ranking)
    drawn = useful = 0
    while drawn < p and (drawn < rules.max_features or useful == 0):
        if rules.max_features < p:
            other = drawn + int(uniform(generator) * (p - drawn))
            features[drawn], features[other] = features[other], features[drawn]
        j = features[drawn]
        drawn += 1
        _gather(codes, columns.by_row, row, node.start, n, j, node_codes)
        low, high, absent = span(node_codes, n, missing, flags[1, j])
        if low >= high and (absent == 0 or absent == n):
            continue  # constant
        useful += 1
        before, categorical, cut, threshold = best[0].gain, flags[0, j], np.int64(-1), np.inf
        if sums_alone and rules.random and not categorical and absent == 0:
            cut, threshold = random_cut(ranges, offsets[j], low, high, generator)
            gain, wl, sl, in_left = random_gain(
                rules.mode == PACKED_GINI, node.weight, node.total, node.start, n, row_numbers, packed, node_codes, cut
            )
            if gain > gain_to_beat(before):
                right = (node.total - sl) / (node.weight - wl)
                if is_allowed(rules, node, j, wl, float(in_left), sl / wl, right):
                    best[0].gain, best[0].threshold = gain, threshold
                    best[0].column, best[0].cut, best[0].is_category = j, cut, 0
                    best[0].missing_left = wl > 0.5 * node.weight
            continue
        highest = high
        if rules.random:
            cut, threshold, low, high, absent = draw_sides(
                n, low, high, absent, missing, categorical, ranges, offsets[j], node_codes, group_integers, generator
            )
            if low == high and absent == 0:
                continue  # all categories were sent to one side
        if rules.mode == GINI or rules.mode == ENTROPY:
            groups, at, missing_left = best_class_split(
                rules, node, row_numbers, node_codes, keys, group_integers, group_numbers, sums, group_classes,
                class_weights, best, j, low, high, absent, missing, categorical,
            )  # fmt: skip
        elif rules.mode == ABSOLUTE_ERROR:
            groups, at, missing_left = best_absolute_split(
                rules, node, row_numbers, packed, node_codes, keys, group_integers, group_numbers, sums, ranking, best,
                j, low, high, absent, missing, categorical,
            )  # fmt: skip
        else:
            groups, at, missing_left = best_sum_split(
                rules, node, row_numbers, packed, node_codes, keys, group_integers, group_numbers, sums, best,
                j, low, high, absent, missing, categorical,
            )  # fmt: skip
        if best[0].gain > before:
            best[0].column, best[0].missing_left, best[0].is_category = j, missing_left, categorical
            if categorical:
                _record_set(rules.random, missing, group_integers, best, buffers.left_set, groups, at, missing_left)
            elif rules.random and at == 1:  # the groups are left, right and missing: this cut parts off the missing
                best[0].cut, best[0].threshold = highest, np.inf
            elif rules.random:
                best[0].cut, best[0].threshold = cut, threshold
            else:
                _record_threshold(missing, group_integers, ranges, offsets[j], best, at)
    return best[0].gain > -np.inf


@inner_kernel
def _gather(codes, by_row, row, start, n, j, node_codes):
    """The codes of a node's rows in column ``j``, read along whichever way needs fewer cache lines."""
    column, first = np.uint64(j), np.uint64(start)
    if n * SCATTERED < codes.shape[1]:
        for i in range(n):
            here = np.uint64(i)
            node_codes[here] = by_row[row[0, first + here], column]
    else:
        for i in range(n):
            here = np.uint64(i)
            node_codes[here] = codes[column, row[0, first + here]]


@inner_kernel
def _record_threshold(missing, group_integers, ranges, first, best, at):
    """The cut after group ``at``, its threshold halfway to the next group that occurs."""
    group_codes = group_integers[GROUP_CODES]
    group, following = group_codes[at], group_codes[at + 1]
    best[0].cut, best[0].threshold = group, np.inf
    if following != missing:
        best[0].threshold = midpoint(ranges[1, first + group], ranges[0, first + following])


@inner_kernel
def _record_set(random, missing, group_integers, best, bits, groups, at, missing_left):
    """Categories on the left as bits; those without rows in the node go where missing values go."""
    group_codes = group_integers[GROUP_CODES]
    split_order = group_integers[SPLIT_ORDER]
    for byte in range(32):
        bits[byte] = 0
    if random:
        for c in range(256):
            if split_order[c] == 0:
                bits[c >> 3] |= np.uint8(1 << (c & 7))
        best[0].missing_left = split_order[255] == 0
        return
    for b in range(groups):
        if group_codes[split_order[b]] == missing:
            missing_left = b <= at
    best[0].missing_left = missing_left
    if missing_left:
        for byte in range(32):
            bits[byte] = 255
    for b in range(groups):
        c = group_codes[split_order[b]]
        if c != missing:
            bit = np.uint8(1 << (c & 7))
            bits[c >> 3] = bits[c >> 3] | bit if b <= at else bits[c >> 3] & ~bit
