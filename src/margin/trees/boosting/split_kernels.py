r"""The best split of a node in a numeric column.

With gradients summing to :math:`G` and hessians to :math:`H`, the quadratic model of the loss is lowered by a leaf to
:math:`-\tfrac12 G^2/(H+\lambda)`, so a split gains

.. math:: \tfrac12\Big[\frac{G_L^2}{H_L+\lambda} + \frac{G_R^2}{H_R+\lambda} - \frac{G^2}{H+\lambda}\Big].

Cumulated sums and gains of the cuts stand in ``growth.sums`` and ``growth.gains`` from ``own`` on; where monotone
constraints are, ``growth.bounds`` holds the least and largest value that they allow every node.
"""

from __future__ import annotations

from math import ceil

import cython

from margin.core.float_bits_kernels import bits_of, float_of
from margin.core.kernel_source import ConstIntegers, inner
from margin.trees.boosting.histogram_kernels import BITS_OF_ONES_APART, ONES_APART, unpack_derivatives
from margin.trees.boosting.kernel_types import MISSING
from margin.trees.boosting.state_kernels import Growth, Limits, Packing

__all__ = [
    "TIE",
    "UNDECIDED",
    "best_threshold",
    "bounded_gains",
    "code_of_cut",
    "cuts_with_rows",
    "first_near",
    "gains_of_cuts",
    "largest_gain",
    "leaf_rows",
    "leaf_value",
]

UNDECIDED = -1  # no row of the node misses the column: the larger side takes what will miss it later
TIE = 1.0 + 1e-8  # gains closer than this are equal, and the first counts: rounding shall not choose
BEHIND = 1.0 + 1e-7  # a gain lower than another by this factor is behind it whatever is equal to what


@inner
def leaf_rows(packing: Packing, limits: Limits) -> tuple[cython.longlong, cython.longlong, cython.longlong]:
    """Where rows are counted in a sum, as a shift and a mask, and how many of the units there a leaf needs."""
    needed: cython.double
    most: cython.double = packing.hessian_mask + 1.0  # more than there can be, also where no row has a hessian
    if packing.counted:
        return 0, packing.count_mask, limits.min_leaf
    needed = packing.hessian_unit * packing.rows_per_hessian
    needed = limits.min_leaf / needed if needed > 0.0 else most
    return packing.hessian_shift, packing.hessian_mask, cython.cast(cython.longlong, ceil(min(needed, most)))


@inner
def cuts_with_rows(
    growth: Growth, own: cython.Py_ssize_t, count: cython.Py_ssize_t, total: cython.longlong
) -> tuple[cython.Py_ssize_t, cython.Py_ssize_t]:
    """The first of ``count`` cumulated sums that leaves ``min_leaf`` rows on both sides, and the one after the last.

    Rows on the left only rise: no more than ``min_leaf`` cuts are passed over on either side.
    """
    shift, mask, least = leaf_rows(growth.packing, growth.limits)
    most = ((total >> shift) & mask) - least
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = count
    while low < high and (growth.sums[own + low] >> shift) & mask < least:
        low += 1
    while low < high and (growth.sums[own + high - 1] >> shift) & mask > most:
        high -= 1
    return low, high


@inner
def gains_of_cuts(
    growth: Growth, own: cython.Py_ssize_t, low: cython.Py_ssize_t, high: cython.Py_ssize_t, total: cython.longlong
) -> cython.longlong:
    """The gain of cutting after the cumulated sums ``low`` to ``high``, -1 where a side curves too little.

    Both sides of each must have rows enough (:func:`cuts_with_rows`). Returns the largest as :func:`largest_gain` does.

    Vectorizable: the gradient is shifted as a number without sign, 2**63 higher than it is, since most processors have
    no other shift of a vector.
    """
    largest: cython.longlong = 0
    value: cython.double
    shift = growth.packing.gradient_shift
    hessian_shift = growth.packing.hessian_shift
    hessian_mask = growth.packing.hessian_mask
    unit = growth.packing.gradient_unit
    hessian_unit = growth.packing.hessian_unit
    l2 = growth.limits.l2
    least = growth.limits.min_hessian
    top: cython.ulonglong = 0x8000000000000000
    raised: cython.longlong = BITS_OF_ONES_APART - cython.cast(cython.longlong, top >> shift)
    gradient, hessian = unpack_derivatives(total, growth.packing)
    without = gradient * gradient / (hessian + l2)
    for k in range(own + low, own + high):
        cell = cython.cast(cython.ulonglong, growth.sums[k])
        left_gradient = (float_of(raised + ((cell + top) >> shift)) - ONES_APART) * unit
        curved = float_of(BITS_OF_ONES_APART + ((cell >> hessian_shift) & hessian_mask)) - ONES_APART
        left_hessian = curved * hessian_unit
        right_gradient = gradient - left_gradient
        right_hessian = hessian - left_hessian
        left = left_hessian + l2
        right = right_hessian + l2
        # One division for both fractions.
        gain = (left_gradient * left_gradient * right + right_gradient * right_gradient * left) / (left * right)
        value = 0.5 * (gain - without) if (left_hessian >= least) & (right_hessian >= least) else -1.0
        growth.gains[k] = value
        bits = bits_of(value)
        largest = bits if bits > largest else largest
    return largest


@inner
def leaf_value(
    gradient: cython.double, hessian: cython.double, l2: cython.double, lower: cython.double, upper: cython.double
) -> cython.double:
    """The minimizer of the quadratic model within bounds."""
    value = -gradient / (hessian + l2)
    return min(max(value, lower), upper)


@inner
def _drop(gradient: cython.double, hessian: cython.double, value: cython.double, l2: cython.double) -> cython.double:
    """By how much a leaf of this value lowers the quadratic model."""
    return -(gradient * value + 0.5 * (hessian + l2) * value * value)


@inner
def bounded_gains(
    growth: Growth,
    own: cython.Py_ssize_t,
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    total: cython.longlong,
    direction: cython.longlong,
    node: cython.Py_ssize_t,
) -> cython.longlong:
    """The same where leaf values have bounds and must rise (or fall) from left to right."""
    l2 = growth.limits.l2
    least = growth.limits.min_hessian
    lower = growth.bounds[node, 0]
    upper = growth.bounds[node, 1]
    gradient, hessian = unpack_derivatives(total, growth.packing)
    without = _drop(gradient, hessian, leaf_value(gradient, hessian, l2, lower, upper), l2)
    for k in range(own + low, own + high):
        growth.gains[k] = -1.0
        left_gradient, left_hessian = unpack_derivatives(growth.sums[k], growth.packing)
        right_gradient = gradient - left_gradient
        right_hessian = hessian - left_hessian
        if left_hessian < least or right_hessian < least:
            continue
        left = leaf_value(left_gradient, left_hessian, l2, lower, upper)
        right = leaf_value(right_gradient, right_hessian, l2, lower, upper)
        if direction * (right - left) < 0:
            continue
        drop = _drop(left_gradient, left_hessian, left, l2) + _drop(right_gradient, right_hessian, right, l2)
        growth.gains[k] = drop - without
    return largest_gain(growth, own, low, high)


@inner
def largest_gain(
    growth: Growth, own: cython.Py_ssize_t, low: cython.Py_ssize_t, high: cython.Py_ssize_t
) -> cython.longlong:
    """The bits of the largest positive gain of ``low`` to ``high``, or 0.

    Numbers that are not negative are ordered like their bits, and all others are below: a maximum of integers is
    vectorized, that of floats is not.
    """
    largest: cython.longlong = 0
    for k in range(own + low, own + high):
        bits = bits_of(growth.gains[k])
        largest = bits if bits > largest else largest
    return largest


@inner
def first_near(
    growth: Growth,
    own: cython.Py_ssize_t,
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    largest: cython.longlong,
    leader: cython.double,
) -> tuple[cython.double, cython.Py_ssize_t]:
    """The ``largest`` gain of ``low`` to ``high``, or -1, and the first index that has it up to ties.

    -1 also if the gain is behind that of the ``leader``, another column: then nobody asks where it is.
    """
    if largest > 0:
        best = float_of(largest)
        if best * BEHIND < leader:
            return -1.0, low
        for k in range(low, high):
            if growth.gains[own + k] * TIE >= best:
                return growth.gains[own + k], k
    return -1.0, low


@inner
def _cumulate(
    growth: Growth, own: cython.Py_ssize_t, at: cython.Py_ssize_t, n_bins: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Sums up to every code that the node has, one after another; returns their number.

    Two codes at a time, because an element less to wait for saves a sixth.
    """
    running: cython.longlong = 0
    to: cython.Py_ssize_t = own
    for pair in range(n_bins // 2):
        first = growth.pool[at + 2 * pair]
        second = growth.pool[at + 2 * pair + 1]
        running += first
        growth.sums[to] = running
        to += first != 0
        running += second
        growth.sums[to] = running
        to += second != 0
    if n_bins % 2 == 1:
        last = growth.pool[at + n_bins - 1]
        growth.sums[to] = running + last
        to += last != 0
    return to - own


@inner
def best_threshold(
    growth: Growth,
    own: cython.Py_ssize_t,
    at: cython.Py_ssize_t,
    n_bins: cython.Py_ssize_t,
    total: cython.longlong,
    direction: cython.longlong,
    node: cython.Py_ssize_t,
    leader: cython.double,
) -> tuple[cython.double, cython.Py_ssize_t, cython.longlong]:
    """Best gain of a numeric column, the cut that has it, and the side of missing values; see ``first_near``.

    Its histogram stands in the pool from ``at`` on. Only codes that the node has are looked at: a cut after any other
    divides its rows in the same way as one of these. A cut is the number of the last of them on the left. Which code
    that is is asked for one column alone, the best (:func:`code_of_cut`): to write it down here, beside the sum, would
    take half as long again.
    """
    missing = growth.pool[at + MISSING]
    count = _cumulate(growth, own, at, n_bins)
    best: cython.double = -1.0
    best_cut: cython.Py_ssize_t = 0
    side: cython.longlong = UNDECIDED
    # Missing values on the right, where they may also be alone; then on the left.
    for missing_left in range(1 if missing == 0 else 2):
        if missing_left == 1:
            for k in range(own, own + count):
                growth.sums[k] += missing
        low, high = cuts_with_rows(growth, own, count, total)
        if growth.bounds is None:
            largest = gains_of_cuts(growth, own, low, high, total)
        else:
            largest = bounded_gains(growth, own, low, high, total, direction, node)
        gain, cut = first_near(growth, own, low, high, largest, leader)
        if missing_left == 0 or gain > best * TIE:
            best, best_cut = gain, cut
            side = UNDECIDED if missing == 0 else missing_left
    return best, best_cut, side


@inner
def code_of_cut(
    pool: ConstIntegers, at: cython.Py_ssize_t, n_bins: cython.Py_ssize_t, cut: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The code number ``cut`` among those that a node has."""
    found: cython.Py_ssize_t = -1
    for k in range(n_bins):
        found += pool[at + k] != 0
        if found == cut:
            return k
    return 0
