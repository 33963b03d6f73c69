r"""The best cut of one column for squared error, and for two classes under Gini, compiled by Numba.

Up to terms that no cut changes, the weighted decrease of impurity is :math:`S_L^2/W_L + S_R^2/W_R`, with :math:`S` the
total of the targets (0 and 1 for two classes) and :math:`W` that of the weights.
"""

from __future__ import annotations

from margin.trees.cart.candidate_kernels import gain_to_beat, is_allowed, order_by_mean
from margin.trees.cart.grouping_kernels import inner_kernel, sum_groups
from margin.trees.cart.kernel_types import (
    GAINS,
    GROUP_ROWS,
    GROUP_TOTALS,
    GROUP_WEIGHTS,
    LEFT_ROWS,
    LEFT_TOTALS,
    LEFT_WEIGHTS,
    SPLIT_ORDER,
)

__all__ = ["best_sum_split"]


@inner_kernel
def best_sum_split(
    rules, node, row_numbers, packed, node_codes, keys, group_integers, group_numbers, sums, best,
    j, low, high, absent, missing, categorical,
):  # fmt: skip
    """Groups, their order and their cuts; returns how many groups, after which to cut, whether missing goes left."""
    group_rows = group_integers[GROUP_ROWS]
    left_rows = group_integers[LEFT_ROWS]
    split_order = group_integers[SPLIT_ORDER]
    group_totals = group_numbers[GROUP_TOTALS]
    group_weights = group_numbers[GROUP_WEIGHTS]
    left_totals = group_numbers[LEFT_TOTALS]
    left_weights = group_numbers[LEFT_WEIGHTS]
    n, start = node.stop - node.start, node.start
    count_rows = rules.min_leaf > 1 and not rules.weight_is_count
    groups = sum_groups(
        rules.mode,
        count_rows,
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
    known = groups - (absent > 0 and not categorical)
    weight = total = 0.0
    in_left = 0
    for b in range(known):
        group = split_order[b] if by_mean else b
        weight += group_weights[group]
        total += group_totals[group]
        left_weights[b] = weight
        left_totals[b] = total
        if count_rows:
            in_left += group_rows[group]
            left_rows[b] = in_left
    at = _scan_sums(rules, node, group_integers, group_numbers, best, j, known - (known == groups), 0.0, 0.0, 0)
    if known == groups:
        return groups, at, left_weights[max(at, 0)] > 0.5 * node.weight
    more_weight, more_total = group_weights[known], group_totals[known]
    other = _scan_sums(rules, node, group_integers, group_numbers, best, j, known - 1, more_weight, more_total, absent)
    return (groups, other, True) if other >= 0 else (groups, at, False)


@inner_kernel
def _scan_sums(rules, node, group_integers, group_numbers, best, j, cuts, more_weight, more_total, more_rows):
    """The best of the first ``cuts`` cuts if it beats what was found before, else -1."""
    gains = group_numbers[GAINS]
    left_totals = group_numbers[LEFT_TOTALS]
    left_weights = group_numbers[LEFT_WEIGHTS]
    left_rows = group_integers[LEFT_ROWS]
    for b in range(cuts):
        wl = left_weights[b] + more_weight
        sl = left_totals[b] + more_total
        wr, sr = node.weight - wl, node.total - sl
        gains[b] = (sl * sl * wr + sr * sr * wl) / (wl * wr)
    best_gain, at = best[0].gain, -1
    least = gain_to_beat(best_gain)
    for b in range(cuts):
        if gains[b] > least:
            wl = left_weights[b] + more_weight
            sl = left_totals[b] + more_total
            left = wl if rules.weight_is_count else float(left_rows[b] + more_rows)
            if is_allowed(rules, node, j, wl, left, sl / wl, (node.total - sl) / (node.weight - wl)):
                best_gain, at = gains[b], b
                least = gain_to_beat(best_gain)
    best[0].gain = best_gain
    return at
