r"""The best cut of one column for any number of classes, compiled by Numba.

Up to terms that no cut changes, the weighted decrease of impurity is, for Gini and for entropy,

.. math::
    \sum_k \frac{n_{Lk}^2}{W_L} + \frac{n_{Rk}^2}{W_R}, \qquad
    \sum_k n_{Lk}\log\frac{n_{Lk}}{W_L} + n_{Rk}\log\frac{n_{Rk}}{W_R} .
"""

from __future__ import annotations

import numpy as np

from margin.trees.cart.cut_kernels import allowed, bar, order_by_score
from margin.trees.cart.kernel_types import BEST_ORDER, GAIN, GINI, LEFT, LEVEL_ROWS, ORDER, TOTAL
from margin.trees.cart.level_kernels import classes_of_levels, hot

__all__ = ["try_classes"]


@hot
def try_classes(
    rules, node, number, local, keys, whole, real, sums, found, classes, best_number,
    j, low, high, absent, missing, categorical,
):  # fmt: skip
    """As :func:`~margin.trees.cart.sum_split_kernels.try_sums`; categories are ordered by the share of each class.

    Two classes need one order.
    """
    k = rules.classes
    m = classes_of_levels(
        k, node.start, node.stop - node.start, number, low, high, absent, missing, local, keys, whole, sums, found
    )
    if categorical and not rules.random:
        at, left = -1, 0.0
        for q in range(1 if k == 2 else 0, k):
            _order_by_share(q, k, m, whole, real, found)
            cut, weight_left = _scan_classes(rules, node, whole, found, classes, best_number, j, m - 1, -1, True)
            if cut >= 0:
                at, left = cut, weight_left
                for i in range(m):
                    whole[BEST_ORDER, i] = whole[ORDER, i]
        for i in range(m):
            whole[ORDER, i] = whole[BEST_ORDER, i]
        return m, at, left > 0.5 * node.weight
    known = m - (absent > 0 and not categorical)
    cuts = known - (known == m)
    at, left = _scan_classes(rules, node, whole, found, classes, best_number, j, cuts, -1, False)
    if known == m:
        return m, at, left > 0.5 * node.weight
    other, left = _scan_classes(rules, node, whole, found, classes, best_number, j, known - 1, known, False)
    return (m, other, True) if other >= 0 else (m, at, False)


@hot
def _order_by_share(q, k, m, whole, real, found):
    for i in range(m):
        weight = 0.0
        for r in range(k):
            weight += found[i * k + r]
        real[GAIN, i] = found[i * k + q] / weight
    order_by_score(m, whole, real)


@hot
def _scan_classes(rules, node, whole, found, classes, best_number, j, cuts, missing_level, ordered):
    """The best of the first ``cuts`` cuts and the weight on its left; ``missing_level`` >= 0 goes left before all."""
    k, in_left = rules.classes, 0
    for q in range(k):
        classes[LEFT, q] = found[missing_level * k + q] if missing_level >= 0 else 0.0
    if missing_level >= 0:
        in_left = whole[LEVEL_ROWS, missing_level]
    best, at, best_left = best_number[0], -1, 0.0
    least = bar(best)
    for b in range(cuts):
        level = whole[ORDER, b] if ordered else b
        in_left += whole[LEVEL_ROWS, level]
        wl = score_left = score_right = 0.0
        for q in range(k):
            classes[LEFT, q] += found[level * k + q]
            wl += classes[LEFT, q]
        wr = node.weight - wl
        for q in range(k):
            lq = classes[LEFT, q]
            rq = classes[TOTAL, q] - lq
            if rules.mode == GINI:
                score_left += lq * lq
                score_right += rq * rq
            else:
                score_left += lq * np.log(lq / wl) if lq > 0 else 0.0
                score_right += rq * np.log(rq / wr) if rq > 0 else 0.0
        gain = score_left / wl + score_right / wr if rules.mode == GINI else score_left + score_right
        if gain > least:
            last = classes[LEFT, k - 1]
            if allowed(rules, node, j, wl, float(in_left), last / wl, (classes[TOTAL, k - 1] - last) / wr):
                best, at, best_left = gain, b, wl
                least = bar(best)
    best_number[0] = best
    return at, best_left
