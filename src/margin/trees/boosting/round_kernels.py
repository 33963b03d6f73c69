"""A round of boosting on a small table as one call.

On a few hundred rows a tree grows in less time than Python needs to prepare it and to store it, so here derivatives
are packed, a tree per output is grown, its leaves get their Newton step, its nodes are stored and the predictions
moved, without a way through Python. The numbers are those of the steps one by one (``BoostingRounds._grow``).
"""

from __future__ import annotations

from math import isfinite

import cython

from margin.core.kernel_source import Integers, inner, kernel
from margin.trees.boosting.growth_kernels import grow
from margin.trees.boosting.histogram_kernels import pack
from margin.trees.boosting.kernel_types import NOT_FINITE
from margin.trees.boosting.node_kernels import UNBOUNDED, plant
from margin.trees.boosting.packing_kernels import choose_units
from margin.trees.boosting.state_kernels import Growth, Round

__all__ = ["grow_round"]


@kernel
def grow_round(
    growth: Growth, this: Round, number: cython.longlong, seed: cython.longlong, board: Integers
) -> tuple[cython.longlong, cython.longlong]:
    """A tree for every output of ``this`` round, the first being tree ``number``; ``board`` is that of one thread.

    Returns the leaves of all trees, or NOT_FINITE if the gradients have no finite sum, and the end of their sets of
    categories.
    """
    leaves: cython.longlong = 0
    first: cython.longlong = this.first
    first_set: cython.longlong = this.first_set
    n = growth.rows.shape[0]
    for output in range(this.gradient.shape[0]):
        total, total_hessian = _totals(this, output)
        if not isfinite(total):
            return NOT_FINITE, first_set
        choose_units(total, total_hessian, n, this.gradient_bits, this.hessian_bits, this.row_bits, growth.packing)
        pack(this.gradient[output], this.curvature[output], number + output, growth.packing, growth.packed)
        growth.seed = seed + number + output
        plant(growth, _number_rows(growth))
        grow(growth, board)
        first_set = _store_sets(growth, this, first, first_set)
        _settle(growth, this, output, first)
        first += growth.n_nodes
        this.stops[output] = first
        leaves += growth.n_leaves
    return leaves, first_set


@inner
def _totals(this: Round, output: cython.Py_ssize_t) -> tuple[cython.double, cython.double]:
    """Sums of absolute gradients and of hessians; rows count where there are none."""
    total: cython.double = 0.0
    total_hessian: cython.double = 0.0
    n = this.gradient.shape[1]
    for i in range(n):
        total += abs(this.gradient[output, i])
    if this.curvature.shape[1] == 0:
        return total, cython.cast(cython.double, n)
    for i in range(n):
        total_hessian += this.curvature[output, i]
    return total, total_hessian


@inner
def _number_rows(growth: Growth) -> cython.longlong:
    """All rows, in their order; returns the sum of what is packed."""
    total: cython.longlong = 0
    for i in range(growth.rows.shape[0]):
        growth.rows[i] = i
        total += growth.packed[i]
    return total


@inner
def _store_sets(growth: Growth, this: Round, first: cython.Py_ssize_t, first_set: cython.longlong) -> cython.longlong:
    """Store which categories go left, node by node from ``first_set`` on; returns where the next tree's begin."""
    for number in range(growth.n_nodes):
        this.stored[first + number].category_row = -1
        if growth.nodes[number].is_category:
            this.stored[first + number].category_row = first_set
            for k in range(growth.category_sets.shape[1]):
                this.stored_sets[first_set, k] = growth.category_sets[number, k]
            first_set += 1
    return first_set


@inner
def _settle(growth: Growth, this: Round, output: cython.Py_ssize_t, first: cython.Py_ssize_t) -> cython.void:
    """Value and store the nodes of a grown tree, and add its leaves to the predictions of their rows."""
    for number in range(growth.n_nodes - 1, -1, -1):  # children have larger numbers
        node = growth.nodes[number]
        to = first + number
        this.stored[to].feature = node.feature
        this.stored[to].left = node.left
        this.stored[to].right = node.right
        this.stored[to].code = node.code
        this.stored[to].missing_left = node.missing_left
        this.stored[to].gain = node.gain
        this.stored[to].n_samples = node.stop - node.start
        this.stored[to].threshold = 0.0
        if node.feature < 0:
            _settle_leaf(growth, this, output, number, to)
            continue
        a = this.stored[first + node.left]
        b = this.stored[first + node.right]
        weight = a.weight + b.weight
        this.stored[to].weight = weight
        this.stored[to].value = (a.weight * a.value + b.weight * b.value) / weight
        if not node.is_category:
            edge = this.offsets[node.feature] + node.code
            # Past the last edge lies every known value: the question is whether the value is missing.
            this.stored[to].threshold = this.edges[edge] if edge < this.offsets[node.feature + 1] else UNBOUNDED


@inner
def _settle_leaf(
    growth: Growth, this: Round, output: cython.Py_ssize_t, number: cython.Py_ssize_t, to: cython.Py_ssize_t
) -> cython.void:
    """The value and weight of a leaf, which its rows get."""
    start = growth.nodes[number].start
    stop = growth.nodes[number].stop
    down: cython.double = 0.0
    curve: cython.double = 0.0
    heavy: cython.double = 0.0
    curved: cython.bint = this.hessian.shape[1] > 0
    weighted: cython.bint = this.weight.shape[0] > 0
    for i in range(start, stop):
        row = growth.rows[i]
        down += this.gradient[output, row]
        curve += this.hessian[output, row] if curved else 1.0
        heavy += this.weight[row] if weighted else 1.0
    curve += this.l2
    step = -(down / curve if curve > this.least_curvature else 0.0)
    value = this.learning_rate * (this.leaf_factor * step)
    this.stored[to].value = value
    this.stored[to].weight = heavy
    for i in range(start, stop):
        this.predictions[output, growth.rows[i]] += value
