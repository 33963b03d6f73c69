"""A tree whose rows lie on several workers: what each of them does with its rows, and what the caller makes of it.

Workers divide the rows of a node and sum them per code; these histograms are integers, so their sum over the workers is
that of one process, whatever rows each of them has. The caller chooses the splits, as :func:`grow` does.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import ConstByteMatrix, ConstIntegers, Integers, Integers32, inner, kernel
from margin.trees.boosting.growth_kernels import give_back, keep_node, open_siblings, search_columns
from margin.trees.boosting.histogram_kernels import add_rows
from margin.trees.boosting.kernel_types import CODES
from margin.trees.boosting.node_kernels import bound_children, make_leaf, mark_sides, number_children, take_next
from margin.trees.boosting.sharing_kernels import CHUNK
from margin.trees.boosting.state_kernels import Growth

__all__ = [
    "add_split",
    "choose_node",
    "count_codes",
    "divide_rows",
    "end_growth",
    "may_split",
    "open_root",
    "search_root",
    "write_sides",
]


@kernel
def divide_rows(
    codes: ConstByteMatrix,
    rows: Integers32,
    spare: Integers32,
    start: cython.longlong,
    stop: cython.longlong,
    stored: cython.longlong,
    goes_left: ConstIntegers,
) -> cython.longlong:
    """Bring the rows that go left before the others, both in their old order; returns where the others begin."""
    left: cython.longlong = start
    for i in range(start, stop):
        row = rows[i]
        rows[left] = row  # left <= i: nothing unread is overwritten
        spare[i - left] = row
        left += goes_left[codes[row, stored]]
    for i in range(stop - left):
        rows[left + i] = spare[i]
    return left


@kernel
def count_codes(
    codes: ConstByteMatrix,
    rows: Integers32,
    start: cython.longlong,
    stop: cython.longlong,
    packed: Integers,
    histogram: Integers,
) -> cython.void:
    """The sums of the packed ``rows[start:stop]`` per code of every stored column."""
    q = codes.shape[1]
    chunks = (q + CHUNK - 1) // CHUNK
    for chunk in range(chunks):
        add_rows(codes, rows, start, stop, packed, q * chunk // chunks, q * (chunk + 1) // chunks, histogram, 0)


@kernel
def open_root(growth: Growth) -> cython.bint:
    """Whether a planted root may be split; if it may, its histogram is the first of the pool."""
    growth.n_histograms = 1
    return open_siblings(growth, 0, -1)


@kernel
def search_root(growth: Growth) -> cython.void:
    """Find the best split of the root, whose histogram is there."""
    _search_node(growth, 0, 0)
    keep_node(growth, 0, 0)


@kernel
def may_split(growth: Growth) -> cython.longlong:
    """How many more leaves the tree may have; 0 if no node waits, -1 if the pool has no histogram left."""
    if growth.n_waiting == 0 or growth.n_leaves >= growth.limits.max_leaves:
        return 0
    if growth.n_free == 0 and growth.n_histograms == growth.pool.shape[0] // (growth.codes.shape[1] * CODES):
        return -1
    return growth.limits.max_leaves - growth.n_leaves


@kernel
def choose_node(growth: Growth) -> cython.longlong:
    """The node to split next, which waits no more."""
    return take_next(growth)


@kernel
def write_sides(growth: Growth, number: cython.longlong) -> cython.longlong:
    """Write what goes left in the split of a node into ``growth.goes_left``; returns the stored column."""
    return mark_sides(growth, number)


@kernel
def add_split(
    growth: Growth, number: cython.longlong, n_left: cython.longlong, counted: ConstIntegers, of_left: cython.bint
) -> cython.bint:
    """Split a node of which ``n_left`` rows go left; returns False if it had to stay a leaf.

    ``counted`` is the histogram of its left child, or else of its right one; the other one's follows.
    """
    node = growth.nodes[number]
    histogram: cython.longlong = node.histogram
    rows: cython.longlong = node.stop - node.start
    total: cython.longlong = 0
    if n_left < growth.limits.min_leaf or rows - n_left < growth.limits.min_leaf:
        make_leaf(growth, number)  # rows were counted by an estimate, which was too high
        give_back(growth, histogram)
        return False
    small, large = number_children(growth, number, node.start + n_left)
    for k in range(CODES):
        total += counted[k]
    own = growth.nodes[number].left if of_left else growth.nodes[number].right
    other = growth.nodes[number].right if of_left else growth.nodes[number].left
    growth.nodes[own].total = total
    growth.nodes[other].total = node.total - total
    growth.nodes[large].histogram = histogram
    if growth.bounds is not None:
        bound_children(growth, number)
    if open_siblings(growth, small, large):
        _fill_siblings(growth, histogram, growth.nodes[small].histogram, counted, own == small)
        _search_node(growth, small, 0)
        _search_node(growth, large, 1)
        keep_node(growth, small, 0)
        keep_node(growth, large, 1)
    return True


@kernel
def end_growth(growth: Growth) -> cython.void:
    """Nodes that could still be split are leaves."""
    for k in range(growth.n_waiting):
        make_leaf(growth, growth.waiting[k])


@inner
def _fill_siblings(
    growth: Growth,
    large: cython.longlong,
    small: cython.longlong,
    counted: ConstIntegers,
    counted_is_small: cython.bint,
) -> cython.void:
    """Histograms of two siblings from that of their parent, which is in the place of the larger one."""
    size = growth.codes.shape[1] * CODES
    to = small * size
    place = large * size
    for k in range(size):
        rest = growth.pool[place + k] - counted[k]
        growth.pool[to + k] = counted[k] if counted_is_small else rest
        growth.pool[place + k] = rest if counted_is_small else counted[k]


@inner
def _search_node(growth: Growth, number: cython.longlong, side: cython.longlong) -> cython.void:
    """The best splits of a node in all columns, if it is searched."""
    if not growth.nodes[number].searched:
        return
    q = growth.codes.shape[1]
    blocks = (q + CHUNK - 1) // CHUNK
    for block in range(blocks):
        search_columns(growth, block * CODES, q * block // blocks, q * (block + 1) // blocks, number, side)
