r"""The best cut of one column for squared error, and for two classes under Gini.

Up to terms that no cut changes, the weighted decrease of impurity is :math:`S_L^2/W_L + S_R^2/W_R`, with :math:`S` the
total of the targets (0 and 1 for two classes) and :math:`W` that of the weights.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import inner
from margin.trees.cart.candidate_kernels import gain_to_beat, is_allowed, order_by_mean
from margin.trees.cart.records_kernels import Rules, Search, Tree

__all__ = ["best_sum_cut"]


@inner
def best_sum_cut(
    rules: Rules,
    search: Search,
    tree: Tree,
    at: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    groups: cython.Py_ssize_t,
    absent: cython.longlong,
    ordered: cython.bint,
    count_rows: cython.bint,
    best_gain: cython.double,
) -> tuple[cython.double, cython.Py_ssize_t, cython.bint]:
    """The best gain, after how many groups to cut less one (-1: none beats ``best_gain``), missing on the left.

    Groups that are ``ordered`` are categories, which are put in order first.
    """
    gain: cython.double
    cut: cython.Py_ssize_t
    other: cython.Py_ssize_t
    if ordered:
        order_by_mean(search, groups)
    known: cython.Py_ssize_t = groups - 1 if absent > 0 and not ordered else groups
    _sum_left(search, known, ordered, count_rows)
    gain, cut = _scan_sums(rules, search, tree, at, j, known - (known == groups), 0.0, 0.0, 0, best_gain)
    if known < groups:
        weight = search.group_weights[known]
        total = search.group_totals[known]
        gain, other = _scan_sums(rules, search, tree, at, j, known - 1, weight, total, absent, gain)
        return (gain, other, True) if other >= 0 else (gain, cut, False)
    return (gain, cut, search.left_weights[cut if cut > 0 else 0] > 0.5 * tree.nodes[at].weight)


@inner
def _sum_left(search: Search, known: cython.Py_ssize_t, in_order: cython.bint, count_rows: cython.bint) -> cython.void:
    """What lies left of the cut after every group."""
    weight: cython.double = 0.0
    total: cython.double = 0.0
    rows: cython.longlong = 0
    for b in range(known):
        group = search.split_order[b] if in_order else b
        weight += search.group_weights[group]
        total += search.group_totals[group]
        search.left_weights[b] = weight
        search.left_totals[b] = total
    if count_rows:
        for b in range(known):
            rows += search.group_rows[search.split_order[b] if in_order else b]
            search.left_rows[b] = rows


@inner
def _scan_sums(
    rules: Rules,
    search: Search,
    tree: Tree,
    at: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    cuts: cython.Py_ssize_t,
    more_weight: cython.double,
    more_total: cython.double,
    more_rows: cython.longlong,
    best_gain: cython.double,
) -> tuple[cython.double, cython.Py_ssize_t]:
    """The best of the first ``cuts`` cuts if it beats what was found before, else -1."""
    cut: cython.Py_ssize_t = -1
    weight = tree.nodes[at].weight
    total = tree.nodes[at].total
    for b in range(cuts):
        wl = search.left_weights[b] + more_weight
        sl = search.left_totals[b] + more_total
        wr = weight - wl
        sr = total - sl
        search.gains[b] = (sl * sl * wr + sr * sr * wl) / (wl * wr)
    least: cython.double = gain_to_beat(best_gain)
    for b in range(cuts):
        if search.gains[b] > least:
            wl = search.left_weights[b] + more_weight
            sl = search.left_totals[b] + more_total
            rows_left = wl if rules.weight_is_count else cython.cast(cython.double, search.left_rows[b] + more_rows)
            if is_allowed(rules, tree, at, j, wl, rows_left, sl / wl, (total - sl) / (weight - wl)):
                best_gain = search.gains[b]
                cut = b
                least = gain_to_beat(best_gain)
    return (best_gain, cut)
