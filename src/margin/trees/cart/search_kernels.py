r"""The best split of a node, compiled by Numba.

Every column is tried in turn: its groups are summed (``grouping_kernels``), put in order (by value; categories by
their mean target, among whose cuts is the best of all subsets for two classes and for squared error),
and every cut between neighbors is scored (``sum_split_kernels``, ``class_split_kernels``, ``absolute_split_kernels``),
or one cut is drawn (``random_split_kernels``). Missing values are tried on both sides.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from margin.core.cached_kernels import inner_kernel
from margin.trees.cart.absolute_kernels import rank_targets
from margin.trees.cart.absolute_split_kernels import absolute_cut
from margin.trees.cart.candidate_kernels import admission, gain_to_beat, midpoint
from margin.trees.cart.class_split_kernels import class_cut
from margin.trees.cart.grouping_kernels import group_classes_by, group_packed_by, group_sums_by
from margin.trees.cart.kernel_types import (
    ABSOLUTE_ERROR,
    ENTROPY,
    GINI,
    GROUP_CODES,
    MULTI_ENTROPY,
    MULTI_GINI,
    NODE_CLASSES,
    PACKED_GINI,
    SPLIT_ORDER,
    SQUARED_ERROR,
    TARGETS,
    WEIGHTS,
    NodeState,
    Traits,
    has_vectors,
)
from margin.trees.cart.random_split_kernels import random_cut, random_scorer, side_draw, uniform
from margin.trees.cart.sum_split_kernels import sum_cut
from margin.trees.cart.vector_kernels import group_vectors_by, sum_vectors_by, vector_cut

__all__ = ["search_by"]

# When fewer than one row in so many is in a node, rows lie so far apart in a column that each needs a cache line, while
# the line that holds a row's codes serves all columns tried in the node.
SCATTERED = 16


@cache
def search_by(traits: Traits) -> Any:
    """The kernel that finds the best split of a node, with the parts that ``traits`` ask for."""
    criterion, categories, missing_values, bounded, random = traits
    vectors, of_classes = has_vectors(criterion), criterion in (MULTI_GINI, MULTI_ENTROPY)
    by_class, absolute = criterion in (GINI, ENTROPY) or vectors, criterion == ABSOLUTE_ERROR
    one_pass = random and criterion in (PACKED_GINI, SQUARED_ERROR)  # a drawn cut is scored without groups
    whole = not one_pass or categories or missing_values
    ordered = categories and not random
    read_column = _reader(missing_values)
    group = (group_packed_by if criterion == PACKED_GINI else group_sums_by)(missing_values)
    group_by_class = (
        group_vectors_by(missing_values, of_classes) if vectors else group_classes_by(missing_values, two_sides=random)
    )
    sum_classes = sum_vectors_by(of_classes) if vectors else _sum_classes
    best_sum_cut = sum_cut(ordered, missing_values, bounded)
    best_class_cut = (
        vector_cut(criterion, ordered, missing_values, bounded)
        if vectors
        else class_cut(criterion == GINI, ordered, missing_values, bounded)
    )
    best_absolute_cut = absolute_cut(ordered, missing_values, bounded)
    is_allowed = admission(bounded)
    draw_sides = side_draw(categories, missing_values)
    random_gain = random_scorer(criterion == PACKED_GINI)

    @inner_kernel
    def search(columns, rules, rows, buffers, here, bits):
        """Find the best split of the node ``here``, write it there (a set of categories to ``bits``); its raw gain."""
        node = NodeState(here.start, here.stop, here.weight, here.total, here.lower, here.upper)
        codes, ranges, offsets, flags = columns.codes, columns.ranges, columns.offsets, columns.flags
        missing, row, amounts = columns.missing, rows.row, rows.amounts
        node_codes, keys, sums, generator = buffers.node_codes, buffers.keys, buffers.sums, buffers.generator
        group_integers, group_numbers = buffers.group_integers, buffers.group_numbers
        group_classes, class_weights, features = buffers.group_classes, buffers.class_weights, buffers.features
        p, n = codes.shape[0], node.stop - node.start
        best = -np.inf
        count_rows = absolute or (rules.min_leaf > 1 and not rules.weight_is_count)
        if by_class:
            sum_classes(amounts, node.start, node.stop, rules.classes, class_weights)
        if absolute:
            rank_targets(amounts, node.start, node.stop, buffers.ranking)
        drawn = useful = 0
        while drawn < p and (drawn < rules.max_features or useful == 0):
            if rules.max_features < p:
                other = drawn + np.int64(uniform(generator) * (p - drawn))
                features[drawn], features[other] = features[other], features[drawn]
            j = features[drawn]
            drawn += 1
            low, high, absent = read_column(codes, columns.by_row, row, node.start, n, j, missing, flags, node_codes)
            if low >= high and (absent == 0 or absent == n):
                continue  # constant
            useful += 1
            categorical, cut, threshold, highest = categories and flags[0, j], np.int64(-1), np.inf, high
            if one_pass and not categorical and absent == 0:
                cut, threshold = random_cut(ranges, offsets[j], low, high, generator)
                gain, wl, sl, in_left = random_gain(node.weight, node.total, node.start, n, amounts, node_codes, cut)
                if gain > gain_to_beat(best):
                    right = (node.total - sl) / (node.weight - wl)
                    if is_allowed(rules, node, j, wl, float(in_left), sl / wl, right):
                        best = gain
                        here.feature, here.threshold, here.cut, here.category_row = j, threshold, cut, -1
                        here.missing_left = wl > 0.5 * node.weight
                continue
            if whole:
                if random:
                    cut, threshold, low, high, absent = draw_sides(
                        *(n, low, high, absent, missing, categorical, ranges, offsets[j], node_codes, group_integers),
                        generator,
                    )
                    if low == high and absent == 0:
                        continue  # all categories were sent to one side
                if by_class:
                    groups = group_by_class(
                        *(rules.classes, node_codes, n, node.start, amounts, low, high, absent, missing, keys),
                        *(group_integers, sums, group_classes),
                    )
                    gain, at, missing_left = best_class_cut(
                        *(rules, node, j, groups, absent, categorical, group_integers, group_numbers, group_classes),
                        *(class_weights, best),
                    )
                else:
                    groups = group(
                        *(node_codes, n, node.start, amounts, low, high, absent, missing, count_rows, keys),
                        *(group_integers, group_numbers, sums),
                    )
                    if absolute:
                        gain, at, missing_left = best_absolute_cut(
                            *(rules, node, j, groups, absent, categorical, amounts, node_codes, keys, group_integers),
                            *(group_numbers, buffers.ranking, best),
                        )
                    else:
                        gain, at, missing_left = best_sum_cut(
                            *(rules, node, j, groups, absent, categorical, count_rows, group_integers, group_numbers),
                            best,
                        )
                if gain > best:
                    best = gain
                    here.feature, here.missing_left, here.category_row = j, missing_left, -1
                    if categories and categorical:
                        here.category_row, here.threshold = 0, 0.0
                        here.missing_left = _record_set(random, missing, group_integers, bits, groups, at, missing_left)
                    elif random:  # the groups are left, right and missing: the second cut parts off the missing
                        here.cut, here.threshold = (highest, np.inf) if at == 1 else (cut, threshold)
                    else:
                        group_codes = group_integers[GROUP_CODES]
                        last, following = group_codes[at], group_codes[at + 1]
                        here.cut, here.threshold = last, np.inf
                        if not missing_values or following != missing:  # halfway to the next group that occurs
                            here.threshold = midpoint(ranges[1, offsets[j] + last], ranges[0, offsets[j] + following])
        return best

    return search


@cache
def _reader(missing_values: bool) -> Any:
    @inner_kernel
    def read_column(codes, by_row, row, start, n, j, missing, flags, node_codes):
        """Gather the codes of a node's rows; the smallest and largest known one, and how many are missing.

        They are read along whichever way needs fewer cache lines. The smallest exceeds the largest if all miss.
        """
        column, first = np.uint64(j), np.uint64(start)
        if n * SCATTERED < codes.shape[1]:
            for i in range(n):
                here = np.uint64(i)
                node_codes[here] = by_row[row[0, first + here], column]
        else:
            for i in range(n):
                here = np.uint64(i)
                node_codes[here] = codes[column, row[0, first + here]]
        absent = 0
        if missing_values and flags[1, j]:
            smallest, largest = np.int64(missing), np.int64(-1)
            for i in range(n):
                c = np.int64(node_codes[i])
                if c == missing:
                    absent += 1
                else:
                    smallest = c if c < smallest else smallest
                    largest = c if c > largest else largest
            return smallest, largest, absent
        low = node_codes[0]
        high = node_codes[0]
        for i in range(1, n):
            code = node_codes[i]
            low = code if code < low else low
            high = code if code > high else high
        return np.int64(low), np.int64(high), absent

    return read_column


@inner_kernel
def _sum_classes(numbers, start, stop, classes, class_weights):
    """The weight of every class in a node."""
    weights = numbers[WEIGHTS]
    targets = numbers[TARGETS]
    node_classes = class_weights[NODE_CLASSES]
    for q in range(classes):
        node_classes[q] = 0.0
    for i in range(start, stop):
        node_classes[np.int64(targets[i])] += weights[i]


@inner_kernel
def _record_set(random, missing, group_integers, bits, groups, at, missing_left):
    """Categories on the left as bits; those without rows in the node go where missing values go, which is returned."""
    group_codes = group_integers[GROUP_CODES]
    split_order = group_integers[SPLIT_ORDER]
    for byte in range(32):
        bits[byte] = 0
    if random:
        for c in range(256):
            if split_order[c] == 0:
                bits[c >> 3] |= np.uint8(1 << (c & 7))
        return split_order[255] == 0
    for b in range(groups):
        if group_codes[split_order[b]] == missing:
            missing_left = b <= at
    if missing_left:
        for byte in range(32):
            bits[byte] = 255
    for b in range(groups):
        c = group_codes[split_order[b]]
        if c != missing:
            bit = np.uint8(1 << (c & 7))
            bits[c >> 3] = bits[c >> 3] | bit if b <= at else bits[c >> 3] & ~bit
    return missing_left
