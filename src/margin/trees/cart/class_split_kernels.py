r"""The best cut of one column for any number of classes.

Up to terms that no cut changes, the weighted decrease of impurity is, for Gini and for entropy,

.. math::
    \sum_k \frac{n_{Lk}^2}{W_L} + \frac{n_{Rk}^2}{W_R}, \qquad
    \sum_k n_{Lk}\log\frac{n_{Lk}}{W_L} + n_{Rk}\log\frac{n_{Rk}}{W_R} .
"""

from __future__ import annotations

import cython

from margin.core.elementary_kernels import log
from margin.core.kernel_source import inner
from margin.trees.cart.candidate_kernels import gain_to_beat, is_allowed, order_by_score
from margin.trees.cart.grouping_kernels import POSITION
from margin.trees.cart.kernel_types import GINI
from margin.trees.cart.records_kernels import NewTrees, PlacedRows, Search, SplitRules

__all__ = ["best_class_cut", "best_row_cut"]


@inner
def best_class_cut(
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
    """As :func:`~margin.trees.cart.sum_split_kernels.best_sum_cut`; categories are ordered by each class.

    Every class gives an order of the categories by its fraction; two classes need one.
    """
    gain: cython.double = best_gain
    cut: cython.Py_ssize_t = -1
    other: cython.Py_ssize_t
    left: cython.double = 0.0
    other_left: cython.double
    place: cython.longlong
    missed: cython.bint = False
    if ordered:
        for q in range(1 if rules.classes == 2 else 0, rules.classes):
            place = search.class_places[q]
            if place < 0 and missed:
                continue  # as the first class without rows: every fraction is zero
            missed = missed or place < 0
            _order_by_fraction(search, place, groups)
            gain, other, other_left = _scan_classes(rules, search, tree, at, j, groups - 1, -1, True, gain)
            if other >= 0:
                cut, left = other, other_left
                for i in range(groups):
                    search.best_order[i] = search.split_order[i]
        for i in range(groups):
            search.split_order[i] = search.best_order[i]
        return (gain, cut, left > 0.5 * tree.nodes[at].weight)
    known: cython.Py_ssize_t = groups - 1 if absent > 0 else groups
    gain, cut, left = _scan_classes(rules, search, tree, at, j, known - (known == groups), -1, False, gain)
    if known < groups:
        gain, other, left = _scan_classes(rules, search, tree, at, j, known - 1, known, False, gain)
        return (gain, other, True) if other >= 0 else (gain, cut, False)
    return (gain, cut, left > 0.5 * tree.nodes[at].weight)


@inner
def _order_by_fraction(search: Search, place: cython.longlong, groups: cython.Py_ssize_t) -> cython.void:
    weight: cython.double
    k = search.present
    for i in range(groups):
        weight = 0.0
        for r in range(k):
            weight += search.group_sums[i * k + r]
        search.gains[i] = search.group_sums[i * k + place] / weight if place >= 0 else 0.0
    order_by_score(search, groups)


@inner
def _scan_classes(
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
    wl: cython.double
    score_left: cython.double
    score_right: cython.double
    gain: cython.double
    k = search.present
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
        wl = score_left = score_right = 0.0
        if rules.mode == GINI and k == 2:  # the loop below, written out: most of its time would go into beginning it
            first = search.left_sums[0] + search.group_sums[2 * group]
            second = search.left_sums[1] + search.group_sums[2 * group + 1]
            search.left_sums[0] = first
            search.left_sums[1] = second
            wl = first + second
            wr = weight - wl
            first_right = search.node_sums[0] - first
            second_right = search.node_sums[1] - second
            gain = (first * first + second * second) / wl
            gain += (first_right * first_right + second_right * second_right) / wr
        elif rules.mode == GINI:
            for q in range(k):
                lq = search.left_sums[q] + search.group_sums[group * k + q]
                rq = search.node_sums[q] - lq
                search.left_sums[q] = lq
                wl += lq
                score_left += lq * lq
                score_right += rq * rq
            wr = weight - wl
            gain = score_left / wl + score_right / wr
        else:
            for q in range(k):
                search.left_sums[q] += search.group_sums[group * k + q]
                wl += search.left_sums[q]
            wr = weight - wl
            for q in range(k):
                lq = search.left_sums[q]
                rq = search.node_sums[q] - lq
                score_left += lq * log(lq / wl) if lq > 0 else 0.0
                score_right += rq * log(rq / wr) if rq > 0 else 0.0
            gain = score_left + score_right
        if gain > least:
            last = search.left_sums[k - 1]
            if is_allowed(rules, tree, at, j, wl, rows_left, last / wl, (search.node_sums[k - 1] - last) / wr):
                best_gain, cut, best_left = gain, b, wl
                least = gain_to_beat(best_gain)
    return (best_gain, cut, best_left)


@inner
def best_row_cut(
    rules: SplitRules,
    rows: PlacedRows,
    search: Search,
    tree: NewTrees,
    at: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    absent: cython.longlong,
    best_gain: cython.double,
) -> tuple[cython.double, cython.Py_ssize_t, cython.bint]:
    """What :func:`best_class_cut` finds for Gini, of rows sorted by ``sort_keys``, without sums of groups.

    A row that changes sides changes one square on each, whatever the number of classes. The squares are integers, so
    they come out as if they were added up anew at every cut.
    """
    gain: cython.double
    cut: cython.Py_ssize_t
    other: cython.Py_ssize_t
    left: cython.double
    gain, cut, left = _scan_rows(rules, rows, search, tree, at, j, absent, False, best_gain)
    if absent > 0:
        gain, other, left = _scan_rows(rules, rows, search, tree, at, j, absent, True, gain)
        return (gain, other, True) if other >= 0 else (gain, cut, False)
    return (gain, cut, left > 0.5 * tree.nodes[at].weight)


@inner
def _scan_rows(
    rules: SplitRules,
    rows: PlacedRows,
    search: Search,
    tree: NewTrees,
    at: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    absent: cython.longlong,
    absent_left: cython.bint,
    best_gain: cython.double,
) -> tuple[cython.double, cython.Py_ssize_t, cython.double]:
    """As ``_scan_classes``; ``absent`` rows are the last, and go left first or stay right. Fills ``group_codes``."""
    cut: cython.Py_ssize_t = -1
    best_left: cython.double = 0.0
    rows_left: cython.longlong = 0
    wl: cython.double = 0.0
    score_left: cython.double = 0.0
    score_right: cython.double = 0.0
    groups: cython.Py_ssize_t = 0
    first: cython.Py_ssize_t = 0
    stop: cython.Py_ssize_t
    i: cython.Py_ssize_t
    k = search.present
    start = tree.nodes[at].start
    weight = tree.nodes[at].weight
    n = tree.nodes[at].stop - start
    known = n - absent
    for q in range(k):
        search.left_sums[q] = 0.0
        score_right += search.node_sums[q] * search.node_sums[q]
    least: cython.double = gain_to_beat(best_gain)
    # Absent rows count as a group before all others, or as the last one, after which there is no cut.
    i = known if absent_left and absent > 0 else 0
    while i < n:
        first = i
        code = search.keys[i] >> 32
        while i < n and search.keys[i] >> 32 == code:
            position = search.keys[i] & POSITION
            q = search.node_classes[position]
            w = rows.weights[start + position]
            before = search.left_sums[q]
            search.left_sums[q] = before + w
            score_left += w * (2.0 * before + w)
            score_right -= w * (2.0 * (search.node_sums[q] - before) - w)
            wl += w
            i += 1
        rows_left += i - first
        if absent_left and first == known:
            i = 0
            continue
        search.group_codes[groups] = code
        groups += 1
        stop = known if absent_left else n
        if i >= stop:
            break
        wr = weight - wl
        gain = score_left / wl + score_right / wr
        if gain > least:
            last = search.left_sums[k - 1]
            if is_allowed(rules, tree, at, j, wl, rows_left, last / wl, (search.node_sums[k - 1] - last) / wr):
                best_gain, cut, best_left = gain, groups - 1, wl
                least = gain_to_beat(best_gain)
    if absent_left:
        search.group_codes[groups] = search.keys[n - 1] >> 32
    return (best_gain, cut, best_left)
