"""A round of boosting on a small table, compiled by Numba as one call.

On a few hundred rows a tree grows in less time than Python needs to prepare it and to store it, so here derivatives
are packed, a tree per output is grown, its leaves get their Newton step, its nodes are stored and the predictions
moved, without a way through Python. The numbers are those of the steps one by one (``BoostingRounds._grow``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from margin.core.cached_kernels import cached_kernel, inner_kernel
from margin.trees.boosting.growth_kernels import grow
from margin.trees.boosting.histogram_kernels import pack_rows
from margin.trees.boosting.node_kernels import make_leaf
from margin.trees.boosting.packing_kernels import finest_packing

__all__ = ["NOT_FINITE", "StepRules", "grow_round"]

NOT_FINITE = -1  # the gradients' sum is not

_grow = inner_kernel(grow.py_func)


class StepRules(NamedTuple):
    """What a leaf adds: ``factor`` times the Newton step, 0 where there is no curvature."""

    l2: float
    least_curvature: float
    leaf_factor: float
    learning_rate: float


@inner_kernel
def _totals(gradient, curvature):
    """Sums of absolute gradients and of hessians; rows count where there are none."""
    total = total_hessian = 0.0
    for i in range(gradient.size):
        total += abs(gradient[i])
    for i in range(curvature.size):
        total_hessian += curvature[i]
    return total, total_hessian if curvature.size else float(gradient.size)


@inner_kernel
def _plant(rows, packed, nodes, progress):
    """A root with all rows."""
    total = np.int64(0)
    for i in range(rows.size):
        rows[i] = i
        total += packed[i]
    make_leaf(0, nodes)
    root, state = nodes[0], progress[0]
    root.start, root.stop, root.depth, root.histogram, root.total = 0, rows.size, 0, 0, total
    root.searched = False
    state.n_nodes, state.n_leaves, state.n_waiting, state.n_free, state.n_histograms = 1, 1, 0, 0, 0


@inner_kernel
def _store_sets(nodes, count, category_sets, stored, first, stored_sets, first_set):
    """Store which categories go left, node by node from ``first_set`` on; returns where the next tree's begin."""
    for number in range(count):
        stored[first + number].category_row = -1
        if nodes[number].is_category:
            stored[first + number].category_row = first_set
            for k in range(category_sets.shape[1]):
                stored_sets[first_set, k] = category_sets[number, k]
            first_set += 1
    return first_set


@inner_kernel
def _settle(nodes, count, rows, gradient, hessian, weight, steps, offsets, edges, stored, first, predictions):
    """Value and store the nodes of a grown tree, and add its leaves to the predictions of their rows."""
    for number in range(count - 1, -1, -1):  # children have larger numbers
        node, kept = nodes[number], stored[first + number]
        kept.feature, kept.left, kept.right = node.feature, node.left, node.right
        kept.code, kept.missing_left = node.code, node.missing_left
        kept.gain, kept.n_samples, kept.threshold = node.gain, node.stop - node.start, 0.0
        if node.feature >= 0:
            a, b = stored[first + node.left], stored[first + node.right]
            kept.weight = a.weight + b.weight
            kept.value = (a.weight * a.value + b.weight * b.value) / kept.weight
            if not node.is_category:
                edge = offsets[node.feature] + node.code
                # Past the last edge lies every known value: the question is whether the value is missing.
                kept.threshold = edges[edge] if edge < offsets[node.feature + 1] else np.inf
            continue
        down = curve = heavy = 0.0
        for i in range(node.start, node.stop):
            row = rows[i]
            down += gradient[row]
            curve += hessian[row] if hessian.size else 1.0
            heavy += weight[row] if weight.size else 1.0
        curve += steps.l2
        step = -(down / curve if curve > steps.least_curvature else 0.0)
        kept.value, kept.weight = steps.learning_rate * (steps.leaf_factor * step), heavy
        for i in range(node.start, node.stop):
            predictions[rows[i]] += kept.value


@cached_kernel
def grow_round(
    codes,
    columns,
    rows,
    spare,
    packed,
    bits,
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
    category_sets,
    seed,
    number,
    gradient,
    curvature,
    hessian,
    weight,
    steps,
    offsets,
    edges,
    stored,
    first,
    stored_sets,
    first_set,
    stops,
    predictions,
):
    """A tree for every row of ``gradient`` (outputs, n), the first being tree ``number``.

    Splits are rated by ``curvature``, leaves by ``hessian`` (both (outputs, n), or without rows where they are 1).
    The nodes are written to ``stored`` from ``first`` on, sets of categories to ``stored_sets`` from ``first_set`` on,
    and where each tree ends to ``stops``. Returns the leaves of all trees and the end of their sets.

    It is compiled once for all tables: without categorical columns ``category_sets`` has no rows, and ``seed`` is there
    even if nothing is drawn.
    """
    leaves = 0
    for output in range(gradient.shape[0]):
        own, curved = gradient[output], curvature[output]
        total, total_hessian = _totals(own, curved)
        if not np.isfinite(total):
            return NOT_FINITE, first_set
        packing = finest_packing(total, total_hessian, own.size, bits)
        pack_rows(own, curved, number + output, packing.dithered, packing, packed)
        _plant(rows, packed, nodes, progress)
        _grow(
            *(codes, columns, rows, spare, packed, packing, limits, nodes, pool, candidates, scratch, gains),
            *(gain_bits, order, goes_left, waiting, free, progress, seed + number + output),
            *(None, 0, category_sets, None, None, None, None, None, None, None),
        )
        count = progress[0].n_nodes
        first_set = _store_sets(nodes, count, category_sets, stored, first, stored_sets, first_set)
        _settle(
            *(nodes, count, rows, own, hessian[output], weight, steps, offsets, edges, stored, first),
            predictions[output],
        )
        first += count
        stops[output] = first
        leaves += progress[0].n_leaves
    return leaves, first_set
