"""The best cut of one column for absolute error, compiled by Numba: both sides are judged by their medians."""

from __future__ import annotations

from margin.trees.cart.absolute_kernels import absolute_gains
from margin.trees.cart.cut_kernels import allowed, bar, order_by_mean
from margin.trees.cart.kernel_types import (
    COUNTS,
    GAIN,
    LEVEL,
    LEVEL_ROWS,
    MEDIAN_LEFT,
    MEDIAN_RIGHT,
    ORDER,
    ROWS_LEFT,
    SUMS,
    WEIGHT_LEFT,
)
from margin.trees.cart.level_kernels import hot, sort_keys, sums_of_levels

__all__ = ["try_absolute"]


@hot
def try_absolute(
    rules, node, number, packed, local, keys, whole, real, sums, ranked, best_number,
    j, low, high, absent, missing, categorical,
):  # fmt: skip
    """As :func:`~margin.trees.cart.sum_split_kernels.try_sums`; categories are ordered by their mean."""
    n, start = node.stop - node.start, node.start
    m = sums_of_levels(SUMS, True, start, n, number, packed, low, high, absent, missing, local, keys, whole, real, sums)
    by_mean = categorical and not rules.random
    if by_mean:
        order_by_mean(m, whole, real)
    known_levels, known, in_left = m - (absent > 0 and not categorical), n - (0 if categorical else absent), 0
    for b in range(m):
        level = whole[ORDER, b] if by_mean else b
        whole[COUNTS, whole[LEVEL, level]] = b  # the place of a code; zero again below
        in_left += whole[LEVEL_ROWS, level]
        whole[ROWS_LEFT, b] = in_left
    for i in range(n):
        keys[0, i] = (whole[COUNTS, local[i]] << 32) | i
    for b in range(m):
        whole[COUNTS, whole[LEVEL, b]] = 0
    sort_keys(keys, n, 0, m, whole)
    absolute_gains(keys, n, known, known_levels, number, start, False, ranked, real)
    at = _scan_absolute(rules, node, whole, real, best_number, j, known_levels - (known == n), 0)
    left = real[WEIGHT_LEFT, max(at, 0)]
    if known == n:
        return m, at, left > 0.5 * node.weight
    absolute_gains(keys, n, known, known_levels, number, start, True, ranked, real)
    other = _scan_absolute(rules, node, whole, real, best_number, j, known_levels - 1, absent)
    return (m, other, True) if other >= 0 else (m, at, False)


@hot
def _scan_absolute(rules, node, whole, real, best_number, j, cuts, more_rows):
    best, at = best_number[0], -1
    least = bar(best)
    for b in range(cuts):
        if real[GAIN, b] > least:
            rows_left = float(whole[ROWS_LEFT, b] + more_rows)
            if allowed(rules, node, j, real[WEIGHT_LEFT, b], rows_left, real[MEDIAN_LEFT, b], real[MEDIAN_RIGHT, b]):
                best, at = real[GAIN, b], b
                least = bar(best)
    best_number[0] = best
    return at
