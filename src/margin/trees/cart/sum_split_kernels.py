r"""The best cut of one column for squared error, and for two classes under Gini, compiled by Numba.

Up to terms that no cut changes, the weighted decrease of impurity is :math:`S_L^2/W_L + S_R^2/W_R`, with :math:`S` the
total of the targets (0 and 1 for two classes) and :math:`W` that of the weights.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from margin.core.cached_kernels import inner_kernel
from margin.trees.cart.candidate_kernels import admission, gain_to_beat, order_by_mean
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

__all__ = ["sum_cut"]


@cache
def sum_cut(ordered: bool, missing_values: bool, bounded: bool) -> Any:
    """The kernel that scores the cuts; ``ordered``: categories may have to be put in order first."""
    scan = _scan(bounded)

    @inner_kernel
    def best_sum_cut(rules, node, j, groups, absent, categorical, count_rows, group_integers, group_numbers, best_gain):
        """The best gain, after how many groups to cut less one (-1: none beats ``best_gain``), missing on the left."""
        group_rows = group_integers[GROUP_ROWS]
        left_rows = group_integers[LEFT_ROWS]
        group_totals = group_numbers[GROUP_TOTALS]
        group_weights = group_numbers[GROUP_WEIGHTS]
        left_totals = group_numbers[LEFT_TOTALS]
        left_weights = group_numbers[LEFT_WEIGHTS]
        if ordered and categorical:
            order_by_mean(groups, group_integers, group_numbers)
            split_order = group_integers[SPLIT_ORDER]
        known = groups
        if missing_values:
            known -= absent > 0 and not categorical
        weight = total = 0.0
        in_left = 0
        for b in range(known):
            group = b
            if ordered and categorical:
                group = split_order[b]
            weight += group_weights[group]
            total += group_totals[group]
            left_weights[b] = weight
            left_totals[b] = total
            if count_rows:
                in_left += group_rows[group]
                left_rows[b] = in_left
        cuts = known - (known == groups)
        gain, at = scan(rules, node, j, cuts, 0.0, 0.0, 0, group_integers, group_numbers, best_gain)
        if missing_values and known < groups:
            more_weight, more_total = group_weights[known], group_totals[known]
            gain, other = scan(
                rules, node, j, known - 1, more_weight, more_total, absent, group_integers, group_numbers, gain
            )
            return (gain, other, True) if other >= 0 else (gain, at, False)
        return gain, at, left_weights[at if at > 0 else 0] > 0.5 * node.weight

    return best_sum_cut


@cache
def _scan(bounded: bool) -> Any:
    is_allowed = admission(bounded)

    @inner_kernel
    def scan(rules, node, j, cuts, more_weight, more_total, more_rows, group_integers, group_numbers, best_gain):
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
        at, least = -1, gain_to_beat(best_gain)
        for b in range(cuts):
            if gains[b] > least:
                wl = left_weights[b] + more_weight
                sl = left_totals[b] + more_total
                left = wl if rules.weight_is_count else float(left_rows[b] + more_rows)
                if is_allowed(rules, node, j, wl, left, sl / wl, (node.total - sl) / (node.weight - wl)):
                    best_gain, at = gains[b], b
                    least = gain_to_beat(best_gain)
        return best_gain, at

    return scan
