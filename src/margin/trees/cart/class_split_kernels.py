r"""The best cut of one column for any number of classes, compiled by Numba.

Up to terms that no cut changes, the weighted decrease of impurity is, for Gini and for entropy,

.. math::
    \sum_k \frac{n_{Lk}^2}{W_L} + \frac{n_{Rk}^2}{W_R}, \qquad
    \sum_k n_{Lk}\log\frac{n_{Lk}}{W_L} + n_{Rk}\log\frac{n_{Rk}}{W_R} .
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from margin.core.cached_kernels import inner_kernel
from margin.trees.cart.candidate_kernels import admission, gain_to_beat, order_by_score
from margin.trees.cart.kernel_types import BEST_ORDER, GAINS, GROUP_ROWS, LEFT_CLASSES, NODE_CLASSES, SPLIT_ORDER

__all__ = ["class_cut"]


@cache
def class_cut(gini: bool, ordered: bool, missing_values: bool, bounded: bool) -> Any:
    """The kernel that scores the cuts by Gini or entropy; ``ordered``: categories may have to be put in order first."""
    scan = _scan(gini, ordered, missing_values, bounded)

    @inner_kernel
    def best_class_cut(
        rules, node, j, groups, absent, categorical, group_integers, group_numbers, group_classes, class_weights,
        best_gain,
    ):  # fmt: skip
        """As the kernel of :func:`~margin.trees.cart.sum_split_kernels.sum_cut`; categories are ordered by each class.

        Every class gives an order of the categories by its fraction; two classes need one.
        """
        if ordered and categorical:
            best_order = group_integers[BEST_ORDER]
            split_order = group_integers[SPLIT_ORDER]
            k, at, left = rules.classes, -1, 0.0
            for q in range(1 if k == 2 else 0, k):
                _order_by_fraction(q, k, groups, group_integers, group_numbers, group_classes)
                best_gain, cut, weight_left = scan(
                    rules, node, j, groups - 1, -1, True, group_integers, group_classes, class_weights, best_gain
                )
                if cut >= 0:
                    at, left = cut, weight_left
                    for i in range(groups):
                        best_order[i] = split_order[i]
            for i in range(groups):
                split_order[i] = best_order[i]
            return best_gain, at, left > 0.5 * node.weight
        known = groups
        if missing_values:
            known -= absent > 0 and not categorical
        cuts = known - (known == groups)
        gain, at, left = scan(rules, node, j, cuts, -1, False, group_integers, group_classes, class_weights, best_gain)
        if missing_values and known < groups:
            gain, other, left = scan(
                rules, node, j, known - 1, known, False, group_integers, group_classes, class_weights, gain
            )
            return (gain, other, True) if other >= 0 else (gain, at, False)
        return gain, at, left > 0.5 * node.weight

    return best_class_cut


@inner_kernel
def _order_by_fraction(q, k, groups, group_integers, group_numbers, group_classes):
    gains = group_numbers[GAINS]
    for i in range(groups):
        weight = 0.0
        for r in range(k):
            weight += group_classes[i * k + r]
        gains[i] = group_classes[i * k + q] / weight
    order_by_score(groups, group_integers, group_numbers)


@cache
def _scan(gini: bool, ordered: bool, missing_values: bool, bounded: bool) -> Any:
    is_allowed = admission(bounded)

    @inner_kernel
    def scan(rules, node, j, cuts, missing_group, in_order, group_integers, group_classes, class_weights, best_gain):
        """The best of the first ``cuts`` cuts and the weight on its left; ``missing_group`` >= 0 goes left first."""
        left_classes = class_weights[LEFT_CLASSES]
        node_classes = class_weights[NODE_CLASSES]
        group_rows = group_integers[GROUP_ROWS]
        split_order = group_integers[SPLIT_ORDER]
        k, in_left = rules.classes, 0
        for q in range(k):
            left_classes[q] = 0.0
        if missing_values and missing_group >= 0:
            in_left = group_rows[missing_group]
            for q in range(k):
                left_classes[q] = group_classes[missing_group * k + q]
        at, best_left = -1, 0.0
        least = gain_to_beat(best_gain)
        for b in range(cuts):
            group = b
            if ordered and in_order:
                group = split_order[b]
            in_left += group_rows[group]
            wl = score_left = score_right = 0.0
            for q in range(k):
                left_classes[q] += group_classes[group * k + q]
                wl += left_classes[q]
            wr = node.weight - wl
            for q in range(k):
                lq = left_classes[q]
                rq = node_classes[q] - lq
                if gini:
                    score_left += lq * lq
                    score_right += rq * rq
                else:
                    score_left += lq * np.log(lq / wl) if lq > 0 else 0.0
                    score_right += rq * np.log(rq / wr) if rq > 0 else 0.0
            gain = score_left / wl + score_right / wr if gini else score_left + score_right
            if gain > least:
                last = left_classes[k - 1]
                if is_allowed(rules, node, j, wl, float(in_left), last / wl, (node_classes[k - 1] - last) / wr):
                    best_gain, at, best_left = gain, b, wl
                    least = gain_to_beat(best_gain)
        return best_gain, at, best_left

    return scan
