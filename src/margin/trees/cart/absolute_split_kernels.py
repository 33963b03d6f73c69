"""The best cut of one column for absolute error, compiled by Numba: both sides are judged by their medians."""

from __future__ import annotations

from margin.trees.cart.absolute_kernels import absolute_gains
from margin.trees.cart.candidate_kernels import gain_to_beat, is_allowed, order_by_mean
from margin.trees.cart.grouping_kernels import inner_kernel, sort_keys, sum_groups
from margin.trees.cart.kernel_types import (
    GAINS,
    GROUP_CODES,
    GROUP_ROWS,
    LEFT_MEDIANS,
    LEFT_ROWS,
    LEFT_WEIGHTS,
    RIGHT_MEDIANS,
    ROW_COUNTS,
    SPLIT_ORDER,
    SQUARED_ERROR,
)

__all__ = ["best_absolute_split"]


@inner_kernel
def best_absolute_split(
    rules, node, row_numbers, packed, node_codes, keys, group_integers, group_numbers, sums, ranking, best,
    j, low, high, absent, missing, categorical,
):  # fmt: skip
    """As :func:`~margin.trees.cart.sum_split_kernels.best_sum_split`; categories are ordered by their mean."""
    group_codes = group_integers[GROUP_CODES]
    group_rows = group_integers[GROUP_ROWS]
    left_rows = group_integers[LEFT_ROWS]
    row_counts = group_integers[ROW_COUNTS]
    split_order = group_integers[SPLIT_ORDER]
    left_weights = group_numbers[LEFT_WEIGHTS]
    n, start = node.stop - node.start, node.start
    groups = sum_groups(
        SQUARED_ERROR,
        True,
        start,
        n,
        row_numbers,
        packed,
        low,
        high,
        absent,
        missing,
        node_codes,
        keys,
        group_integers,
        group_numbers,
        sums,
    )
    by_mean = categorical and not rules.random
    if by_mean:
        order_by_mean(groups, group_integers, group_numbers)
    known_groups, known, in_left = groups - (absent > 0 and not categorical), n - (0 if categorical else absent), 0
    for b in range(groups):
        group = split_order[b] if by_mean else b
        row_counts[group_codes[group]] = b  # the position of a code's group; zero again below
        in_left += group_rows[group]
        left_rows[b] = in_left
    for i in range(n):
        keys[0, i] = (row_counts[node_codes[i]] << 32) | i
    for b in range(groups):
        row_counts[group_codes[b]] = 0
    sort_keys(keys, n, 0, groups, group_integers)
    absolute_gains(keys, n, known, known_groups, row_numbers, start, False, ranking, group_numbers)
    at = _scan_absolute(rules, node, group_integers, group_numbers, best, j, known_groups - (known == n), 0)
    left = left_weights[max(at, 0)]
    if known == n:
        return groups, at, left > 0.5 * node.weight
    absolute_gains(keys, n, known, known_groups, row_numbers, start, True, ranking, group_numbers)
    other = _scan_absolute(rules, node, group_integers, group_numbers, best, j, known_groups - 1, absent)
    return (groups, other, True) if other >= 0 else (groups, at, False)


@inner_kernel
def _scan_absolute(rules, node, group_integers, group_numbers, best, j, cuts, more_rows):
    gains = group_numbers[GAINS]
    left_medians = group_numbers[LEFT_MEDIANS]
    left_weights = group_numbers[LEFT_WEIGHTS]
    right_medians = group_numbers[RIGHT_MEDIANS]
    left_rows = group_integers[LEFT_ROWS]
    best_gain, at = best[0].gain, -1
    least = gain_to_beat(best_gain)
    for b in range(cuts):
        if gains[b] > least:
            rows_left = float(left_rows[b] + more_rows)
            if is_allowed(rules, node, j, left_weights[b], rows_left, left_medians[b], right_medians[b]):
                best_gain, at = gains[b], b
                least = gain_to_beat(best_gain)
    best[0].gain = best_gain
    return at
