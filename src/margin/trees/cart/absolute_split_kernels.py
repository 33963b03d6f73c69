"""The best cut of one column for absolute error: both sides are judged by their medians."""

from __future__ import annotations

import cython

from margin.core.kernel_source import inner
from margin.trees.cart.absolute_kernels import absolute_gains
from margin.trees.cart.candidate_kernels import gain_to_beat, is_allowed, order_by_mean
from margin.trees.cart.grouping_kernels import sort_keys
from margin.trees.cart.records_kernels import Rows, Rules, Search, Tree

__all__ = ["best_absolute_cut"]


@inner
def best_absolute_cut(
    rules: Rules,
    rows: Rows,
    search: Search,
    tree: Tree,
    at: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    groups: cython.Py_ssize_t,
    absent: cython.longlong,
    ordered: cython.bint,
    best_gain: cython.double,
) -> tuple[cython.double, cython.Py_ssize_t, cython.bint]:
    """As :func:`~margin.trees.cart.sum_split_kernels.best_sum_cut`; categories are ordered by their mean.

    ``node_codes`` becomes the position of every row's group in the order of the cuts.
    """
    gain: cython.double
    cut: cython.Py_ssize_t
    other: cython.Py_ssize_t
    start = tree.nodes[at].start
    n = tree.nodes[at].stop - start
    known: cython.Py_ssize_t = n
    known_groups: cython.Py_ssize_t = groups
    if ordered:
        order_by_mean(search, groups)
    elif absent > 0:
        known_groups, known = groups - 1, n - absent
    _number_groups(search, n, groups, ordered)
    sort_keys(search, n, 0, groups)
    absolute_gains(rows, search, start, n, known, known_groups, False)
    gain, cut = _scan_medians(rules, search, tree, at, j, known_groups - (known == n), 0, best_gain)
    if known < n:
        absolute_gains(rows, search, start, n, known, known_groups, True)
        gain, other = _scan_medians(rules, search, tree, at, j, known_groups - 1, absent, gain)
        return (gain, other, True) if other >= 0 else (gain, cut, False)
    return (gain, cut, search.left_weights[cut if cut > 0 else 0] > 0.5 * tree.nodes[at].weight)


@inner
def _number_groups(
    search: Search, n: cython.Py_ssize_t, groups: cython.Py_ssize_t, ordered: cython.bint
) -> cython.void:
    """Give every row the position of its group in the order of the cuts, and sum the rows left of every cut."""
    rows_left: cython.longlong = 0
    for b in range(groups):
        group = search.split_order[b] if ordered else b
        search.row_counts[search.group_codes[group]] = b  # the position of a code's group; zero again below
        rows_left += search.group_rows[group]
        search.left_rows[b] = rows_left
    for i in range(n):
        search.node_codes[i] = search.row_counts[search.node_codes[i]]
    for b in range(groups):
        search.row_counts[search.group_codes[b]] = 0


@inner
def _scan_medians(
    rules: Rules,
    search: Search,
    tree: Tree,
    at: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    cuts: cython.Py_ssize_t,
    more_rows: cython.longlong,
    best_gain: cython.double,
) -> tuple[cython.double, cython.Py_ssize_t]:
    cut: cython.Py_ssize_t = -1
    least: cython.double = gain_to_beat(best_gain)
    for b in range(cuts):
        if search.gains[b] > least and is_allowed(
            rules,
            tree,
            at,
            j,
            search.left_weights[b],
            search.left_rows[b] + more_rows,
            search.left_medians[b],
            search.right_medians[b],
        ):
            best_gain, cut = search.gains[b], b
            least = gain_to_beat(best_gain)
    return (best_gain, cut)
