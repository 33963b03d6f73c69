"""The best split of a categorical column into two sets."""

from __future__ import annotations

import cython

from margin.core.kernel_source import inner
from margin.trees.boosting.histogram_kernels import unpack
from margin.trees.boosting.kernel_types import CODES, MISSING
from margin.trees.boosting.split_kernels import bounded_gains, cuts_with_rows, first_near, gains_of_cuts
from margin.trees.boosting.state_kernels import Growth

__all__ = ["best_category_split", "write_category_set"]

SMOOTHING = 10.0  # hessian by which the mean gradient of a category is drawn to zero before categories are ordered


@inner
def _order_categories(
    growth: Growth, own: cython.Py_ssize_t, at: cython.Py_ssize_t, n_bins: cython.Py_ssize_t
) -> tuple[cython.Py_ssize_t, cython.longlong]:
    """Categories by mean gradient, those with few rows (and missing values) as one under the code ``MISSING``.

    Fills ``growth.orders`` and, with the means, ``growth.gains`` from ``own`` on. Returns how many there are and the
    sum of the pooled ones. For a convex loss the best division into two sets is a cut in this order.
    """
    pooled: cython.longlong = growth.pool[at + MISSING]
    count: cython.Py_ssize_t = 0
    for k in range(n_bins):
        cell = growth.pool[at + k]
        if cell == 0:
            continue
        gradient, hessian, rows = unpack(cell, growth.packing)
        if rows < growth.limits.pooled_below:
            pooled += cell
            continue
        _insert(growth, own, count, k, gradient / (hessian + SMOOTHING))
        count += 1
    if pooled != 0:
        gradient, hessian, _ = unpack(pooled, growth.packing)
        _insert(growth, own, count, MISSING, gradient / (hessian + SMOOTHING))
        count += 1
    return count, pooled


@inner
def _insert(
    growth: Growth, own: cython.Py_ssize_t, count: cython.Py_ssize_t, item: cython.longlong, key: cython.double
) -> cython.void:
    to: cython.Py_ssize_t = own + count
    while to > own and growth.gains[to - 1] > key:
        growth.gains[to] = growth.gains[to - 1]
        growth.orders[to] = growth.orders[to - 1]
        to -= 1
    growth.gains[to] = key
    growth.orders[to] = item


@inner
def best_category_split(
    growth: Growth,
    own: cython.Py_ssize_t,
    at: cython.Py_ssize_t,
    n_bins: cython.Py_ssize_t,
    total: cython.longlong,
    node: cython.Py_ssize_t,
) -> tuple[cython.double, cython.Py_ssize_t]:
    """Best gain of a categorical column and the position in the order of categories after which it is cut."""
    count, pooled = _order_categories(growth, own, at, n_bins)
    running: cython.longlong = 0
    for k in range(own, own + count):
        code = growth.orders[k]
        running += pooled if code == MISSING else growth.pool[at + code]
        growth.sums[k] = running
    low, high = cuts_with_rows(growth, own, count - 1, total)
    if growth.bounds is None:
        largest = gains_of_cuts(growth, own, low, high, total)
    else:
        largest = bounded_gains(growth, own, low, high, total, 0, node)
    return first_near(growth, own, low, high, largest, -1.0)


@inner
def write_category_set(
    growth: Growth,
    own: cython.Py_ssize_t,
    at: cython.Py_ssize_t,
    n_bins: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    node: cython.Py_ssize_t,
) -> cython.bint:
    """Write which categories go left, and say whether missing ones do; those not seen here go with the missing."""
    count, pooled = _order_categories(growth, own, at, n_bins)
    missing_left: cython.bint = False
    left: cython.longlong = 0
    total: cython.longlong = 0
    for k in range(CODES):
        total += growth.pool[at + k]
    for k in range(last + 1):
        code = growth.orders[own + k]
        left += pooled if code == MISSING else growth.pool[at + code]
        missing_left |= code == MISSING
    if pooled == 0:
        missing_left = 2 * unpack(left, growth.packing)[2] > unpack(total, growth.packing)[2]
    for k in range(growth.category_sets.shape[1]):
        growth.category_sets[node, k] = 255 if missing_left else 0
    for k in range(count):
        code = growth.orders[own + k]
        if k <= last:
            growth.category_sets[node, code >> 3] |= 1 << (code & 7)
        else:
            growth.category_sets[node, code >> 3] &= 255 - (1 << (code & 7))
    return missing_left
