"""One node of a growing tree, compiled by Numba: its best split, its children, its place among those that wait."""

from __future__ import annotations

import numpy as np
from numba import njit

from margin.trees.boosting.histogram_kernels import OPTIONS, mix
from margin.trees.boosting.split_kernels import MISSING, TIE, UNDECIDED, category_order, leaf_value, unpack

__all__ = [
    "add_children",
    "bound_children",
    "claim",
    "draw_columns",
    "keep_best",
    "make_leaf",
    "may_split",
    "partition",
    "release",
    "sum_children",
    "take_next",
]

FLOAT_ROUNDING = 1e-13


@njit(**OPTIONS)
def draw_columns(node, rules, seed, allowed):
    """Mark ``max_features`` columns, drawn for this node."""
    p = allowed.size
    for j in range(p):
        allowed[j] = rules.max_features >= p
    if rules.max_features >= p:
        return
    order = np.arange(p)
    key = mix(np.uint64(seed) ^ mix(np.uint64(node)))
    for k in range(rules.max_features):
        key = mix(key)
        other = k + np.int64(key % np.uint64(p - k))
        order[k], order[other] = order[other], order[k]
        allowed[order[k]] = True


@njit(**OPTIONS)
def keep_best(node, nodes, gain, code, side, allowed, table, packing, rules, pool):
    """Write the best split over all allowed columns into the node, and say whether there is one."""
    best = -1
    for j in range(gain.size):
        if allowed[j] and (best < 0 or gain[j] > gain[best] * TIE):
            best = j
    if not gain[best] > max(rules.min_gain, _rounding(nodes.total[node], packing)):
        return False
    place = table.place[best]
    own = pool[nodes.slot[node], place * 256 : (place + 1) * 256]
    nodes.gain[node], nodes.feature[node] = gain[best], best
    nodes.is_category[node] = table.categorical[best]
    nodes.code[node] = code[best]
    if table.categorical[best]:
        missing_left = _write_set(own, table.n_bins[best], code[best], packing, rules, nodes.category_set[node])
    elif side[best] == UNDECIDED:
        left = _left_total(own, best, code[best], nodes.total[node], table)
        missing_left = _left_is_larger(left, nodes.total[node], packing)
    else:
        missing_left = side[best] == 1
    nodes.missing_left[node] = missing_left
    return True


@njit(**OPTIONS)
def _rounding(total, packing):
    """The gain that rounding alone can make: of derivatives to whole units, and of the gain itself to a float."""
    gradient, hessian, rows = unpack(total, packing)
    per_row = packing.gradient_unit**2 + (packing.hessian_rounding * gradient / hessian) ** 2
    return (2 * per_row * rows + FLOAT_ROUNDING * gradient**2) / hessian


@njit(**OPTIONS)
def _total(own, first, last):
    total = np.int64(0)
    for k in range(first, last):
        total += own[k]
    return total


@njit(**OPTIONS)
def _left_total(own, column, code, total, table):
    """The cells of rows whose code is at most ``code``; of a column that shares its place, all but those above."""
    base = table.base[column]
    if base < 0:
        return _total(own, 0, code + 1)
    return total - _total(own, base + code + 1, base + table.n_bins[column])


@njit(**OPTIONS)
def _left_is_larger(left, total, packing):
    return 2 * unpack(left, packing)[2] > unpack(total, packing)[2]


@njit(**OPTIONS)
def _write_set(own, n_bins, place, packing, rules, bits):
    """Write which categories go left, and say whether missing ones do; those not seen here go with the missing."""
    order = np.empty(256, dtype=np.int64)
    count, shared = category_order(own, n_bins, packing, rules, order)
    together = np.ones(256, dtype=np.bool_)  # with the missing values
    missing_left = False
    left = np.int64(0)
    for k in range(bits.size):
        bits[k] = 0
    for k in range(count):
        together[order[k]] = False
        if k <= place:
            left += shared if order[k] == MISSING else own[order[k]]
            missing_left |= order[k] == MISSING
            bits[order[k] >> 3] |= np.uint8(1 << (order[k] & 7))
    if shared == 0:
        missing_left = _left_is_larger(left, _total(own, 0, 256), packing)
    if missing_left:
        for k in range(256):
            if together[k]:
                bits[k >> 3] |= np.uint8(1 << (k & 7))
    return missing_left


@njit(**OPTIONS)
def _sides(node, nodes, table):
    """1 for every stored code that goes left, 0 for others."""
    goes_left = np.empty(256, dtype=np.uint64)
    column = nodes.feature[node]
    base, last = table.base[column], table.n_bins[column] - 1
    for k in range(256):
        if nodes.is_category[node]:
            goes_left[k] = (nodes.category_set[node, k >> 3] >> (k & 7)) & 1
        elif base >= 0:  # all else that is stored there means the lowest code
            goes_left[k] = 0 if base + nodes.code[node] < k <= base + last else 1
        else:
            goes_left[k] = 1 if k <= nodes.code[node] else 0
    goes_left[MISSING] = 1 if nodes.missing_left[node] else 0
    return goes_left


@njit(**OPTIONS)
def partition(node, nodes, table, rows, spare):
    """Bring the rows that go left before the others, both in their old order; returns where the others begin."""
    goes_left, codes = _sides(node, nodes, table), table.codes
    column = np.uint64(table.place[nodes.feature[node]])
    left, right, one = np.uint64(nodes.start[node]), np.uint64(0), np.uint64(1)
    for i in range(np.uint64(nodes.start[node]), np.uint64(nodes.stop[node])):
        row = rows[i]
        side = goes_left[codes[np.uint64(row), column]]
        rows[left] = row  # left <= i: nothing unread is overwritten
        spare[right] = row
        left += side
        right += one - side
    for i in range(right):
        rows[left + i] = spare[i]
    return np.int64(left)


@njit(**OPTIONS)
def make_leaf(node, nodes):
    """Forget the split that the node might have made."""
    nodes.feature[node], nodes.left[node], nodes.right[node] = -1, -1, -1
    nodes.is_category[node], nodes.missing_left[node] = False, False
    nodes.code[node], nodes.gain[node] = 0, 0.0


@njit(**OPTIONS)
def add_children(node, middle, left, nodes):
    right = left + 1
    nodes.left[node], nodes.right[node] = left, right
    for child in (left, right):
        make_leaf(child, nodes)
        nodes.depth[child] = nodes.depth[node] + 1
        nodes.lower[child], nodes.upper[child] = nodes.lower[node], nodes.upper[node]
    nodes.start[left], nodes.stop[left] = nodes.start[node], middle
    nodes.start[right], nodes.stop[right] = middle, nodes.stop[node]


@njit(**OPTIONS)
def sum_children(node, rows, cells, nodes):
    """Totals of both children: the smaller one from its rows. Returns the smaller and the larger child."""
    small, large = np.int64(nodes.left[node]), np.int64(nodes.right[node])
    if nodes.stop[small] - nodes.start[small] > nodes.stop[large] - nodes.start[large]:
        small, large = large, small
    total = np.int64(0)
    for i in range(np.uint64(nodes.start[small]), np.uint64(nodes.stop[small])):
        total += cells[np.uint64(rows[i])]
    nodes.total[small], nodes.total[large] = total, nodes.total[node] - total
    return small, large


@njit(**OPTIONS)
def bound_children(node, direction, packing, rules, nodes):
    """Halfway between the children's values is where each must stop, if the column is monotone."""
    left, right = nodes.left[node], nodes.right[node]
    middle = 0.0
    for child in (left, right):
        gradient, hessian, _ = unpack(nodes.total[child], packing)
        middle += 0.5 * leaf_value(gradient, hessian, rules, nodes.lower[node], nodes.upper[node])
    if direction > 0:
        nodes.upper[left], nodes.lower[right] = middle, middle
    elif direction < 0:
        nodes.lower[left], nodes.upper[right] = middle, middle


@njit(**OPTIONS)
def may_split(node, nodes, rules):
    return nodes.depth[node] < rules.max_depth and nodes.stop[node] - nodes.start[node] >= 2 * rules.min_leaf


@njit(**OPTIONS)
def take_next(waiting, count, nodes, rules):
    """Take the node to split next out of ``waiting``: the largest gain, or the last if leaves are not limited."""
    chosen = count - 1
    if rules.max_leaves > 0:  # without a limit the order does not matter, and depth first needs the fewest histograms
        chosen = 0
        for k in range(1, count):
            if nodes.gain[waiting[k]] > nodes.gain[waiting[chosen]]:
                chosen = k
    node = waiting[chosen]
    waiting[chosen] = waiting[count - 1]
    return node


@njit(**OPTIONS)
def release(slot, free, book):
    """Give a histogram back; ``book`` holds how many of ``free`` there are and how many were ever in use."""
    free[book[0]] = slot
    book[0] += 1


@njit(**OPTIONS)
def claim(free, book, pool):
    """A histogram to write in, and the pool, which is twice as large if it was full."""
    if book[0] > 0:
        book[0] -= 1
        return free[book[0]], pool
    book[1] += 1
    if book[1] <= pool.shape[0]:
        return book[1] - 1, pool
    wider = np.empty((2 * pool.shape[0], pool.shape[1]), dtype=np.int64)
    for slot in range(pool.shape[0]):  # a loop: assigning a slice would compile for seconds
        for at in range(pool.shape[1]):
            wider[slot, at] = pool[slot, at]
    return book[1] - 1, wider
