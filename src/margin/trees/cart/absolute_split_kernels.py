"""The best cut of one column for absolute error, compiled by Numba: both sides are judged by their medians."""

from __future__ import annotations

from functools import cache
from typing import Any

from margin.core.cached_kernels import inner_kernel
from margin.trees.cart.absolute_kernels import absolute_gains
from margin.trees.cart.candidate_kernels import admission, gain_to_beat, order_by_mean
from margin.trees.cart.grouping_kernels import sort_keys
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
)

__all__ = ["absolute_cut"]


@cache
def absolute_cut(ordered: bool, missing_values: bool, bounded: bool) -> Any:
    """The kernel that scores the cuts; ``ordered``: categories may have to be put in order first."""
    scan = _scan(bounded)

    @inner_kernel
    def best_absolute_cut(
        rules, node, j, groups, absent, categorical, numbers, node_codes, keys, group_integers, group_numbers, ranking,
        best_gain,
    ):  # fmt: skip
        """As the kernel of :func:`~margin.trees.cart.sum_split_kernels.sum_cut`; categories are ordered by their mean.

        ``node_codes`` becomes the position of every row's group in the order of the cuts.
        """
        group_codes = group_integers[GROUP_CODES]
        group_rows = group_integers[GROUP_ROWS]
        left_rows = group_integers[LEFT_ROWS]
        row_counts = group_integers[ROW_COUNTS]
        n, start = node.stop - node.start, node.start
        if ordered and categorical:
            order_by_mean(groups, group_integers, group_numbers)
            split_order = group_integers[SPLIT_ORDER]
        known_groups, known, in_left = groups, n, 0
        if missing_values and absent > 0 and not categorical:
            known_groups, known = groups - 1, n - absent
        for b in range(groups):
            group = b
            if ordered and categorical:
                group = split_order[b]
            row_counts[group_codes[group]] = b  # the position of a code's group; zero again below
            in_left += group_rows[group]
            left_rows[b] = in_left
        for i in range(n):
            node_codes[i] = row_counts[node_codes[i]]
        for b in range(groups):
            row_counts[group_codes[b]] = 0
        sort_keys(node_codes, n, 0, groups, keys, group_integers)
        absolute_gains(keys, n, known, known_groups, numbers, start, False, ranking, group_numbers)
        cuts = known_groups - (known == n)
        gain, at = scan(rules, node, j, cuts, 0, group_integers, group_numbers, best_gain)
        if missing_values and known < n:
            absolute_gains(keys, n, known, known_groups, numbers, start, True, ranking, group_numbers)
            gain, other = scan(rules, node, j, known_groups - 1, absent, group_integers, group_numbers, gain)
            return (gain, other, True) if other >= 0 else (gain, at, False)
        return gain, at, group_numbers[LEFT_WEIGHTS, at if at > 0 else 0] > 0.5 * node.weight

    return best_absolute_cut


@cache
def _scan(bounded: bool) -> Any:
    is_allowed = admission(bounded)

    @inner_kernel
    def scan(rules, node, j, cuts, more_rows, group_integers, group_numbers, best_gain):
        gains = group_numbers[GAINS]
        left_medians = group_numbers[LEFT_MEDIANS]
        left_weights = group_numbers[LEFT_WEIGHTS]
        right_medians = group_numbers[RIGHT_MEDIANS]
        left_rows = group_integers[LEFT_ROWS]
        at, least = -1, gain_to_beat(best_gain)
        for b in range(cuts):
            if gains[b] > least:
                rows_left = float(left_rows[b] + more_rows)
                if is_allowed(rules, node, j, left_weights[b], rows_left, left_medians[b], right_medians[b]):
                    best_gain, at = gains[b], b
                    least = gain_to_beat(best_gain)
        return best_gain, at

    return scan
