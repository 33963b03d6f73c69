"""A tree grown on histograms, leaf by leaf.

The open leaf that gains most is split next. Of its two children the smaller gets its histogram from its rows, the
other one by subtraction. Work that is large enough is offered on the board to other threads (:func:`assist`).
"""

from __future__ import annotations

import cython

from margin.core.atomic_kernels import pause
from margin.core.kernel_source import Integers, inner, kernel
from margin.core.team import BLOCKS, MOST_BLOCKS, THREADS
from margin.core.team_kernels import claim, finish, is_over, offer, wait_for
from margin.trees.boosting.bundle_kernels import best_shared_thresholds
from margin.trees.boosting.category_kernels import best_category_split
from margin.trees.boosting.histogram_kernels import add_parts, add_rows, subtract, take_rows
from margin.trees.boosting.kernel_types import CODES, COMPLETE, POOL_FULL
from margin.trees.boosting.node_kernels import (
    add_children,
    bound_children,
    keep_best,
    make_leaf,
    mark_sides,
    open_node,
    partition,
    take_next,
)
from margin.trees.boosting.sharing_kernels import (
    ARGUMENTS,
    CHUNK,
    DIVIDE,
    FILL,
    KIND,
    PLACE,
    SEARCH,
    describe_rows,
    take_part,
)
from margin.trees.boosting.split_kernels import best_threshold
from margin.trees.boosting.state_kernels import Growth

__all__ = ["assist", "give_back", "grow", "keep_node", "open_siblings", "search_columns"]

# Rows times columns of a node below which one thread is faster; finding the cuts takes as long as so many more rows.
SHARED_CELLS, ROWS_OF_SEARCH = 16_000, 400
SHARED_ROWS = 2_048  # of a node, for each thread, from which on threads share them
# What the board says of a search: the siblings, or the root and -1, and whether histograms of their rows are there.
SMALL, LARGE, FILLED = ARGUMENTS, ARGUMENTS + 1, ARGUMENTS + 2
PATIENCE = 4_000  # looks for work, some 20 nanoseconds each, after which a thread lets others go first


@kernel
def grow(growth: Growth, board: Integers) -> cython.longlong:
    """Grow a tree from its root; returns whether it is COMPLETE or the pool is full.

    With a larger pool the same call goes on where it stopped. In the end ``growth.rows`` are ordered by leaf.
    """
    small: cython.Py_ssize_t
    large: cython.Py_ssize_t
    at_root: cython.bint = growth.n_histograms == 0
    histograms = growth.pool.shape[0] // (growth.codes.shape[1] * CODES)
    while at_root or (growth.n_waiting > 0 and growth.n_leaves < growth.limits.max_leaves):
        if at_root:
            growth.n_histograms = 1
            at_root = False
            small = 0
            large = -1
        else:
            if growth.n_free == 0 and growth.n_histograms == histograms:
                return POOL_FULL
            small, large = _split_next(growth, board)
            if small < 0:
                continue
        if not open_siblings(growth, small, large):
            continue
        _search(growth, board, small, large)
        keep_node(growth, small, 0)
        if large >= 0:
            keep_node(growth, large, 1)
    for k in range(growth.n_waiting):  # could be split, but there are leaves enough
        make_leaf(growth, growth.waiting[k])
    return COMPLETE


@kernel
def assist(growth: Growth, board: Integers, thread: cython.longlong) -> cython.bint:
    """Take part in what :func:`grow` offers on the board; returns whether it is over.

    It comes back before that if there has been nothing to do for PATIENCE looks. Only who has claimed a block may read
    what grows: otherwise another tree may have begun.
    """
    idle: cython.Py_ssize_t = 0
    while idle < PATIENCE:
        if is_over(board):
            return True
        if _take_blocks(growth, board, thread) == 0:
            idle += 1
            pause()
        else:
            idle = 0
    return False


@inner
def _take_blocks(growth: Growth, board: Integers, thread: cython.longlong) -> cython.Py_ssize_t:
    """Take blocks of what the board offers until none is left; returns how many."""
    taken: cython.Py_ssize_t = 0
    block: cython.longlong = claim(board, thread)
    while block >= 0:
        if board[KIND] == SEARCH:
            _search_block(growth, block, board[BLOCKS], board[SMALL], board[LARGE], board[FILLED] != 0)
        else:
            take_part(growth, board, block)
        finish(board)
        taken += 1
        block = claim(board, thread)
    return taken


@inner
def _split_next(growth: Growth, board: Integers) -> tuple[cython.Py_ssize_t, cython.Py_ssize_t]:
    """Split a waiting node; returns its smaller and larger child, or -1 twice if it had to stay a leaf."""
    number = take_next(growth)
    node = growth.nodes[number]
    start: cython.Py_ssize_t = node.start
    stop: cython.Py_ssize_t = node.stop
    histogram: cython.longlong = node.histogram
    middle: cython.Py_ssize_t
    stored = mark_sides(growth, number)
    if board[THREADS] > 1 and stop - start > SHARED_ROWS * board[THREADS]:
        middle = _divide_together(growth, board, start, stop, stored)
    else:
        middle = partition(growth, start, stop, stored)
    if middle - start < growth.limits.min_leaf or stop - middle < growth.limits.min_leaf:
        make_leaf(growth, number)  # rows were counted by an estimate, which was too high
        give_back(growth, histogram)
        return -1, -1
    small, large = add_children(growth, number, middle)
    growth.nodes[large].histogram = histogram
    if growth.bounds is not None:
        bound_children(growth, number)
    return small, large


@inner
def _divide_together(
    growth: Growth,
    board: Integers,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    stored: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """:func:`partition` by all threads."""
    blocks = growth.lefts.shape[0]
    middle: cython.Py_ssize_t = start
    for kind in range(DIVIDE, PLACE + 1):
        describe_rows(board, kind, start, stop, stored)
        offer(board, blocks)
        _take_blocks(growth, board, 0)
        wait_for(board, blocks)
    for k in range(blocks):
        middle += growth.lefts[k]
    return middle


@inner
def open_siblings(growth: Growth, small: cython.Py_ssize_t, large: cython.Py_ssize_t) -> cython.bint:
    """Open two siblings (or the root, ``large`` being -1) and give histograms to those that are searched, if any is."""
    further: cython.bint = growth.n_leaves < growth.limits.max_leaves
    found: cython.bint = open_node(growth, small, 0, further)
    if large < 0:
        return found
    found |= open_node(growth, large, 1, further)
    if not found:
        give_back(growth, growth.nodes[large].histogram)
    elif growth.n_free > 0:
        growth.n_free -= 1
        growth.nodes[small].histogram = growth.free[growth.n_free]
    else:
        growth.nodes[small].histogram = growth.n_histograms
        growth.n_histograms += 1
    return found


@inner
def give_back(growth: Growth, histogram: cython.longlong) -> cython.void:
    growth.free[growth.n_free] = histogram
    growth.n_free += 1


@inner
def keep_node(growth: Growth, number: cython.Py_ssize_t, side: cython.Py_ssize_t) -> cython.void:
    """A node that was searched waits to be split, or is a leaf and gives its histogram back."""
    if keep_best(growth, number, side):
        growth.waiting[growth.n_waiting] = number
        growth.n_waiting += 1
    else:
        give_back(growth, growth.nodes[number].histogram)


@inner
def _search(growth: Growth, board: Integers, small: cython.Py_ssize_t, large: cython.Py_ssize_t) -> cython.void:
    """Histograms and best splits of two siblings, by all threads if that is worth it."""
    q = growth.codes.shape[1]
    blocks: cython.Py_ssize_t = (q + CHUNK - 1) // CHUNK
    threads: cython.Py_ssize_t = board[THREADS]
    count = growth.nodes[small].stop - growth.nodes[small].start
    if threads == 1 or (count + ROWS_OF_SEARCH) * q < SHARED_CELLS:
        for block in range(blocks):
            _search_block(growth, block, blocks, small, large, False)
        return
    filled: cython.bint = growth.nodes[small].searched and growth.parts.shape[0] > 0 and count > SHARED_ROWS * threads
    if filled:
        describe_rows(board, FILL, growth.nodes[small].start, growth.nodes[small].stop, 0)
        offer(board, threads)
        _take_blocks(growth, board, 0)
        wait_for(board, threads)
    blocks = max(min(blocks, MOST_BLOCKS), min(q, threads))
    board[KIND] = SEARCH
    board[SMALL] = small
    board[LARGE] = large
    board[FILLED] = filled
    offer(board, blocks)
    _take_blocks(growth, board, 0)
    wait_for(board, blocks)


@inner
def _search_block(
    growth: Growth,
    block: cython.Py_ssize_t,
    blocks: cython.Py_ssize_t,
    small: cython.Py_ssize_t,
    large: cython.Py_ssize_t,
    filled: cython.bint,
) -> cython.void:
    """Histograms and best splits of two siblings in some stored columns; ``large`` is -1 for the root alone.

    The histograms of ranges of the smaller one's rows are in ``growth.parts`` if it is ``filled``.
    """
    q = growth.codes.shape[1]
    first = q * block // blocks
    last = q * (block + 1) // blocks
    whole = q * CODES
    node = growth.nodes[small]
    if node.searched:
        at = node.histogram * whole
        if filled:
            add_parts(growth.parts, whole, first, last, growth.pool, at)
        else:
            add_rows(growth.codes, growth.rows, node.start, node.stop, growth.packed, first, last, growth.pool, at)
        search_columns(growth, block * CODES, first, last, small, 0)
    if large >= 0 and growth.nodes[large].searched:
        at = growth.nodes[large].histogram * whole
        if node.searched:
            subtract(growth.pool, at, node.histogram * whole, first, last)
        else:
            take_rows(growth.codes, growth.rows, node.start, node.stop, growth.packed, first, last, growth.pool, at)
        search_columns(growth, block * CODES, first, last, large, 1)


@inner
def search_columns(
    growth: Growth,
    own: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    number: cython.Py_ssize_t,
    side: cython.Py_ssize_t,
) -> cython.void:
    """The best splits of a node in stored columns ``first`` to ``last``, whose histograms are there."""
    total = growth.nodes[number].total
    start = growth.nodes[number].histogram * growth.codes.shape[1] * CODES
    leader: cython.double = -1.0
    j: cython.Py_ssize_t
    for stored in range(first, last):
        at = start + stored * CODES
        j = stored
        if growth.members is not None:
            j = growth.members[growth.member_start[stored]]
            if growth.columns[j].base >= 0:
                best_shared_thresholds(growth, own, at, stored, total, number, side)
                continue
        if not growth.candidates[side, j].allowed:
            continue
        n_bins = growth.columns[j].n_bins
        if growth.category_sets is not None and growth.columns[j].categorical:
            gain, cut = best_category_split(growth, own, at, n_bins, total, number)
        else:
            gain, cut, missing_side = best_threshold(
                growth, own, at, n_bins, total, growth.columns[j].monotone, number, leader
            )
            growth.candidates[side, j].missing_side = missing_side
            leader = max(leader, gain)
        growth.candidates[side, j].gain = gain
        growth.candidates[side, j].cut = cut
