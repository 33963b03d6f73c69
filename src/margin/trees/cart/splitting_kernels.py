r"""The best split of a node, compiled by Numba.

Every column is tried in turn: its levels are summed (:mod:`margin.trees.cart.level_kernels`), put in order (by value;
categories by their mean target, among whose cuts is the best of all subsets for two classes and for squared error),
and every cut between neighbors is scored (``sum_split_kernels``, ``class_split_kernels``, ``absolute_split_kernels``),
or one cut is drawn (``drawn_split_kernels``). Missing values are tried on both sides.
"""

from __future__ import annotations

import numpy as np

from margin.trees.cart.absolute_kernels import rank_targets
from margin.trees.cart.absolute_split_kernels import try_absolute
from margin.trees.cart.class_split_kernels import try_classes
from margin.trees.cart.cut_kernels import allowed, bar, between
from margin.trees.cart.drawn_split_kernels import drawn_gain, random_cut, randomize, uniform
from margin.trees.cart.kernel_types import ABSOLUTE, ENTROPY, GINI, LEVEL, ORDER, PACKED, SUMS
from margin.trees.cart.level_kernels import hot, span
from margin.trees.cart.sum_split_kernels import try_sums

__all__ = ["search"]

# When fewer than one row in so many is in a node, rows lie so far apart in a column that each needs a cache line, while
# the line that holds a row's codes serves all columns tried in the node.
SCATTERED = 16


@hot
def search(table, rules, node, rows, work):
    """Find the best split of ``node`` and write it to ``work.best_*``; returns whether there is one."""
    codes, ranges, offsets, flags, missing = table.codes, table.ranges, table.offsets, table.flags, table.missing
    row, number, packed = rows.row, rows.number, rows.packed
    local, keys, whole, real, sums, rng = work.local, work.keys, work.whole, work.real, work.sums, work.rng
    found, classes, ranked, features = work.level_classes, work.classes, work.ranked, work.features
    best_code, best_number, best_set = work.best_code, work.best_number, work.best_set
    p, n = codes.shape[0], node.stop - node.start
    best_number[0] = -np.inf
    sums_alone = rules.mode == PACKED or rules.mode == SUMS
    if rules.mode == ABSOLUTE:
        rank_targets(number, node.start, node.stop, ranked)
    drawn = useful = 0
    while drawn < p and (drawn < rules.max_features or useful == 0):
        if rules.max_features < p:
            other = drawn + int(uniform(rng) * (p - drawn))
            features[drawn], features[other] = features[other], features[drawn]
        j = features[drawn]
        drawn += 1
        _gather(codes, table.by_row, row, node.start, n, j, local)
        low, high, absent = span(local, n, missing, flags[1, j])
        if low >= high and (absent == 0 or absent == n):
            continue  # constant
        useful += 1
        before, categorical, cut, threshold = best_number[0], flags[0, j], np.int64(-1), np.inf
        if sums_alone and rules.random and not categorical and absent == 0:
            cut, threshold = random_cut(ranges, offsets[j], low, high, rng)
            gain, wl, sl, in_left = drawn_gain(
                rules.mode == PACKED, node.weight, node.total, node.start, n, number, packed, local, cut
            )
            if gain > bar(before):
                right = (node.total - sl) / (node.weight - wl)
                if allowed(rules, node, j, wl, float(in_left), sl / wl, right):
                    best_number[0], best_number[1] = gain, threshold
                    best_code[0], best_code[1], best_code[2], best_code[3] = j, cut, wl > 0.5 * node.weight, 0
            continue
        if rules.random:
            cut, threshold, low, high, absent = randomize(
                n, low, high, absent, missing, categorical, ranges, offsets[j], local, whole, rng
            )
            if low == high and absent == 0:
                continue  # all categories were sent to one side
        if rules.mode == GINI or rules.mode == ENTROPY:
            m, at, missing_left = try_classes(
                rules, node, number, local, keys, whole, real, sums, found, classes, best_number,
                j, low, high, absent, missing, categorical,
            )  # fmt: skip
        elif rules.mode == ABSOLUTE:
            m, at, missing_left = try_absolute(
                rules, node, number, packed, local, keys, whole, real, sums, ranked, best_number,
                j, low, high, absent, missing, categorical,
            )  # fmt: skip
        else:
            m, at, missing_left = try_sums(
                rules, node, number, packed, local, keys, whole, real, sums, best_number,
                j, low, high, absent, missing, categorical,
            )  # fmt: skip
        if best_number[0] > before:
            best_code[0], best_code[2], best_code[3] = j, missing_left, categorical
            if categorical:
                _record_set(rules.random, missing, whole, best_code, best_set, m, at, missing_left)
            elif rules.random:
                best_code[1], best_number[1] = cut, threshold
            else:
                _record_threshold(missing, whole, ranges, offsets[j], best_code, best_number, at)
    return best_number[0] > -np.inf


@hot
def _gather(codes, by_row, row, start, n, j, local):
    """The codes of a node's rows in column ``j``, read along whichever way needs fewer cache lines."""
    column, first = np.uint64(j), np.uint64(start)
    if n * SCATTERED < codes.shape[1]:
        for i in range(n):
            here = np.uint64(i)
            local[here] = by_row[row[0, first + here], column]
    else:
        for i in range(n):
            here = np.uint64(i)
            local[here] = codes[column, row[0, first + here]]


@hot
def _record_threshold(missing, whole, ranges, first, best_code, best_number, at):
    """The cut after level ``at``, its threshold halfway to the next level that occurs."""
    level, following = whole[LEVEL, at], whole[LEVEL, at + 1]
    best_code[1], best_number[1] = level, np.inf
    if following != missing:
        best_number[1] = between(ranges[1, first + level], ranges[0, first + following])


@hot
def _record_set(random, missing, whole, best_code, bits, m, at, missing_left):
    """Categories on the left as bits; those without rows in the node go where missing values go."""
    for byte in range(32):
        bits[byte] = 0
    if random:
        for c in range(256):
            if whole[ORDER, c] == 0:
                bits[c >> 3] |= np.uint8(1 << (c & 7))
        best_code[2] = whole[ORDER, 255] == 0
        return
    for b in range(m):
        if whole[LEVEL, whole[ORDER, b]] == missing:
            missing_left = b <= at
    best_code[2] = missing_left
    if missing_left:
        for byte in range(32):
            bits[byte] = 255
    for b in range(m):
        c = whole[LEVEL, whole[ORDER, b]]
        if c != missing:
            bit = np.uint8(1 << (c & 7))
            bits[c >> 3] = bits[c >> 3] | bit if b <= at else bits[c >> 3] & ~bit
