r"""The best split of a node in a numeric column, compiled by Numba.

With gradients summing to :math:`G` and hessians to :math:`H`, the quadratic model of the loss is lowered by a leaf to
:math:`-\tfrac12 G^2/(H+\lambda)`, so a split gains

.. math:: \tfrac12\Big[\frac{G_L^2}{H_L+\lambda} + \frac{G_R^2}{H_R+\lambda} - \frac{G^2}{H+\lambda}\Big].

``bounds`` holds the least and largest value that monotone constraints allow every node; it is None where there are no
constraints, and the code that obeys them is then not compiled.
"""

from __future__ import annotations

import math

import numpy as np

from margin.core.cached_kernels import inner_kernel
from margin.trees.boosting.histogram_kernels import unpack_derivatives
from margin.trees.boosting.kernel_types import MISSING

__all__ = [
    "TIE",
    "UNDECIDED",
    "best_threshold",
    "bounded_gains",
    "code_of_cut",
    "cuts_with_rows",
    "first_near",
    "gains_of_cuts",
    "leaf_rows",
    "leaf_value",
]

UNDECIDED = -1  # no row of the node misses the column: the larger side takes what will miss it later
TIE = 1.0 + 1e-8  # gains closer than this are equal, and the first counts: rounding shall not choose
BEHIND = 1.0 + 1e-7  # a gain lower than another by this factor is behind it whatever is equal to what


@inner_kernel
def leaf_rows(packing, limits):
    """Where rows are counted in a sum, as a shift and a mask, and how many of the units there a leaf needs."""
    if packing.counted:
        return np.int64(0), np.int64(packing.count_mask), np.int64(limits.min_leaf)
    needed = limits.min_leaf / (packing.hessian_unit * packing.rows_per_hessian)
    needed = min(needed, packing.hessian_mask + 1.0)  # more than there can be, also where no row has a hessian
    return np.int64(packing.hessian_shift), np.int64(packing.hessian_mask), np.int64(math.ceil(needed))


@inner_kernel
def cuts_with_rows(sums, count, total, packing, limits):
    """The first of ``count`` cumulated sums that leaves ``min_leaf`` rows on both sides, and the one after the last.

    Rows on the left only rise: no more than ``min_leaf`` cuts are passed over on either side.
    """
    shift, mask, least = leaf_rows(packing, limits)
    most = ((total >> shift) & mask) - least
    one, low, high = np.uint64(1), np.uint64(0), np.uint64(count)
    while low < high and (sums[low] >> shift) & mask < least:
        low += one
    while low < high and (sums[high - one] >> shift) & mask > most:
        high -= one
    return np.int64(low), np.int64(high)


@inner_kernel
def gains_of_cuts(sums, low, high, total, packing, limits, gains):
    """The gain of cutting after the cumulated sums ``low`` to ``high``, -1 where a side curves too little.

    Both sides of each must have rows enough (:func:`cuts_with_rows`). Vectorizable.
    """
    gradient, hessian = unpack_derivatives(total, packing)
    without = gradient * gradient / (hessian + limits.l2)
    for k in range(np.uint64(low), np.uint64(high)):
        left_gradient, left_hessian = unpack_derivatives(sums[k], packing)
        right_gradient, right_hessian = gradient - left_gradient, hessian - left_hessian
        left, right = left_hessian + limits.l2, right_hessian + limits.l2
        # One division for both fractions.
        gain = (left_gradient * left_gradient * right + right_gradient * right_gradient * left) / (left * right)
        allowed = (left_hessian >= limits.min_hessian) & (right_hessian >= limits.min_hessian)
        gains[k] = 0.5 * (gain - without) if allowed else -1.0


@inner_kernel
def leaf_value(gradient, hessian, limits, lower, upper):
    """The minimizer of the quadratic model within bounds."""
    value = -gradient / (hessian + limits.l2)
    return min(max(value, lower), upper)


@inner_kernel
def _drop(gradient, hessian, value, limits):
    """By how much a leaf of this value lowers the quadratic model."""
    return -(gradient * value + 0.5 * (hessian + limits.l2) * value * value)


@inner_kernel
def bounded_gains(sums, low, high, total, packing, limits, direction, lower, upper, gains):
    """The same where leaf values have bounds and must rise (or fall) from left to right."""
    gradient, hessian = unpack_derivatives(total, packing)
    without = _drop(gradient, hessian, leaf_value(gradient, hessian, limits, lower, upper), limits)
    for k in range(low, high):
        gains[k] = -1.0
        left_gradient, left_hessian = unpack_derivatives(sums[k], packing)
        right_gradient, right_hessian = gradient - left_gradient, hessian - left_hessian
        if left_hessian < limits.min_hessian or right_hessian < limits.min_hessian:
            continue
        left = leaf_value(left_gradient, left_hessian, limits, lower, upper)
        right = leaf_value(right_gradient, right_hessian, limits, lower, upper)
        if direction * (right - left) < 0:
            continue
        drop = _drop(left_gradient, left_hessian, left, limits) + _drop(right_gradient, right_hessian, right, limits)
        gains[k] = drop - without


@inner_kernel
def first_near(gains, gain_bits, low, high, leader):
    """The largest positive gain of ``low`` to ``high``, or -1, and the first index that has it up to ties.

    -1 also if the gain is behind that of the ``leader``, another column: then nobody asks where it is.

    ``gain_bits`` is the same memory as integers: numbers that are not negative are ordered like their bits, and all
    others are below. A maximum of integers is vectorized, that of floats is not.
    """
    largest, begin, end = np.int64(0), np.uint64(low), np.uint64(high)
    for k in range(begin, end):
        largest = gain_bits[k] if gain_bits[k] > largest else largest
    if largest > 0:
        gain_bits[MISSING] = largest  # at most 255 cuts: this element is free
        best = gains[MISSING]
        if best * BEHIND < leader:
            return -1.0, low
        for k in range(begin, end):
            if gains[k] * TIE >= best:
                return gains[k], np.int64(k)
    return -1.0, low


@inner_kernel
def _cumulate(histogram, n_bins, sums):
    """Sums up to every code that the node has, one after another; returns their number.

    Two codes at a time, because an element less to wait for saves a sixth.
    """
    one, running, count = np.uint64(1), np.int64(0), np.uint64(0)
    for pair in range(np.uint64(n_bins) >> one):
        k = pair << one
        first, second = histogram[k], histogram[k + one]
        running += first
        sums[count] = running
        count += np.uint64(first != 0)
        running += second
        sums[count] = running
        count += np.uint64(second != 0)
    if np.uint64(n_bins) & one:
        last = histogram[np.uint64(n_bins) - one]
        sums[count] = running + last
        count += np.uint64(last != 0)
    return count


@inner_kernel
def best_threshold(histogram, n_bins, total, packing, limits, direction, node, bounds, sums, gains, gain_bits, leader):
    """Best gain of a numeric column, the cut that has it, and the side of missing values; see ``first_near``.

    Only codes that the node has are looked at: a cut after any other divides its rows in the same way as one of these.
    A cut is the number of the last of them on the left. Which code that is is asked for one column alone, the best
    (:func:`code_of_cut`): to write it down here, beside the sum, would take half as long again.
    """
    missing = histogram[MISSING]
    count = _cumulate(histogram, n_bins, sums)
    best, best_cut, side = -1.0, np.int64(0), UNDECIDED
    # Missing values on the right, where they may also be alone; then on the left.
    for missing_left in range(1 if missing == 0 else 2):
        if missing_left == 1:
            for k in range(count):
                sums[k] += missing
        low, high = cuts_with_rows(sums, count, total, packing, limits)
        if bounds is None:
            gains_of_cuts(sums, low, high, total, packing, limits, gains)
        else:
            lower, upper = bounds[node, 0], bounds[node, 1]
            bounded_gains(sums, low, high, total, packing, limits, direction, lower, upper, gains)
        gain, cut = first_near(gains, gain_bits, low, high, leader)
        if missing_left == 0 or gain > best * TIE:
            best, best_cut = gain, cut
            side = UNDECIDED if missing == 0 else missing_left
    return best, best_cut, side


@inner_kernel
def code_of_cut(histogram, n_bins, cut):
    """The code number ``cut`` among those that a node has."""
    found = np.int64(-1)
    for k in range(n_bins):
        found += histogram[k] != 0
        if found == cut:
            return k
    return np.int64(0)
