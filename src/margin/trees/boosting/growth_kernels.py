"""A tree grown on histograms, leaf by leaf, compiled by Numba.

The open leaf that gains most is split next. Of its two children the smaller gets its histogram from its rows, the
other one by subtraction; stored columns are shared out over threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from margin.core.jit_cache import sources_key
from margin.trees.boosting import bundle_kernels, histogram_kernels, kernel_types, node_kernels, split_kernels
from margin.trees.boosting.histogram_kernels import OPTIONS, add_rows, subtract
from margin.trees.boosting.node_kernels import (
    add_children,
    bound_children,
    claim,
    draw_columns,
    keep_best,
    make_leaf,
    may_split,
    partition,
    release,
    sum_children,
    take_next,
)
from margin.trees.boosting.split_kernels import best_category_split, best_shared_thresholds, best_threshold

__all__ = ["add_to_leaves", "grow", "leaf_sums", "node_means"]

PARALLEL_CELLS = 60_000  # rows times columns below which one thread is faster
CHUNK = 32  # columns whose histograms stay in the second-level cache


@njit(**OPTIONS)
def _search(histogram, total, node, table, packing, rules, nodes, allowed, first, last, gain, code, side):
    """The best split of a node in each column that is stored at ``first`` to ``last``."""
    sums, gains = np.empty(256, dtype=np.int64), np.empty(256)
    lower, upper = nodes.lower[node], nodes.upper[node]
    for place in range(first, last):
        own = histogram[place * 256 : (place + 1) * 256]
        j = table.members[table.first[place]]
        if table.base[j] >= 0:
            members = table.members[table.first[place] : table.first[place + 1]]
            best_shared_thresholds(
                own, members, total, table, packing, rules, lower, upper, sums, gains, gain, code, side
            )
        elif not allowed[j]:
            continue
        elif table.categorical[j]:
            gain[j], code[j] = best_category_split(
                own, table.n_bins[j], total, packing, rules, lower, upper, sums, gains
            )
        else:
            gain[j], code[j], side[j] = best_threshold(
                own, table.n_bins[j], total, packing, rules, table.monotone[j], lower, upper, sums, gains
            )


@njit(**OPTIONS)
def _study_columns(first, last, built, other, rows, cells, pool, totals, table, packing, rules, nodes, allowed, found):
    """Histograms and best splits of two siblings in some stored columns; ``other`` is -1 for the root alone."""
    gain, code, side = found
    small = pool[nodes.slot[built]]
    add_rows(table.codes, rows, nodes.start[built], nodes.stop[built], cells, first, last, small)
    if totals[0] != 0:
        _search(
            small, totals[0], built, table, packing, rules, nodes, allowed[0], first, last, gain[0], code[0], side[0]
        )
    if other >= 0 and totals[1] != 0:
        large = pool[nodes.slot[other]]
        subtract(large, small, first, last)
        _search(
            large, totals[1], other, table, packing, rules, nodes, allowed[1], first, last, gain[1], code[1], side[1]
        )


@njit(cache=True, nogil=True, error_model="numpy", parallel=True)
def _study_parallel(blocks, built, other, rows, cells, pool, totals, table, packing, rules, nodes, allowed, found):
    q = table.codes.shape[1]
    for block in prange(blocks):
        first, last = q * block // blocks, q * (block + 1) // blocks
        _study_columns(
            first, last, built, other, rows, cells, pool, totals, table, packing, rules, nodes, allowed, found
        )


@njit(**OPTIONS)
def _study(threads, built, other, rows, cells, pool, totals, table, packing, rules, nodes, allowed, found):
    """Histograms and best splits of two siblings."""
    q = table.codes.shape[1]
    blocks = (q + CHUNK - 1) // CHUNK
    if threads > 1 and (nodes.stop[built] - nodes.start[built]) * q > PARALLEL_CELLS:
        blocks = min(q, (blocks + threads - 1) // threads * threads)
        _study_parallel(blocks, built, other, rows, cells, pool, totals, table, packing, rules, nodes, allowed, found)
        return
    for block in range(blocks):
        first, last = q * block // blocks, q * (block + 1) // blocks
        _study_columns(
            first, last, built, other, rows, cells, pool, totals, table, packing, rules, nodes, allowed, found
        )


@njit(**OPTIONS)
def _plant(rows, cells, nodes):
    """The root: all rows, no bounds, the first histogram."""
    make_leaf(0, nodes)
    nodes.depth[0], nodes.slot[0], nodes.start[0], nodes.stop[0] = 0, 0, 0, rows.size
    nodes.lower[0], nodes.upper[0] = -np.inf, np.inf
    total = np.int64(0)
    for i in range(rows.size):
        total += cells[np.uint64(rows[i])]
    nodes.total[0] = total


@njit(**OPTIONS)
def _grow(table, rows, spare, cells, packing, rules, nodes, pool, seed, threads):
    p, capacity = table.n_bins.size, nodes.feature.size
    allowed = np.empty((2, p), dtype=np.bool_)
    found = np.empty((2, p)), np.empty((2, p), dtype=np.int64), np.empty((2, p), dtype=np.int64)
    gain, code, side = found
    totals = np.zeros(2, dtype=np.int64)
    waiting, count = np.empty(capacity, dtype=np.int64), 0
    free, book = np.empty(capacity, dtype=np.int64), np.array([0, 1])
    n_nodes, leaves, root, nobody = np.int64(1), 1, np.int64(0), np.int64(-1)
    _plant(rows, cells, nodes)
    if may_split(root, nodes, rules):
        totals[0] = nodes.total[root]
        draw_columns(root, rules, seed, allowed[0])
        _study(threads, root, nobody, rows, cells, pool, totals, table, packing, rules, nodes, allowed, found)
        if keep_best(root, nodes, gain[0], code[0], side[0], allowed[0], table, packing, rules, pool):
            waiting[0], count = root, 1
    while count > 0 and (rules.max_leaves == 0 or leaves < rules.max_leaves):
        node = take_next(waiting, count, nodes, rules)
        count -= 1
        middle = partition(node, nodes, table, rows, spare)
        if min(middle - nodes.start[node], nodes.stop[node] - middle) < rules.min_leaf:
            make_leaf(node, nodes)  # rows were counted by an estimate, which was too high
            release(nodes.slot[node], free, book)
            continue
        add_children(node, middle, n_nodes, nodes)
        n_nodes += 2
        leaves += 1
        small, large = sum_children(node, rows, cells, nodes)
        if rules.constrained:
            bound_children(node, table.monotone[nodes.feature[node]], packing, rules, nodes)
        further = rules.max_leaves == 0 or leaves < rules.max_leaves
        for k, child in enumerate((small, large)):
            totals[k] = nodes.total[child] if further and may_split(child, nodes, rules) else 0
            draw_columns(child, rules, seed, allowed[k])
        nodes.slot[large] = nodes.slot[node]
        if totals[0] == 0 and totals[1] == 0:
            release(nodes.slot[large], free, book)
            continue
        nodes.slot[small], pool = claim(free, book, pool)
        _study(threads, small, large, rows, cells, pool, totals, table, packing, rules, nodes, allowed, found)
        for k, child in enumerate((small, large)):
            if totals[k] != 0 and keep_best(
                child, nodes, gain[k], code[k], side[k], allowed[k], table, packing, rules, pool
            ):
                waiting[count] = child
                count += 1
            else:
                release(nodes.slot[child], free, book)
    for k in range(count):  # could be split, but there are leaves enough
        make_leaf(waiting[k], nodes)
    return n_nodes, pool


@njit(cache=True, nogil=True, error_model="numpy", parallel=True)
def leaf_sums(rows, start, stop, gradient, hessian, weight, sums):
    """Sums of gradient, hessian and weight over each leaf's rows, each in the order of the rows, into (leaves, 3).

    An empty ``hessian`` or ``weight`` counts every row as one.
    """
    for k in prange(start.size):
        g, h, w = 0.0, 0.0, 0.0
        for i in range(np.uint64(start[k]), np.uint64(stop[k])):
            row = np.uint64(rows[i])
            g += gradient[row]
            if hessian.size:
                h += hessian[row]
            if weight.size:
                w += weight[row]
        sums[k, 0] = g
        sums[k, 1] = h if hessian.size else float(stop[k] - start[k])
        sums[k, 2] = w if weight.size else float(stop[k] - start[k])


@njit(cache=True, nogil=True, parallel=True)
def add_to_leaves(rows, start, stop, value, predictions):
    """Add each leaf's value to the predictions of its rows."""
    for k in prange(start.size):
        for i in range(np.uint64(start[k]), np.uint64(stop[k])):
            predictions[np.uint64(rows[i])] += value[k]


@njit(cache=True, nogil=True, error_model="numpy")
def node_means(left, right, value, weight):
    """Fill weight and value of inner nodes, in place: sums and weighted means over the leaves below them."""
    for node in range(left.size - 1, -1, -1):  # children have larger numbers
        a, b = left[node], right[node]
        if a >= 0:
            weight[node] = weight[a] + weight[b]
            value[node] = (weight[a] * value[a] + weight[b] * value[b]) / weight[node]


def _kept(below: int) -> Any:
    @njit(**OPTIONS)
    def grow(table, rows, spare, cells, packing, rules, nodes, pool, seed, threads):
        """Grow a tree on ``rows``, which end up ordered by leaf; returns the number of nodes and the histogram pool."""
        below  # noqa: B018  part of the key under which Numba keeps the compiled code
        return _grow(table, rows, spare, cells, packing, rules, nodes, pool, seed, threads)

    return grow


grow = _kept(sources_key(bundle_kernels, histogram_kernels, node_kernels, split_kernels, kernel_types))
