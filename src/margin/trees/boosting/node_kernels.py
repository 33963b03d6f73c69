"""One node of a growing tree: its columns, its best split, its rows, its children."""

from __future__ import annotations

from math import ceil

import cython

from margin.core.kernel_source import inner, kernel
from margin.trees.boosting.category_kernels import write_category_set
from margin.trees.boosting.histogram_kernels import mix, unpack
from margin.trees.boosting.kernel_types import CODES, MISSING
from margin.trees.boosting.split_kernels import TIE, UNDECIDED, code_of_cut, leaf_value
from margin.trees.boosting.state_kernels import Growth

__all__ = [
    "add_children",
    "bound_children",
    "keep_best",
    "make_leaf",
    "mark_sides",
    "number_children",
    "open_node",
    "partition",
    "plant",
    "take_next",
]

FLOAT_ROUNDING = 1e-13
UNBOUNDED = float("inf")
COUNT_ROUNDING = 1e-9  # a fraction times a count that is meant to be an integer


@kernel
def plant(growth: Growth, total: cython.longlong) -> cython.void:
    """A root of all rows, whose packed derivatives sum to ``total``, whatever the tree before made of it."""
    make_leaf(growth, 0)
    growth.nodes[0].start = 0
    growth.nodes[0].stop = growth.rows.shape[0]
    growth.nodes[0].depth = 0
    growth.nodes[0].histogram = 0
    growth.nodes[0].total = total
    growth.nodes[0].searched = False
    growth.n_nodes = 1
    growth.n_leaves = 1
    growth.n_waiting = 0
    growth.n_free = 0
    growth.n_histograms = 0
    if growth.bounds is not None:
        growth.bounds[0, 0] = -UNBOUNDED
        growth.bounds[0, 1] = UNBOUNDED


@inner
def make_leaf(growth: Growth, number: cython.Py_ssize_t) -> cython.void:
    """Forget the split that the node might have made."""
    growth.nodes[number].feature = -1
    growth.nodes[number].left = -1
    growth.nodes[number].right = -1
    growth.nodes[number].code = 0
    growth.nodes[number].gain = 0.0
    growth.nodes[number].is_category = False
    growth.nodes[number].missing_left = False


@inner
def open_node(growth: Growth, number: cython.Py_ssize_t, side: cython.Py_ssize_t, further: cython.bint) -> cython.bint:
    """Say whether a split of the node is looked for, and mark the columns it may ask about.

    These are the columns of its interaction groups, or some drawn among them.
    """
    node = growth.nodes[number]
    searched: cython.bint = (
        further
        and node.depth < growth.limits.max_depth
        and node.stop - node.start >= growth.limits.min_split
        and node.total != 0
    )
    growth.nodes[number].searched = searched
    all_columns: cython.bint = growth.limits.feature_fraction >= 1.0
    possible: cython.bint = True
    count: cython.Py_ssize_t = 0
    for j in range(growth.candidates.shape[1]):
        if growth.groups is not None:
            possible = False
            for g in range(growth.groups.shape[0]):
                possible |= growth.active[number, g] and growth.groups[g, j]
        growth.candidates[side, j].allowed = possible and all_columns
        growth.candidates[side, j].gain = -1.0
        growth.drawn[count] = j
        count += possible
    if growth.draws and not all_columns:
        _draw_columns(growth, number, side, count)
    return searched


@inner
def _draw_columns(
    growth: Growth, number: cython.Py_ssize_t, side: cython.Py_ssize_t, count: cython.Py_ssize_t
) -> cython.void:
    """Allow some of the first ``count`` columns of ``growth.drawn``, at least one if there is any."""
    wanted = cython.cast(cython.Py_ssize_t, ceil(growth.limits.feature_fraction * count - COUNT_ROUNDING))
    key: cython.ulonglong = mix(cython.cast(cython.ulonglong, growth.seed) ^ mix(number))
    for k in range(min(max(1, wanted), count)):
        key = mix(key)
        other = k + cython.cast(cython.Py_ssize_t, key % cython.cast(cython.ulonglong, count - k))
        chosen = growth.drawn[other]
        growth.drawn[other] = growth.drawn[k]
        growth.drawn[k] = chosen
        growth.candidates[side, chosen].allowed = True


@inner
def keep_best(growth: Growth, number: cython.Py_ssize_t, side: cython.Py_ssize_t) -> cython.bint:
    """Write the best split over all allowed columns into the node, and say whether there is one."""
    node = growth.nodes[number]
    if not node.searched:
        return False
    best = _best_column(growth, number, side)
    if best < 0:
        return False
    found = growth.candidates[side, best]
    gradient, hessian, rows = unpack(node.total, growth.packing)
    # The gain that rounding alone can make: of derivatives to integer units, and of the gain itself to a float.
    gradient_rounding = growth.packing.gradient_unit
    hessian_rounding = growth.packing.hessian_rounding * gradient / hessian
    per_row = gradient_rounding * gradient_rounding + hessian_rounding * hessian_rounding
    rounding = (2 * per_row * rows + FLOAT_ROUNDING * (gradient * gradient)) / hessian
    if not (found.gain > growth.limits.min_gain and found.gain > rounding):
        return False
    column = growth.columns[best]
    growth.nodes[number].gain = found.gain
    growth.nodes[number].feature = best
    growth.nodes[number].is_category = column.categorical
    code: cython.Py_ssize_t = found.cut
    at: cython.Py_ssize_t = (node.histogram * growth.codes.shape[1] + column.stored) * CODES
    if growth.category_sets is not None and column.categorical:
        growth.nodes[number].code = code
        growth.nodes[number].missing_left = write_category_set(growth, 0, at, column.n_bins, code, number)
        return True
    if column.base < 0:
        code = code_of_cut(growth.pool, at, column.n_bins, code)
    growth.nodes[number].code = code
    growth.nodes[number].missing_left = found.missing_side == 1
    if found.missing_side == UNDECIDED:
        # The larger side; a column that shares a stored one has on the left all rows that are not above the code.
        at += column.base if column.base > 0 else 0
        right: cython.longlong = 0
        for k in range(code + 1, column.n_bins):
            right += growth.pool[at + k]
        growth.nodes[number].missing_left = 2 * unpack(node.total - right, growth.packing)[2] > rows
    return True


@inner
def _best_column(growth: Growth, number: cython.Py_ssize_t, side: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The allowed column that gains most, the first or any of those that gain the same; -1 if none is allowed."""
    best: cython.Py_ssize_t = -1
    best_gain: cython.double = -1.0
    ties: cython.ulonglong = 1
    key: cython.ulonglong
    p = growth.columns.shape[0]
    for j in range(p):
        if not growth.candidates[side, j].allowed:
            continue
        gain = growth.candidates[side, j].gain
        if best < 0 or gain > best_gain * TIE:
            best = j
            best_gain = gain
            ties = 1
        elif growth.draws and growth.limits.random_ties and gain * TIE >= best_gain:
            ties += 1
            key = mix(growth.seed) + number * p + j
            best = j if mix(key) % ties == 0 else best
    return best


@inner
def mark_sides(growth: Growth, number: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """1 for every stored code that goes left in the split of a node; returns the stored column."""
    node = growth.nodes[number]
    column = growth.columns[node.feature]
    first_right: cython.Py_ssize_t = node.code
    last_right: cython.Py_ssize_t = MISSING
    if growth.category_sets is not None and node.is_category:
        for k in range(CODES):
            growth.goes_left[k] = (growth.category_sets[number, k >> 3] >> (k & 7)) & 1
    else:
        if column.base >= 0:  # in a shared column all codes but its own mean the lowest one
            first_right = column.base + first_right
            last_right = column.base + column.n_bins - 1
        for k in range(CODES):
            growth.goes_left[k] = 0 if first_right < k <= last_right else 1
    growth.goes_left[MISSING] = 1 if node.missing_left else 0
    return column.stored


@inner
def partition(
    growth: Growth, start: cython.Py_ssize_t, stop: cython.Py_ssize_t, stored: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Bring the rows that go left before the others, both in their old order; returns where the others begin."""
    left: cython.Py_ssize_t = start
    for i in range(start, stop):
        row = growth.rows[i]
        growth.rows[left] = row  # left <= i: nothing unread is overwritten
        growth.spare[i - left] = row
        left += growth.goes_left[growth.codes[row, stored]]
    for i in range(stop - left):
        growth.rows[left + i] = growth.spare[i]
    return left


@inner
def add_children(
    growth: Growth, number: cython.Py_ssize_t, middle: cython.Py_ssize_t
) -> tuple[cython.Py_ssize_t, cython.Py_ssize_t]:
    """Make the two children and sum their rows, those of the smaller one; returns the smaller and the larger."""
    small, large = number_children(growth, number, middle)
    total: cython.longlong = 0
    for i in range(growth.nodes[small].start, growth.nodes[small].stop):
        total += growth.packed[growth.rows[i]]
    growth.nodes[small].total = total
    growth.nodes[large].total = growth.nodes[number].total - total
    return small, large


@inner
def number_children(
    growth: Growth, number: cython.Py_ssize_t, middle: cython.Py_ssize_t
) -> tuple[cython.Py_ssize_t, cython.Py_ssize_t]:
    """Make the two children, whose sums are not known yet; returns the smaller and the larger."""
    node = growth.nodes[number]
    first = growth.n_nodes
    growth.n_nodes += 2
    growth.n_leaves += 1
    growth.nodes[number].left = first
    growth.nodes[number].right = first + 1
    for child in range(first, first + 2):
        make_leaf(growth, child)
        growth.nodes[child].depth = node.depth + 1
        growth.nodes[child].start = node.start if child == first else middle
        growth.nodes[child].stop = middle if child == first else node.stop
        if growth.groups is not None:
            for g in range(growth.groups.shape[0]):
                growth.active[child, g] = growth.active[number, g] and growth.groups[g, node.feature]
    left_is_larger: cython.bint = middle - node.start > node.stop - middle
    small = first + 1 if left_is_larger else first
    large = first if left_is_larger else first + 1
    return small, large


@inner
def bound_children(growth: Growth, number: cython.Py_ssize_t) -> cython.void:
    """Halfway between the children's values is where each must stop, if the column is monotone."""
    node = growth.nodes[number]
    direction = growth.columns[node.feature].monotone
    lower = growth.bounds[number, 0]
    upper = growth.bounds[number, 1]
    middle: cython.double = 0.0
    for child in range(node.left, node.right + 1):
        growth.bounds[child, 0] = lower
        growth.bounds[child, 1] = upper
        gradient, hessian, _ = unpack(growth.nodes[child].total, growth.packing)
        middle += 0.5 * leaf_value(gradient, hessian, growth.limits.l2, lower, upper)
    if direction > 0:
        growth.bounds[node.left, 1] = middle
        growth.bounds[node.right, 0] = middle
    elif direction < 0:
        growth.bounds[node.left, 0] = middle
        growth.bounds[node.right, 1] = middle


@inner
def take_next(growth: Growth) -> cython.Py_ssize_t:
    """Take the node to split next out of those waiting: the largest gain, or the last if leaves are not limited."""
    last = growth.n_waiting - 1
    chosen: cython.Py_ssize_t = last
    if growth.limits.best_first:
        chosen = 0
        gain = growth.nodes[growth.waiting[0]].gain
        for k in range(1, last + 1):
            if growth.nodes[growth.waiting[k]].gain > gain:
                chosen = k
                gain = growth.nodes[growth.waiting[k]].gain
    number = growth.waiting[chosen]
    growth.waiting[chosen] = growth.waiting[last]
    growth.n_waiting = last
    return number
