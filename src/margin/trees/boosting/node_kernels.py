"""One node of a growing tree, compiled by Numba: its columns, its best split, its rows, its children."""

from __future__ import annotations

import math

import numpy as np

from margin.core.cached_kernels import inner_kernel
from margin.trees.boosting.category_kernels import write_category_set
from margin.trees.boosting.histogram_kernels import mix, unpack
from margin.trees.boosting.kernel_types import MISSING
from margin.trees.boosting.split_kernels import TIE, UNDECIDED, code_of_cut, leaf_value

__all__ = [
    "add_children",
    "bound_children",
    "keep_best",
    "make_leaf",
    "mark_sides",
    "open_node",
    "partition",
    "take_next",
]

FLOAT_ROUNDING = 1e-13
COUNT_ROUNDING = 1e-9  # a fraction times a count that is meant to be an integer


@inner_kernel
def open_node(number, side, further, nodes, limits, seed, groups, active, order, candidates):
    """Say whether a split of the node is looked for, and mark the columns it may ask about.

    These are the columns of its interaction groups, or some drawn among them; ``seed`` is None if nothing is drawn.
    """
    node = nodes[number]
    node.searched = (
        further and node.depth < limits.max_depth and node.stop - node.start >= limits.min_split and node.total != 0
    )
    all_columns = limits.feature_fraction >= 1.0
    count = np.int64(0)
    for j in range(candidates.shape[1]):
        possible = True
        if groups is not None:
            possible = False
            for g in range(groups.shape[0]):
                possible |= active[number, g] and groups[g, j]
        candidate = candidates[side, j]
        candidate.allowed, candidate.gain = possible and all_columns, -1.0
        order[count] = j
        count += possible
    if seed is not None and not all_columns:
        drawn = max(1, math.ceil(limits.feature_fraction * count - COUNT_ROUNDING))
        key = mix(np.uint64(seed) ^ mix(np.uint64(number)))
        for k in range(min(drawn, count)):
            key = mix(key)
            other = k + np.int64(key % np.uint64(count - k))
            order[k], order[other] = order[other], order[k]
            candidates[side, order[k]].allowed = True
    return node.searched


@inner_kernel
def keep_best(number, side, nodes, columns, candidates, packing, limits, pool, seed, order, keys, category_sets):
    """Write the best split over all allowed columns into the node, and say whether there is one."""
    node, best, best_gain = nodes[number], -1, -1.0
    if not node.searched:
        return False
    ties = np.uint64(1)
    for j in range(columns.size):
        candidate = candidates[side, j]
        if not candidate.allowed:
            continue
        if best < 0 or candidate.gain > best_gain * TIE:
            best, best_gain, ties = j, candidate.gain, np.uint64(1)
        elif seed is not None and limits.random_ties and candidate.gain * TIE >= best_gain:
            ties += np.uint64(1)
            best = j if mix(mix(np.uint64(seed)) + np.uint64(number * columns.size + j)) % ties == 0 else best
    gradient, hessian, rows = unpack(node.total, packing)
    # The gain that rounding alone can make: of derivatives to integer units, and of the gain itself to a float.
    gradient_rounding, hessian_rounding = packing.gradient_unit, packing.hessian_rounding * gradient / hessian
    per_row = gradient_rounding * gradient_rounding + hessian_rounding * hessian_rounding
    rounding = (2 * per_row * rows + FLOAT_ROUNDING * (gradient * gradient)) / hessian
    if best < 0 or not (best_gain > limits.min_gain and best_gain > rounding):
        return False
    candidate, column = candidates[side, best], columns[best]
    node.gain, node.feature, node.is_category, code = best_gain, best, column.categorical, candidate.cut
    histogram, offset = pool[node.histogram], column.stored * 256
    if category_sets is not None and column.categorical:
        own = histogram[offset : offset + 256]
        bits = category_sets[number]
        node.code = code
        node.missing_left = write_category_set(own, column.n_bins, code, packing, limits, order, keys, bits)
        return True
    if column.base < 0:
        code = code_of_cut(histogram[offset : offset + 256], column.n_bins, code)
    node.code = code
    node.missing_left = candidate.missing_side == 1
    if candidate.missing_side == UNDECIDED:
        # The larger side; a column that shares a stored one has on the left all rows that are not above the code.
        offset += column.base if column.base > 0 else 0
        right = np.int64(0)
        for k in range(code + 1, column.n_bins):
            right += histogram[offset + k]
        node.missing_left = 2 * unpack(node.total - right, packing)[2] > rows
    return True


@inner_kernel
def mark_sides(number, nodes, columns, goes_left, category_sets):
    """1 for every stored code that goes left in the split of a node; returns the stored column."""
    node = nodes[number]
    column = columns[node.feature]
    first_right, last_right = np.int64(node.code), np.int64(MISSING)
    if column.base >= 0:  # in a shared column all codes but its own mean the lowest one
        first_right, last_right = column.base + first_right, column.base + column.n_bins - 1
    for k in range(256):
        goes_left[k] = 0 if first_right < k <= last_right else 1
        if category_sets is not None and node.is_category:
            goes_left[k] = (category_sets[number, k >> 3] >> (k & 7)) & 1
    goes_left[MISSING] = 1 if node.missing_left else 0
    return column.stored


@inner_kernel
def partition(start, stop, column, codes, rows, spare, goes_left):
    """Bring the rows that go left before the others, both in their old order; returns where the others begin."""
    one = np.uint64(1)
    stored, left, right = np.uint64(column), np.uint64(start), np.uint64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        row = rows[i]
        side = goes_left[codes[np.uint64(row), stored]]
        rows[left] = row  # left <= i: nothing unread is overwritten
        spare[right] = row
        left += side
        right += one - side
    for i in range(right):
        rows[left + i] = spare[i]
    return np.int64(left)


@inner_kernel
def make_leaf(number, nodes):
    """Forget the split that the node might have made."""
    node = nodes[number]
    node.feature, node.left, node.right, node.code, node.gain = -1, -1, -1, 0, 0.0
    node.is_category = node.missing_left = False


@inner_kernel
def add_children(number, middle, first, nodes, rows, packed, groups, active):
    """Make the two children and sum their rows, those of the smaller one; returns the smaller and the larger."""
    node, left, right = nodes[number], nodes[first], nodes[first + 1]
    node.left, node.right = first, first + 1
    for child in range(first, first + 2):
        make_leaf(child, nodes)
        nodes[child].depth = node.depth + 1
        if groups is not None:
            for g in range(groups.shape[0]):
                active[child, g] = active[number, g] and groups[g, node.feature]
    left.start, left.stop, right.start, right.stop = node.start, middle, middle, node.stop
    small, large = first, first + 1
    if middle - node.start > node.stop - middle:
        small, large = large, small
    child, total = nodes[small], np.int64(0)
    for i in range(np.uint64(child.start), np.uint64(child.stop)):
        total += packed[np.uint64(rows[i])]
    child.total = total
    nodes[large].total = node.total - total
    return small, large


@inner_kernel
def bound_children(node, direction, packing, limits, nodes, bounds):
    """Halfway between the children's values is where each must stop, if the column is monotone."""
    left, right = nodes[node].left, nodes[node].right
    lower, upper, middle = bounds[node, 0], bounds[node, 1], 0.0
    for child in range(left, right + 1):
        bounds[child, 0], bounds[child, 1] = lower, upper
        gradient, hessian, _ = unpack(nodes[child].total, packing)
        middle += 0.5 * leaf_value(gradient, hessian, limits, lower, upper)
    if direction > 0:
        bounds[left, 1], bounds[right, 0] = middle, middle
    elif direction < 0:
        bounds[left, 0], bounds[right, 1] = middle, middle


@inner_kernel
def take_next(waiting, count, nodes, limits):
    """Take the node to split next out of ``waiting``: the largest gain, or the last if leaves are not limited."""
    chosen = count - 1
    if limits.best_first:
        gain = nodes[waiting[0]].gain
        chosen = 0
        for k in range(1, count):
            if nodes[waiting[k]].gain > gain:
                chosen, gain = k, nodes[waiting[k]].gain
    number = waiting[chosen]
    waiting[chosen] = waiting[count - 1]
    return number
