"""A tree grown on histograms, leaf by leaf, compiled by Numba.

The open leaf that gains most is split next. Of its two children the smaller gets its histogram from its rows, the
other one by subtraction.

What only some tables need is an argument that may be None (``category_sets`` without categorical columns, ``members``
without shared columns, ``bounds`` without monotone constraints, ``groups`` without interaction constraints, ``seed``
if nothing is drawn, ``shared`` on one thread): Numba compiles one version per combination that is met, each without
what it does not need.
"""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import cached_kernel, inner_kernel
from margin.trees.boosting.bundle_kernels import best_shared_thresholds
from margin.trees.boosting.category_kernels import best_category_split
from margin.trees.boosting.histogram_kernels import add_rows, subtract, take_rows
from margin.trees.boosting.kernel_types import COMPLETE, POOL_FULL, SEARCH_WANTED
from margin.trees.boosting.node_kernels import (
    add_children,
    bound_children,
    keep_best,
    make_leaf,
    open_node,
    partition,
    take_next,
)
from margin.trees.boosting.split_kernels import best_threshold

__all__ = ["grow", "search"]

SHARED_CELLS = 150_000  # rows times columns of a node below which one thread is faster
# Columns that are searched together. Their histograms lie 2 KiB apart: the same codes of more columns than this would
# compete for the same places of the first cache (32 KiB, 8 ways).
CHUNK = 16


@inner_kernel
def _search_columns(
    block,
    first,
    last,
    small,
    large,
    codes,
    columns,
    rows,
    packed,
    packing,
    limits,
    nodes,
    pool,
    candidates,
    scratch,
    gains,
    gain_bits,
    category_sets,
    bounds,
    members,
    member_start,
):
    """Histograms and best splits of two siblings in some stored columns; ``large`` is -1 for the root alone."""
    sums, buffer, gain, bits = scratch[block, 0], scratch[block, 1], gains[block], gain_bits[block]
    for side in range(2):
        number = small if side == 0 else large
        if number < 0:
            continue
        node = nodes[number]
        histogram = pool[node.histogram]
        if not node.searched:
            continue
        if side == 0:
            add_rows(codes, rows, node.start, node.stop, packed, first, last, histogram)
        elif nodes[small].searched:
            subtract(histogram, pool[nodes[small].histogram], first, last)
        else:
            taken = nodes[small]
            take_rows(codes, rows, taken.start, taken.stop, packed, first, last, histogram)
        total = node.total
        for stored in range(first, last):
            own = histogram[stored * 256 : (stored + 1) * 256]
            j = stored
            if members is not None:
                j = members[member_start[stored]]
                if columns[j].base >= 0:
                    sharing = members[member_start[stored] : member_start[stored + 1]]
                    best_shared_thresholds(
                        own,
                        sharing,
                        total,
                        columns,
                        packing,
                        limits,
                        number,
                        bounds,
                        sums,
                        gain,
                        bits,
                        candidates,
                        side,
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
                own,
                column.n_bins,
                total,
                packing,
                limits,
                column.monotone,
                number,
                bounds,
                sums,
                gain,
                bits,
            )


@cached_kernel
def search(
    low,
    high,
    blocks,
    progress,
    codes,
    columns,
    rows,
    packed,
    packing,
    limits,
    nodes,
    pool,
    candidates,
    scratch,
    gains,
    gain_bits,
    category_sets,
    bounds,
    members,
    member_start,
):
    """Search blocks ``low`` to ``high`` of the columns, cut into ``blocks``, for the two nodes of ``progress``."""
    small, large, q = progress[0].small, progress[0].large, codes.shape[1]
    for block in range(low, high):
        _search_columns(
            block,
            q * block // blocks,
            q * (block + 1) // blocks,
            small,
            large,
            codes,
            columns,
            rows,
            packed,
            packing,
            limits,
            nodes,
            pool,
            candidates,
            scratch,
            gains,
            gain_bits,
            category_sets,
            bounds,
            members,
            member_start,
        )


@cached_kernel
def grow(
    codes,
    columns,
    rows,
    spare,
    packed,
    packing,
    limits,
    nodes,
    pool,
    candidates,
    scratch,
    gains,
    gain_bits,
    order,
    goes_left,
    waiting,
    free,
    progress,
    seed,
    shared,
    category_sets,
    bounds,
    members,
    member_start,
    groups,
    active,
):
    """Grow a tree from its root ``nodes[0]``; returns whether it is COMPLETE, and what it needs if it is not.

    With a larger pool, which begins with what the old one held, or after ``search``, the same call goes on where it
    stopped. In the end ``rows`` are ordered by leaf.
    """
    state, q = progress[0], codes.shape[1]
    n_nodes, n_leaves, n_waiting = state.n_nodes, state.n_leaves, state.n_waiting
    n_free, n_histograms = state.n_free, state.n_histograms
    small, large, at_root, outcome = state.small, state.large, n_histograms == 0, COMPLETE
    searched = small >= 0  # the call before stopped for it
    state.small = -1
    while searched or at_root or (n_waiting > 0 and n_leaves < limits.max_leaves):
        if not searched:
            if at_root:
                n_histograms, at_root, small, large = np.int64(1), False, np.int64(0), np.int64(-1)
            else:
                if n_free == 0 and n_histograms == pool.shape[0]:
                    outcome = POOL_FULL
                    break
                number = take_next(waiting, n_waiting, nodes, limits)
                n_waiting -= 1
                node = nodes[number]
                middle = partition(number, nodes, columns, codes, rows, spare, goes_left, category_sets)
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
            if shared is not None and (nodes[small].stop - nodes[small].start) * q > SHARED_CELLS:
                state.small, state.large, outcome = small, large, SEARCH_WANTED
                break
            blocks = (q + CHUNK - 1) // CHUNK
            for block in range(blocks):
                _search_columns(
                    block,
                    q * block // blocks,
                    q * (block + 1) // blocks,
                    small,
                    large,
                    codes,
                    columns,
                    rows,
                    packed,
                    packing,
                    limits,
                    nodes,
                    pool,
                    candidates,
                    scratch,
                    gains,
                    gain_bits,
                    category_sets,
                    bounds,
                    members,
                    member_start,
                )
        searched = False
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
