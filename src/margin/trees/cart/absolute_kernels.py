"""Absolute error around medians of growing sets: Fenwick trees over the ranks of the targets."""

from __future__ import annotations

import cython

from margin.core.kernel_source import inner
from margin.trees.cart.grouping_kernels import POSITION
from margin.trees.cart.records_kernels import Rows, Search

__all__ = ["absolute_gains", "rank_targets", "weighted_median"]


@inner
def _order_targets(rows: Rows, search: Search, start: cython.Py_ssize_t, n: cython.Py_ssize_t) -> cython.void:
    """Positions of a node by ascending target in ``sorted_positions[:n]``: merging runs of doubling length."""
    width: cython.Py_ssize_t = 1
    begin: cython.Py_ssize_t
    for i in range(n):
        search.sorted_positions[i] = i
    while width < n:
        begin = 0
        while begin < n:
            _merge_runs(rows, search, start, begin, min(begin + width, n), min(begin + 2 * width, n))
            begin += 2 * width
        for i in range(n):
            search.sorted_positions[i] = search.spare_positions[i]
        width *= 2


@inner
def _merge_runs(
    rows: Rows,
    search: Search,
    start: cython.Py_ssize_t,
    begin: cython.Py_ssize_t,
    middle: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> cython.void:
    """Merge the sorted runs ``begin .. middle`` and ``middle .. end`` into the spare positions."""
    a: cython.Py_ssize_t = begin
    b: cython.Py_ssize_t = middle
    for k in range(begin, end):
        if b >= end or (
            a < middle
            and rows.targets[start + search.sorted_positions[a]] <= rows.targets[start + search.sorted_positions[b]]
        ):
            search.spare_positions[k] = search.sorted_positions[a]
            a += 1
        else:
            search.spare_positions[k] = search.sorted_positions[b]
            b += 1


@inner
def weighted_median(
    rows: Rows, search: Search, start: cython.Py_ssize_t, stop: cython.Py_ssize_t, total_weight: cython.double
) -> cython.double:
    """The median target; halfway between two when exactly half of the weight lies below."""
    passed: cython.double = 0.0
    n = stop - start
    _order_targets(rows, search, start, n)
    for i in range(n):
        at = start + search.sorted_positions[i]
        passed += rows.weights[at]
        if 2 * passed == total_weight and i + 1 < n:
            return 0.5 * (rows.targets[at] + rows.targets[start + search.sorted_positions[i + 1]])
        if 2 * passed >= total_weight:
            return rows.targets[at]
    return rows.targets[start + search.sorted_positions[n - 1]]


@inner
def rank_targets(rows: Rows, search: Search, start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.void:
    """The rank of every target in its node, from 0."""
    _order_targets(rows, search, start, stop - start)
    for r in range(stop - start):
        at = search.sorted_positions[r]
        search.ranks[at] = r
        search.sorted_targets[r] = rows.targets[start + at]


@inner
def _add(
    rows: Rows,
    search: Search,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> tuple[cython.double, cython.double]:
    """Add the rows of ``keys[first:last]``; returns their weight and their total."""
    weight: cython.double = 0.0
    total: cython.double = 0.0
    at: cython.Py_ssize_t
    for i in range(first, last):
        position = search.keys[i] & POSITION
        w = rows.weights[start + position]
        t = w * rows.targets[start + position]
        at = search.ranks[position] + 1
        while at <= n:
            search.heap_weights[at] += w
            search.heap_totals[at] += t
            at += at & -at
        weight += w
        total += t
    return (weight, total)


@inner
def _last_below(
    search: Search, half: cython.double, n: cython.Py_ssize_t, inclusive: cython.bint
) -> tuple[cython.Py_ssize_t, cython.double, cython.double]:
    """The number of ranks, their weight and total, in the largest prefix lighter than (or up to) ``half``."""
    at: cython.Py_ssize_t = 0
    step: cython.Py_ssize_t = 1
    weight: cython.double = 0.0
    total: cython.double = 0.0
    while 2 * step <= n:
        step *= 2
    while step > 0:
        if at + step <= n:
            reached = weight + search.heap_weights[at + step]
            if reached < half or (inclusive and reached == half):
                at += step
                weight = reached
                total += search.heap_totals[at]
        step >>= 1
    return (at, weight, total)


@inner
def _loss(
    search: Search, weight: cython.double, total: cython.double, n: cython.Py_ssize_t
) -> tuple[cython.double, cython.double]:
    """The median of what was added (halfway between two if there are two) and the absolute deviations from it."""
    low: cython.Py_ssize_t
    high: cython.Py_ssize_t
    w_below: cython.double
    t_below: cython.double
    _w: cython.double
    _t: cython.double
    low, w_below, t_below = _last_below(search, 0.5 * weight, n, False)
    high, _w, _t = _last_below(search, 0.5 * weight, n, True)
    first = search.sorted_targets[low if low < n else n - 1]
    second = search.sorted_targets[high if high < n else n - 1]
    loss = (total - t_below) - first * (weight - w_below) + first * w_below - t_below
    return (0.5 * (first + second), loss)


@inner
def absolute_gains(
    rows: Rows,
    search: Search,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    known: cython.Py_ssize_t,
    groups: cython.Py_ssize_t,
    missing_left: cython.bint,
) -> cython.void:
    """Minus the absolute error left and right of every cut, for sorted ``keys`` of which ``known`` are known.

    The keys after those are of missing rows, all on one side; cut ``b`` follows group ``b`` of ``groups``, and the
    last one parts known rows from missing ones. Fills gains, left weights and medians.
    """
    weight: cython.double
    total: cython.double
    median: cython.double
    loss: cython.double
    w: cython.double
    t: cython.double
    b: cython.Py_ssize_t
    i: cython.Py_ssize_t
    following: cython.Py_ssize_t
    for side in range(2):
        for k in range(n + 1):
            search.heap_weights[k] = 0.0
            search.heap_totals[k] = 0.0
        weight = total = 0.0
        if (side == 0) == missing_left:
            weight, total = _add(rows, search, start, n, known, n)
        b = 0 if side == 0 else groups - 1
        if side == 1 and weight > 0:
            median, loss = _loss(search, weight, total, n)
            search.right_medians[b] = median
            search.gains[b] -= loss
        for step in range(known):
            i = step if side == 0 else known - 1 - step
            w, t = _add(rows, search, start, n, i, i + 1)
            weight += w
            total += t
            following = i + 1 if side == 0 else i - 1
            if 0 <= following < known and search.keys[following] >> 32 == search.keys[i] >> 32:
                continue
            median, loss = _loss(search, weight, total, n)
            if side == 0:
                search.left_weights[b] = weight
                search.left_medians[b] = median
                search.gains[b] = -loss
                b += 1
            elif b > 0:
                b -= 1
                search.right_medians[b] = median
                search.gains[b] -= loss
