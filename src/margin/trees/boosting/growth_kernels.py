"""A tree grown on histograms, leaf by leaf, compiled by Numba.

The open leaf that gains most is split next. Of its two children the smaller gets its histogram from its rows, the
other one by subtraction.

What only some tables need is an argument that may be None (``category_sets`` without categorical columns, ``members``
without shared columns, ``bounds`` without monotone constraints, ``groups`` without interaction constraints, ``seed``
if nothing is drawn, ``board`` on one thread): Numba compiles one version per combination that is met, each without
what it does not need.
"""

from __future__ import annotations

import numpy as np

from margin.core.atomic_kernels import pause
from margin.core.cached_kernels import cached_kernel, inner_kernel, separate_kernel
from margin.core.team_kernels import BLOCKS, MOST_BLOCKS, THREADS, claim, finish, is_over, offer, wait_for
from margin.trees.boosting.bundle_kernels import best_shared_thresholds
from margin.trees.boosting.category_kernels import best_category_split
from margin.trees.boosting.histogram_kernels import add_parts, add_rows, subtract, take_rows
from margin.trees.boosting.kernel_types import COMPLETE, IDLE, POOL_FULL
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

__all__ = ["grow"]

# Rows times columns of a node below which one thread is faster; finding the cuts takes as long as so many more rows.
SHARED_CELLS, ROWS_OF_SEARCH = 16_000, 400
SHARED_ROWS = 2_048  # of a node, for each thread, from which on threads share them
# What the board says of a search: the siblings, or the root and -1, and whether histograms of their rows are there.
SMALL, LARGE, FILLED = ARGUMENTS, ARGUMENTS + 1, ARGUMENTS + 2
PATIENCE = 4_000  # looks for work, some 20 nanoseconds each, after which a thread lets others go first


@inner_kernel
def _search_columns(
    block, first, last, small, large, filled, codes, columns, rows, packed, packing, limits, nodes, pool,
    candidates, scratch, gains, gain_bits, category_sets, bounds, members, member_start, parts,
):  # fmt: skip
    """Histograms and best splits of two siblings in some stored columns; ``large`` is -1 for the root alone.

    The histograms of ranges of the smaller one's rows are in ``parts`` if it is ``filled``.
    """
    sums, buffer, gain, bits = scratch[block, 0], scratch[block, 1], gains[block], gain_bits[block]
    for side in range(2):
        number = small if side == 0 else large
        if number < 0:
            continue
        node = nodes[number]
        histogram = pool[node.histogram]
        if not node.searched:
            continue
        if parts is not None and side == 0 and filled:
            add_parts(parts, first, last, histogram)
        elif side == 0:
            add_rows(codes, rows, node.start, node.stop, packed, first, last, histogram)
        elif nodes[small].searched:
            subtract(histogram, pool[nodes[small].histogram], first, last)
        else:
            taken = nodes[small]
            take_rows(codes, rows, taken.start, taken.stop, packed, first, last, histogram)
        total, leader = node.total, -1.0
        for stored in range(first, last):
            own = histogram[stored * 256 : (stored + 1) * 256]
            j = stored
            if members is not None:
                j = members[member_start[stored]]
                if columns[j].base >= 0:
                    sharing = members[member_start[stored] : member_start[stored + 1]]
                    best_shared_thresholds(
                        *(own, sharing, total, columns, packing, limits, number, bounds, sums, gain, bits),
                        *(candidates, side),
                    )
                    continue
            best, column = candidates[side, j], columns[j]
            if not best.allowed:
                continue
            if category_sets is not None and column.categorical:
                best.gain, best.cut = best_category_split(
                    own, column.n_bins, total, packing, limits, number, bounds, sums, buffer, gain, bits
                )
                continue
            best.gain, best.cut, best.missing_side = best_threshold(
                own, column.n_bins, total, packing, limits, column.monotone, number, bounds, sums, gain, bits, leader
            )
            leader = max(leader, best.gain)


@separate_kernel
def _work(
    board, thread, alone, codes, columns, rows, spare, packed, packing, limits, nodes, pool, candidates, scratch,
    gains, gain_bits, goes_left, category_sets, bounds, members, member_start, lefts, parts,
):  # fmt: skip
    """Take blocks of what the board offers until none is left, or do all that it describes ``alone``; how many."""
    taken, block, q = 0, np.int64(0) if alone else claim(board, thread), codes.shape[1]
    while block >= 0:
        if board[KIND] == SEARCH:
            blocks = board[BLOCKS]
            _search_columns(
                *(block, q * block // blocks, q * (block + 1) // blocks, board[SMALL], board[LARGE]),
                *(board[FILLED] != 0, codes, columns, rows, packed, packing, limits, nodes, pool, candidates),
                *(scratch, gains, gain_bits, category_sets, bounds, members, member_start, parts),
            )
        else:
            take_part(block, board, codes, rows, spare, packed, goes_left, lefts, parts)
        taken += 1
        if alone:
            block = block + 1 if block + 1 < board[BLOCKS] else -1
        else:
            finish(board)
            block = claim(board, thread)
    return taken


@inner_kernel
def _assist(
    board, thread, codes, columns, rows, spare, packed, packing, limits, nodes, pool, candidates, scratch, gains,
    gain_bits, goes_left, category_sets, bounds, members, member_start, lefts, parts,
):  # fmt: skip
    """Take part in what ``grow`` offers on the board; returns whether it is over.

    It comes back before that if there has been nothing to do for PATIENCE looks.
    """
    idle = 0
    while idle < PATIENCE:
        if is_over(board):
            return True
        taken = _work(
            *(board, thread, False, codes, columns, rows, spare, packed, packing, limits, nodes, pool, candidates),
            *(scratch, gains, gain_bits, goes_left, category_sets, bounds, members, member_start, lefts, parts),
        )
        if taken == 0:
            idle += 1
            pause()
        else:
            idle = 0
    return False


@cached_kernel
def grow(
    codes, columns, rows, spare, packed, packing, limits, nodes, pool, candidates, scratch, gains, gain_bits,
    order, goes_left, waiting, free, progress, seed, board, thread, category_sets, bounds, members, member_start,
    groups, active, lefts, parts,
):  # fmt: skip
    """Grow a tree from its root ``nodes[0]``; returns whether it is COMPLETE or the pool is full.

    With a larger pool, which begins with what the old one held, the same call goes on where it stopped. In the end
    ``rows`` are ordered by leaf. Work that is large enough is offered on the ``board`` to other threads. These make the
    same call with a ``thread`` above 0 (:func:`_assist`): another kernel would be compiled from the same parts.
    """
    if board is not None and thread > 0:
        over = _assist(
            *(board, thread, codes, columns, rows, spare, packed, packing, limits, nodes, pool, candidates),
            *(scratch, gains, gain_bits, goes_left, category_sets, bounds, members, member_start, lefts, parts),
        )
        return COMPLETE if over else IDLE
    state, q = progress[0], codes.shape[1]
    n_nodes, n_leaves, n_waiting = state.n_nodes, state.n_leaves, state.n_waiting
    n_free, n_histograms = state.n_free, state.n_histograms
    at_root, outcome, threads = n_histograms == 0, COMPLETE, np.int64(1)
    if board is not None:
        threads = board[THREADS]
    while at_root or (n_waiting > 0 and n_leaves < limits.max_leaves):
        if at_root:
            n_histograms, at_root, small, large = np.int64(1), False, np.int64(0), np.int64(-1)
        else:
            if n_free == 0 and n_histograms == pool.shape[0]:
                outcome = POOL_FULL
                break
            number = take_next(waiting, n_waiting, nodes, limits)
            n_waiting -= 1
            node = nodes[number]
            column = mark_sides(number, nodes, columns, goes_left, category_sets)
            if board is not None and node.stop - node.start > SHARED_ROWS * threads:
                for kind in range(DIVIDE, PLACE + 1):
                    describe_rows(board, kind, node.start, node.stop, column)
                    offer(board, lefts.size)
                    _work(
                        *(board, thread, False, codes, columns, rows, spare, packed, packing, limits, nodes, pool),
                        *(candidates, scratch, gains, gain_bits, goes_left, category_sets, bounds, members),
                        *(member_start, lefts, parts),
                    )
                    wait_for(board, lefts.size)
                middle = node.start
                for k in range(lefts.size):
                    middle += lefts[k]
            else:
                middle = partition(node.start, node.stop, column, codes, rows, spare, goes_left)
            if middle - node.start < limits.min_leaf or node.stop - middle < limits.min_leaf:
                make_leaf(number, nodes)  # rows were counted by an estimate, which was too high
                free[n_free] = node.histogram
                n_free += 1
                continue
            small, large = add_children(number, middle, n_nodes, nodes, rows, packed, groups, active)
            nodes[large].histogram = node.histogram
            n_nodes += 2
            n_leaves += 1
            if bounds is not None:
                bound_children(number, columns[node.feature].monotone, packing, limits, nodes, bounds)
        found, further = False, n_leaves < limits.max_leaves
        for side in range(2):
            child = small if side == 0 else large
            if child >= 0:
                found |= open_node(child, side, further, nodes, limits, seed, groups, active, order, candidates)
        if large >= 0:
            if not found:
                free[n_free] = nodes[large].histogram
                n_free += 1
            elif n_free > 0:
                n_free -= 1
                nodes[small].histogram = free[n_free]
            else:
                nodes[small].histogram = n_histograms
                n_histograms += 1
        if not found:
            continue
        if board is not None:
            count = nodes[small].stop - nodes[small].start
            alone = (count + ROWS_OF_SEARCH) * q < SHARED_CELLS
            filled = nodes[small].searched and parts.shape[0] > 1 and count > SHARED_ROWS * threads
            for searches in range(0 if filled else 1, 2):
                if searches == 0:
                    blocks = parts.shape[0]
                    describe_rows(board, FILL, nodes[small].start, nodes[small].stop, 0)
                else:
                    blocks = max(min((q + CHUNK - 1) // CHUNK, MOST_BLOCKS), 1 if alone else min(q, threads))
                    board[KIND], board[SMALL], board[LARGE], board[FILLED] = SEARCH, small, large, filled
                if alone:
                    board[BLOCKS] = blocks
                else:
                    offer(board, blocks)
                _work(
                    *(board, thread, alone, codes, columns, rows, spare, packed, packing, limits, nodes, pool),
                    *(candidates, scratch, gains, gain_bits, goes_left, category_sets, bounds, members),
                    *(member_start, lefts, parts),
                )
                if not alone:
                    wait_for(board, blocks)
        else:
            blocks = (q + CHUNK - 1) // CHUNK
            for block in range(blocks):
                _search_columns(
                    *(block, q * block // blocks, q * (block + 1) // blocks, small, large, False, codes, columns),
                    *(rows, packed, packing, limits, nodes, pool, candidates, scratch, gains, gain_bits),
                    *(category_sets, bounds, members, member_start, parts),
                )
        for side in range(2):
            child = small if side == 0 else large
            if child < 0:
                continue
            if keep_best(
                child, side, nodes, columns, candidates, packing, limits, pool, seed, order, gains[0], category_sets
            ):
                waiting[n_waiting] = child
                n_waiting += 1
            else:
                free[n_free] = nodes[child].histogram
                n_free += 1
    state.n_nodes, state.n_leaves, state.n_waiting = n_nodes, n_leaves, n_waiting
    state.n_free, state.n_histograms = n_free, n_histograms
    if outcome == COMPLETE:
        for k in range(n_waiting):  # could be split, but there are leaves enough
            make_leaf(waiting[k], nodes)
    return outcome
