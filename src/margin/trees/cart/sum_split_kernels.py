r"""The best cut of one column for squared error, and for two classes under Gini, compiled by Numba.

Up to terms that no cut changes, the weighted decrease of impurity is :math:`S_L^2/W_L + S_R^2/W_R`, with :math:`S` the
total of the targets (0 and 1 for two classes) and :math:`W` that of the weights.
"""

from __future__ import annotations

from margin.trees.cart.cut_kernels import allowed, bar, order_by_mean
from margin.trees.cart.kernel_types import (
    GAIN,
    LEVEL_ROWS,
    LEVEL_TOTAL,
    LEVEL_WEIGHT,
    ORDER,
    ROWS_LEFT,
    TOTAL_LEFT,
    WEIGHT_LEFT,
)
from margin.trees.cart.level_kernels import hot, sums_of_levels

__all__ = ["try_sums"]


@hot
def try_sums(
    rules, node, number, packed, local, keys, whole, real, sums, best_number,
    j, low, high, absent, missing, categorical,
):  # fmt: skip
    """Levels, their order and their cuts; returns how many levels, after which to cut, whether missing goes left."""
    n, start = node.stop - node.start, node.start
    count_rows = rules.min_leaf > 1 and not rules.weight_is_count
    m = sums_of_levels(
        rules.mode, count_rows, start, n, number, packed, low, high, absent, missing, local, keys, whole, real, sums
    )
    by_mean = categorical and not rules.random
    if by_mean:
        order_by_mean(m, whole, real)
    known = m - (absent > 0 and not categorical)
    weight = total = 0.0
    in_left = 0
    for b in range(known):
        level = whole[ORDER, b] if by_mean else b
        weight += real[LEVEL_WEIGHT, level]
        total += real[LEVEL_TOTAL, level]
        real[WEIGHT_LEFT, b] = weight
        real[TOTAL_LEFT, b] = total
        if count_rows:
            in_left += whole[LEVEL_ROWS, level]
            whole[ROWS_LEFT, b] = in_left
    at = _scan_sums(rules, node, whole, real, best_number, j, known - (known == m), 0.0, 0.0, 0)
    if known == m:
        return m, at, real[WEIGHT_LEFT, max(at, 0)] > 0.5 * node.weight
    more_weight, more_total = real[LEVEL_WEIGHT, known], real[LEVEL_TOTAL, known]
    other = _scan_sums(rules, node, whole, real, best_number, j, known - 1, more_weight, more_total, absent)
    return (m, other, True) if other >= 0 else (m, at, False)


@hot
def _scan_sums(rules, node, whole, real, best_number, j, cuts, more_weight, more_total, more_rows):
    """The best of the first ``cuts`` cuts if it beats what was found before, else -1."""
    for b in range(cuts):
        wl = real[WEIGHT_LEFT, b] + more_weight
        sl = real[TOTAL_LEFT, b] + more_total
        wr, sr = node.weight - wl, node.total - sl
        real[GAIN, b] = (sl * sl * wr + sr * sr * wl) / (wl * wr)
    best, at = best_number[0], -1
    least = bar(best)
    for b in range(cuts):
        if real[GAIN, b] > least:
            wl = real[WEIGHT_LEFT, b] + more_weight
            sl = real[TOTAL_LEFT, b] + more_total
            left = wl if rules.weight_is_count else float(whole[ROWS_LEFT, b] + more_rows)
            if allowed(rules, node, j, wl, left, sl / wl, (node.total - sl) / (node.weight - wl)):
                best, at = real[GAIN, b], b
                least = bar(best)
    best_number[0] = best
    return at
