"""The best split of a categorical column into two sets, compiled by Numba."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import njit
from margin.trees.boosting.histogram_kernels import unpack
from margin.trees.boosting.kernel_types import INNER, MISSING
from margin.trees.boosting.split_kernels import bounded_gains, first_near, gains_of_cuts

__all__ = ["best_category_split", "category_order", "write_category_set"]

SMOOTHING = 10.0  # hessian by which the mean gradient of a category is drawn to zero before categories are ordered


@njit(**INNER)
def category_order(histogram, n_bins, packing, limits, order):
    """Categories by mean gradient, those with few rows (and missing values) as one under the code ``MISSING``.

    Returns how many there are and the sum of the pooled ones. For a convex loss the best division into two sets is a
    cut in this order.
    """
    pooled = histogram[MISSING]
    keys = np.empty(256)
    count = np.int64(0)
    for k in range(n_bins):
        if histogram[k] == 0:
            continue
        gradient, hessian, rows = unpack(histogram[k], packing)
        if rows < limits.pooled_below:
            pooled += histogram[k]
            continue
        count = _insert(order, keys, count, np.int64(k), gradient / (hessian + SMOOTHING))
    if pooled != 0:
        gradient, hessian, _ = unpack(pooled, packing)
        count = _insert(order, keys, count, np.int64(MISSING), gradient / (hessian + SMOOTHING))
    return count, pooled


@njit(**INNER)
def _insert(order, keys, count, item, key):
    at = count
    while at > 0 and keys[at - 1] > key:
        keys[at], order[at] = keys[at - 1], order[at - 1]
        at -= 1
    keys[at], order[at] = key, item
    return count + 1


@njit(**INNER)
def best_category_split(histogram, n_bins, total, packing, limits, node, bounds, sums, order, gains, gain_bits):
    """Best gain of a categorical column and the position in :func:`category_order` after which it is cut."""
    count, pooled = category_order(histogram, n_bins, packing, limits, order)
    running = np.int64(0)
    for k in range(count):
        running += pooled if order[k] == MISSING else histogram[order[k]]
        sums[k] = running
    if bounds is None:
        gains_of_cuts(sums, count - 1, total, packing, limits, gains)
    else:
        bounded_gains(sums, count - 1, total, packing, limits, 0, bounds[node, 0], bounds[node, 1], gains)
    return first_near(gains, gain_bits, 0, count - 1)


@njit(**INNER)
def write_category_set(histogram, n_bins, last, packing, limits, order, bits):
    """Write which categories go left, and say whether missing ones do; those not seen here go with the missing."""
    count, pooled = category_order(histogram, n_bins, packing, limits, order)
    with_missing = np.ones(256, dtype=np.bool_)
    missing_left = False
    left, total = np.int64(0), np.int64(0)
    for k in range(bits.size):
        bits[k] = 0
    for k in range(256):
        total += histogram[k]
    for k in range(count):
        with_missing[order[k]] = False
        if k <= last:
            left += pooled if order[k] == MISSING else histogram[order[k]]
            missing_left |= order[k] == MISSING
            bits[order[k] >> 3] |= np.uint8(1 << (order[k] & 7))
    if pooled == 0:
        missing_left = 2 * unpack(left, packing)[2] > unpack(total, packing)[2]
    if missing_left:
        for k in range(256):
            if with_missing[k]:
                bits[k >> 3] |= np.uint8(1 << (k & 7))
    return missing_left
