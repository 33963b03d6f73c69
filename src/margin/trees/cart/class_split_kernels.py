r"""The best cut of one column for any number of classes, compiled by Numba.

Up to terms that no cut changes, the weighted decrease of impurity is, for Gini and for entropy,

.. math::
    \sum_k \frac{n_{Lk}^2}{W_L} + \frac{n_{Rk}^2}{W_R}, \qquad
    \sum_k n_{Lk}\log\frac{n_{Lk}}{W_L} + n_{Rk}\log\frac{n_{Rk}}{W_R} .
"""

from __future__ import annotations

import numpy as np

from margin.trees.cart.candidate_kernels import gain_to_beat, is_allowed, order_by_score
from margin.trees.cart.grouping_kernels import inner_kernel, sum_group_classes
from margin.trees.cart.kernel_types import BEST_ORDER, GAINS, GINI, GROUP_ROWS, LEFT_CLASSES, NODE_CLASSES, SPLIT_ORDER

__all__ = ["best_class_split"]


@inner_kernel
def best_class_split(
    rules, node, row_numbers, node_codes, keys, group_integers, group_numbers, sums, group_classes, class_weights, best,
    j, low, high, absent, missing, categorical,
):  # fmt: skip
    """As :func:`~margin.trees.cart.sum_split_kernels.best_sum_split`; categories are ordered by each class.

    Every class gives an order of the categories by its fraction; two classes need one.
    """
    best_order = group_integers[BEST_ORDER]
    split_order = group_integers[SPLIT_ORDER]
    k = rules.classes
    groups = sum_group_classes(
        k,
        node.start,
        node.stop - node.start,
        row_numbers,
        low,
        high,
        absent,
        missing,
        node_codes,
        keys,
        group_integers,
        sums,
        group_classes,
    )
    if categorical and not rules.random:
        at, left = -1, 0.0
        for q in range(1 if k == 2 else 0, k):
            _order_by_fraction(q, k, groups, group_integers, group_numbers, group_classes)
            cut, weight_left = _scan_classes(
                rules, node, group_integers, group_classes, class_weights, best, j, groups - 1, -1, True
            )
            if cut >= 0:
                at, left = cut, weight_left
                for i in range(groups):
                    best_order[i] = split_order[i]
        for i in range(groups):
            split_order[i] = best_order[i]
        return groups, at, left > 0.5 * node.weight
    known = groups - (absent > 0 and not categorical)
    cuts = known - (known == groups)
    at, left = _scan_classes(rules, node, group_integers, group_classes, class_weights, best, j, cuts, -1, False)
    if known == groups:
        return groups, at, left > 0.5 * node.weight
    other, left = _scan_classes(
        rules, node, group_integers, group_classes, class_weights, best, j, known - 1, known, False
    )
    return (groups, other, True) if other >= 0 else (groups, at, False)


@inner_kernel
def _order_by_fraction(q, k, groups, group_integers, group_numbers, group_classes):
    gains = group_numbers[GAINS]
    for i in range(groups):
        weight = 0.0
        for r in range(k):
            weight += group_classes[i * k + r]
        gains[i] = group_classes[i * k + q] / weight
    order_by_score(groups, group_integers, group_numbers)


@inner_kernel
def _scan_classes(rules, node, group_integers, group_classes, class_weights, best, j, cuts, missing_group, ordered):
    """The best of the first ``cuts`` cuts and the weight on its left; ``missing_group`` >= 0 goes left before all."""
    left_classes = class_weights[LEFT_CLASSES]
    node_classes = class_weights[NODE_CLASSES]
    group_rows = group_integers[GROUP_ROWS]
    split_order = group_integers[SPLIT_ORDER]
    k, in_left = rules.classes, 0
    for q in range(k):
        left_classes[q] = group_classes[missing_group * k + q] if missing_group >= 0 else 0.0
    if missing_group >= 0:
        in_left = group_rows[missing_group]
    best_gain, at, best_left = best[0].gain, -1, 0.0
    least = gain_to_beat(best_gain)
    for b in range(cuts):
        group = split_order[b] if ordered else b
        in_left += group_rows[group]
        wl = score_left = score_right = 0.0
        for q in range(k):
            left_classes[q] += group_classes[group * k + q]
            wl += left_classes[q]
        wr = node.weight - wl
        for q in range(k):
            lq = left_classes[q]
            rq = node_classes[q] - lq
            if rules.mode == GINI:
                score_left += lq * lq
                score_right += rq * rq
            else:
                score_left += lq * np.log(lq / wl) if lq > 0 else 0.0
                score_right += rq * np.log(rq / wr) if rq > 0 else 0.0
        gain = score_left / wl + score_right / wr if rules.mode == GINI else score_left + score_right
        if gain > least:
            last = left_classes[k - 1]
            if is_allowed(rules, node, j, wl, float(in_left), last / wl, (node_classes[k - 1] - last) / wr):
                best_gain, at, best_left = gain, b, wl
                least = gain_to_beat(best_gain)
    best[0].gain = best_gain
    return at, best_left
