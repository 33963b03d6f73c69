"""The best split of a categorical column into two sets, compiled by Numba."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import inner_kernel
from margin.trees.boosting.histogram_kernels import unpack
from margin.trees.boosting.kernel_types import MISSING
from margin.trees.boosting.split_kernels import bounded_gains, cuts_with_rows, first_near, gains_of_cuts

__all__ = ["best_category_split", "category_order", "write_category_set"]

SMOOTHING = 10.0  # hessian by which the mean gradient of a category is drawn to zero before categories are ordered


@inner_kernel
def category_order(histogram, n_bins, packing, limits, order, keys):
    """Categories by mean gradient, those with few rows (and missing values) as one under the code ``MISSING``.

    Fills ``order`` and, with the means, ``keys``. Returns how many there are and the sum of the pooled ones. For a
    convex loss the best division into two sets is a cut in this order.
    """
    pooled = histogram[MISSING]
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


@inner_kernel
def _insert(order, keys, count, item, key):
    at = count
    while at > 0 and keys[at - 1] > key:
        keys[at], order[at] = keys[at - 1], order[at - 1]
        at -= 1
    keys[at], order[at] = key, item
    return count + 1


@inner_kernel
def best_category_split(histogram, n_bins, total, packing, limits, node, bounds, sums, order, gains, gain_bits):
    """Best gain of a categorical column and the position in :func:`category_order` after which it is cut."""
    count, pooled = category_order(histogram, n_bins, packing, limits, order, gains)
    running = np.int64(0)
    for k in range(count):
        running += pooled if order[k] == MISSING else histogram[order[k]]
        sums[k] = running
    low, high = cuts_with_rows(sums, count - 1, total, packing, limits)
    if bounds is None:
        gains_of_cuts(sums, low, high, total, packing, limits, gains)
    else:
        bounded_gains(sums, low, high, total, packing, limits, 0, bounds[node, 0], bounds[node, 1], gains)
    return first_near(gains, gain_bits, low, high, -1.0)


@inner_kernel
def write_category_set(histogram, n_bins, last, packing, limits, order, keys, bits):
    """Write which categories go left, and say whether missing ones do; those not seen here go with the missing."""
    count, pooled = category_order(histogram, n_bins, packing, limits, order, keys)
    missing_left = False
    left, total = np.int64(0), np.int64(0)
    for k in range(256):
        total += histogram[k]
    for k in range(last + 1):
        left += pooled if order[k] == MISSING else histogram[order[k]]
        missing_left |= order[k] == MISSING
    if pooled == 0:
        missing_left = 2 * unpack(left, packing)[2] > unpack(total, packing)[2]
    for k in range(bits.size):
        bits[k] = 255 if missing_left else 0
    for k in range(count):
        bit = np.uint8(1 << (order[k] & 7))
        if k <= last:
            bits[order[k] >> 3] |= bit
        else:
            bits[order[k] >> 3] &= ~bit
    return missing_left
