r"""The best split of a node, column by column, compiled by Numba.

With gradients summing to :math:`G` and hessians to :math:`H`, the quadratic model of the loss is lowered by a leaf to
:math:`-\tfrac12 G^2/(H+\lambda)`, so a split gains

.. math:: \tfrac12\Big[\frac{G_L^2}{H_L+\lambda} + \frac{G_R^2}{H_R+\lambda} - \frac{G^2}{H+\lambda}\Big].
"""

from __future__ import annotations

import numpy as np
from numba import njit

from margin.trees.boosting.bundle_kernels import shared_sums
from margin.trees.boosting.histogram_kernels import OPTIONS

__all__ = [
    "TIE",
    "best_category_split",
    "best_shared_thresholds",
    "best_threshold",
    "category_order",
    "leaf_value",
    "unpack",
]

MISSING = 255
SCRATCH = 255  # no cut comes after the last of 255 bins, so this place of a buffer of 256 is free
UNDECIDED = -1  # no row of the node misses the column: the larger side takes what will miss it later
TIE = 1.0 + 1e-8  # gains closer than this are equal, and the first counts: rounding shall not choose
SMOOTHING = 10.0  # hessian by which the mean gradient of a category is drawn to zero before categories are ordered


@njit(**OPTIONS)
def unpack(cell, packing):
    """Gradient, hessian and rows in a sum of cells."""
    gradient = (cell >> packing.gradient_shift) * packing.gradient_unit
    hessian = ((cell >> packing.hessian_shift) & packing.hessian_mask) * packing.hessian_unit
    rows = float(cell & packing.count_mask) if packing.counted else hessian * packing.rows_per_hessian
    return gradient, hessian, rows


@njit(**OPTIONS)
def leaf_value(gradient, hessian, rules, lower, upper):
    """The minimizer of the quadratic model within bounds."""
    value = -gradient / (hessian + rules.l2)
    return min(max(value, lower), upper)


@njit(**OPTIONS)
def _drop(gradient, hessian, value, rules):
    """By how much a leaf of this value lowers the quadratic model."""
    return -(gradient * value + 0.5 * (hessian + rules.l2) * value * value)


@njit(**OPTIONS)
def _gains(sums, count, total, packing, rules, gains):
    """The gain of cutting after each of ``count`` cumulated cells, -1 where a side is too small; vectorizable."""
    gradient, hessian, rows = unpack(total, packing)
    without = gradient * gradient / (hessian + rules.l2)
    for k in range(count):
        left_gradient, left_hessian, left_rows = unpack(sums[k], packing)
        right_gradient, right_hessian = gradient - left_gradient, hessian - left_hessian
        left, right = left_hessian + rules.l2, right_hessian + rules.l2
        # One division for both fractions.
        gain = (left_gradient * left_gradient * right + right_gradient * right_gradient * left) / (left * right)
        allowed = (
            (left_rows >= rules.min_leaf)
            & (rows - left_rows >= rules.min_leaf)
            & (left_hessian >= rules.min_hessian)
            & (right_hessian >= rules.min_hessian)
        )
        gains[k] = 0.5 * (gain - without) if allowed else -1.0


@njit(**OPTIONS)
def _constrained_gains(sums, count, total, packing, rules, direction, lower, upper, gains):
    """The same where leaf values have bounds and must rise (or fall) from left to right."""
    gradient, hessian, rows = unpack(total, packing)
    without = _drop(gradient, hessian, leaf_value(gradient, hessian, rules, lower, upper), rules)
    for k in range(count):
        gains[k] = -1.0
        left_gradient, left_hessian, left_rows = unpack(sums[k], packing)
        right_gradient, right_hessian = gradient - left_gradient, hessian - left_hessian
        if left_rows < rules.min_leaf or rows - left_rows < rules.min_leaf:
            continue
        if left_hessian < rules.min_hessian or right_hessian < rules.min_hessian:
            continue
        left = leaf_value(left_gradient, left_hessian, rules, lower, upper)
        right = leaf_value(right_gradient, right_hessian, rules, lower, upper)
        if direction * (right - left) < 0:
            continue
        drop = _drop(left_gradient, left_hessian, left, rules) + _drop(right_gradient, right_hessian, right, rules)
        gains[k] = drop - without


@njit(**OPTIONS)
def _largest(gains, count):
    """The largest gain, or something negative if none is positive; the last place of ``gains`` is overwritten.

    Numbers that are not negative are ordered like their bits, and all others are below: a maximum of whole numbers is
    vectorized, that of floats is not.
    """
    bits = gains.view(np.int64)
    largest = np.int64(-1)
    for k in range(count):
        largest = bits[k] if bits[k] > largest else largest
    bits[SCRATCH] = largest
    return gains[SCRATCH]


@njit(**OPTIONS)
def _best_cut(sums, count, total, packing, rules, direction, lower, upper, gains):
    """The largest gain and the first place that has it, up to ties."""
    if rules.constrained:
        _constrained_gains(sums, count, total, packing, rules, direction, lower, upper, gains)
    else:
        _gains(sums, count, total, packing, rules, gains)
    return _first_near(gains, 0, count, _largest(gains, count))


@njit(**OPTIONS)
def _first_near(gains, low, high, best):
    """The first of some gains that equals the best up to ties, and its place counted from ``low``."""
    if best > 0:
        for k in range(low, high):
            if gains[k] * TIE >= best:
                return gains[k], k - low
    return -1.0, 0


@njit(**OPTIONS)
def best_threshold(histogram, n_bins, total, packing, rules, direction, lower, upper, sums, gains):
    """Best gain of a numeric column, the last code on the left, and whether missing values go left."""
    missing = histogram[MISSING]
    running = np.int64(0)
    for k in range(n_bins):
        running += histogram[k]
        sums[k] = running
    if missing == 0:
        best, place = _best_cut(sums, n_bins - 1, total, packing, rules, direction, lower, upper, gains)
        return best, place, UNDECIDED
    # Missing values on the right, where they may also be alone; then on the left.
    best, place = _best_cut(sums, n_bins, total, packing, rules, direction, lower, upper, gains)
    for k in range(n_bins - 1):
        sums[k] += missing
    other, other_place = _best_cut(sums, n_bins - 1, total, packing, rules, direction, lower, upper, gains)
    if other > best * TIE:
        return other, other_place, 1
    return best, place, 0


@njit(**OPTIONS)
def best_shared_thresholds(own, members, total, table, packing, rules, lower, upper, sums, gains, gain, code, side):
    """The same for all columns that share a place, whose histogram is ``own`` (256,); they miss no value.

    Their cuts lie side by side in ``sums``, so that one vectorized loop scores them all.
    """
    count = np.int64(0)
    for j in members:
        shared_sums(own, total, table.base[j], table.n_bins[j], sums)
        count += table.n_bins[j] - 1
    if not rules.constrained:
        _gains(sums, count, total, packing, rules, gains)
    for j in members:
        low, high = table.base[j], table.base[j] + table.n_bins[j] - 1
        if rules.constrained:
            _constrained_gains(
                *(sums[low:high], high - low, total, packing, rules),
                *(table.monotone[j], lower, upper, gains[low:high]),
            )
        best = -1.0
        for k in range(low, high):
            best = max(best, gains[k])
        gain[j], code[j] = _first_near(gains, low, high, best)
        side[j] = UNDECIDED


@njit(**OPTIONS)
def category_order(histogram, n_bins, packing, rules, order):
    """Categories by mean gradient, those with few rows (and missing values) as one at place ``MISSING``.

    Returns how many places there are and the cell of the shared one. For a convex loss the best division into two
    sets is a cut in this order.
    """
    shared = histogram[MISSING]
    keys = np.empty(256)
    count = np.int64(0)
    for k in range(n_bins):
        cell = histogram[k]
        if cell == 0:
            continue
        gradient, hessian, rows = unpack(cell, packing)
        if rows < rules.pooled_below:
            shared += cell
            continue
        count = _insert(order, keys, count, np.int64(k), gradient / (hessian + SMOOTHING))
    if shared != 0:
        gradient, hessian, _ = unpack(shared, packing)
        count = _insert(order, keys, count, np.int64(MISSING), gradient / (hessian + SMOOTHING))
    return count, shared


@njit(**OPTIONS)
def _insert(order, keys, count, item, key):
    place = count
    while place > 0 and keys[place - 1] > key:
        keys[place], order[place] = keys[place - 1], order[place - 1]
        place -= 1
    keys[place], order[place] = key, item
    return count + 1


@njit(**OPTIONS)
def best_category_split(histogram, n_bins, total, packing, rules, lower, upper, sums, gains):
    """Best gain of a categorical column and the place in :func:`category_order` after which it is cut."""
    order = np.empty(256, dtype=np.int64)
    count, shared = category_order(histogram, n_bins, packing, rules, order)
    running = np.int64(0)
    for k in range(count):
        running += shared if order[k] == MISSING else histogram[order[k]]
        sums[k] = running
    return _best_cut(sums, count - 1, total, packing, rules, 0, lower, upper, gains)
