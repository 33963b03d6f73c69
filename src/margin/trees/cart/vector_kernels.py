r"""Splits by several sums at once: trees of several targets, and the Poisson criterion.

A row adds its weight to channel 0 and to further *channels*: to the channel of its class of every target, or, times the
target, to one channel per target of numbers. With :math:`S_q` the sum of channel q and :math:`W` that of channel 0, up
to terms that no cut changes the weighted decrease of impurity is, summed over targets,

.. math::
    \sum_{q\ge1} \frac{S_{Lq}^2}{W_L} + \frac{S_{Rq}^2}{W_R}, \qquad
    \sum_{q\ge1} S_{Lq}\log\frac{S_{Lq}}{W_L} + S_{Rq}\log\frac{S_{Rq}}{W_R} ,

the first for Gini and squared error, the second for entropy and for the deviance of a Poisson distribution.
"""

from __future__ import annotations

import cython

from margin.core.elementary_kernels import log
from margin.core.kernel_source import Vector, inner
from margin.trees.cart.candidate_kernels import gain_to_beat, is_allowed, order_by_score
from margin.trees.cart.grouping_kernels import POSITION, clear_groups, is_sorting_better, sort_keys, take_channels
from margin.trees.cart.kernel_types import MULTI_ENTROPY, MULTI_GINI, POISSON
from margin.trees.cart.records_kernels import NewTrees, PlacedRows, Search, SplitRules

__all__ = ["best_vector_cut", "group_vectors", "sum_vectors"]

POSITIVE = 1e-12  # fraction of a node's sum that each side of a Poisson split needs: a mean must be positive


@inner
def add_row(
    rows: PlacedRows, classes: cython.bint, i: cython.Py_ssize_t, sums: Vector, first: cython.Py_ssize_t
) -> cython.void:
    """Add row ``i`` to its channels, which begin at ``sums[first]``."""
    w = rows.weights[i]
    at = cython.cast(cython.Py_ssize_t, rows.targets[i])
    sums[first] += w
    if classes:
        for target in range(rows.several.shape[0]):
            sums[first + 1 + cython.cast(cython.Py_ssize_t, rows.several[target, at])] += w
    else:
        for target in range(rows.several.shape[0]):
            sums[first + 1 + target] += w * rows.several[target, at]


@inner
def sums_classes(rules: SplitRules) -> cython.bint:
    """Whether the channels are weights of classes, not sums of numbers."""
    return rules.mode == MULTI_GINI or rules.mode == MULTI_ENTROPY


@inner
def sum_vectors(
    rules: SplitRules, rows: PlacedRows, search: Search, start: cython.Py_ssize_t, stop: cython.Py_ssize_t
) -> cython.void:
    """Sum the channels of a node."""
    classes = sums_classes(rules)
    for q in range(rules.classes):
        search.node_sums[q] = 0.0
    for i in range(start, stop):
        add_row(rows, classes, i, search.node_sums, 0)


@inner
def group_vectors(
    rules: SplitRules,
    rows: PlacedRows,
    search: Search,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    low: cython.longlong,
    high: cython.longlong,
    absent: cython.longlong,
    missing: cython.longlong,
) -> cython.Py_ssize_t:
    """The sums of all channels, and the rows, of every group; see :mod:`margin.trees.cart.grouping_kernels`."""
    groups: cython.Py_ssize_t = -1
    last: cython.longlong = -1
    k = rules.classes
    classes = sums_classes(rules)
    if is_sorting_better(n, high - low, (high - low + 1) * k):
        sort_keys(search, n, low, missing if absent else high)
        clear_groups(search, n, high - low, k)
        for i in range(n):
            code = search.keys[i] >> 32
            if code != last:
                groups += 1
                search.group_codes[groups] = code
                search.group_rows[groups] = 0
                last = code
            add_row(rows, classes, start + (search.keys[i] & POSITION), search.group_sums, groups * k)
            search.group_rows[groups] += 1
        return groups + 1
    for i in range(n):
        c = cython.cast(cython.Py_ssize_t, search.node_codes[i])
        add_row(rows, classes, start + i, search.sums, c * k)
        search.row_counts[c] += 1
    return take_channels(search, low, high, absent, missing, k)


@inner
def best_vector_cut(
    rules: SplitRules,
    search: Search,
    tree: NewTrees,
    at: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    groups: cython.Py_ssize_t,
    absent: cython.longlong,
    ordered: cython.bint,
    best_gain: cython.double,
) -> tuple[cython.double, cython.Py_ssize_t, cython.bint]:
    """As :func:`~margin.trees.cart.class_split_kernels.best_class_cut`, every channel giving an order."""
    gain: cython.double = best_gain
    cut: cython.Py_ssize_t = -1
    other: cython.Py_ssize_t
    left: cython.double = 0.0
    other_left: cython.double
    if ordered:
        for q in range(1, rules.classes):
            _order_by_channel(search, q, rules.classes, groups)
            gain, other, other_left = _scan_channels(rules, search, tree, at, j, groups - 1, -1, True, gain)
            if other >= 0:
                cut, left = other, other_left
                for i in range(groups):
                    search.best_order[i] = search.split_order[i]
        for i in range(groups):
            search.split_order[i] = search.best_order[i]
        return (gain, cut, left > 0.5 * tree.nodes[at].weight)
    known: cython.Py_ssize_t = groups - 1 if absent > 0 else groups
    gain, cut, left = _scan_channels(rules, search, tree, at, j, known - (known == groups), -1, False, gain)
    if known < groups:
        gain, other, left = _scan_channels(rules, search, tree, at, j, known - 1, known, False, gain)
        return (gain, other, True) if other >= 0 else (gain, cut, False)
    return (gain, cut, left > 0.5 * tree.nodes[at].weight)


@inner
def _order_by_channel(
    search: Search, q: cython.Py_ssize_t, k: cython.Py_ssize_t, groups: cython.Py_ssize_t
) -> cython.void:
    for i in range(groups):
        search.gains[i] = search.group_sums[i * k + q] / search.group_sums[i * k]
    order_by_score(search, groups)


@inner
def _scan_channels(
    rules: SplitRules,
    search: Search,
    tree: NewTrees,
    at: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    cuts: cython.Py_ssize_t,
    missing_group: cython.Py_ssize_t,
    in_order: cython.bint,
    best_gain: cython.double,
) -> tuple[cython.double, cython.Py_ssize_t, cython.double]:
    """The best of the first ``cuts`` cuts and the weight on its left; ``missing_group`` >= 0 goes left first."""
    cut: cython.Py_ssize_t = -1
    best_left: cython.double = 0.0
    rows_left: cython.longlong = 0
    gain: cython.double
    k = rules.classes
    weight = tree.nodes[at].weight
    for q in range(k):
        search.left_sums[q] = 0.0
    if missing_group >= 0:
        rows_left = search.group_rows[missing_group]
        for q in range(k):
            search.left_sums[q] = search.group_sums[missing_group * k + q]
    least: cython.double = gain_to_beat(best_gain)
    for b in range(cuts):
        group = search.split_order[b] if in_order else b
        rows_left += search.group_rows[group]
        wl = search.left_sums[0] + search.group_sums[group * k]
        wr = weight - wl
        search.left_sums[0] = wl
        if rules.mode == MULTI_ENTROPY or rules.mode == POISSON:
            gain = _add_logarithmic(search, k, group, wl, wr)
        else:
            gain = _add_squared(search, k, group, wl, wr)
        if gain > least and (rules.mode != POISSON or _is_positive(search, k)):
            last = search.left_sums[k - 1]
            if is_allowed(rules, tree, at, j, wl, rows_left, last / wl, (search.node_sums[k - 1] - last) / wr):
                best_gain, cut, best_left = gain, b, wl
                least = gain_to_beat(best_gain)
    return (best_gain, cut, best_left)


@inner
def _add_squared(
    search: Search, k: cython.Py_ssize_t, group: cython.Py_ssize_t, wl: cython.double, wr: cython.double
) -> cython.double:
    """Add a group to what lies left of the cut; the score of both sides."""
    score_left: cython.double = 0.0
    score_right: cython.double = 0.0
    for q in range(1, k):
        lq = search.left_sums[q] + search.group_sums[group * k + q]
        rq = search.node_sums[q] - lq
        search.left_sums[q] = lq
        score_left += lq * lq
        score_right += rq * rq
    return score_left / wl + score_right / wr


@inner
def _add_logarithmic(
    search: Search, k: cython.Py_ssize_t, group: cython.Py_ssize_t, wl: cython.double, wr: cython.double
) -> cython.double:
    """:func:`_add_squared` for entropy and Poisson."""
    score_left: cython.double = 0.0
    score_right: cython.double = 0.0
    for q in range(1, k):
        lq = search.left_sums[q] + search.group_sums[group * k + q]
        rq = search.node_sums[q] - lq
        search.left_sums[q] = lq
        score_left += lq * log(lq / wl) if lq > 0 else 0.0
        score_right += rq * log(rq / wr) if rq > 0 else 0.0
    return score_left + score_right


@inner
def _is_positive(search: Search, k: cython.Py_ssize_t) -> cython.bint:
    """Whether the means of all targets are positive on both sides."""
    for q in range(1, k):
        floor = POSITIVE * search.node_sums[q]
        if search.left_sums[q] <= floor or search.node_sums[q] - search.left_sums[q] <= floor:
            return False
    return True
