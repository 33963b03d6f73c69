r"""Splits by several sums at once, compiled by Numba: trees of several targets, and the Poisson criterion.

A row adds its weight to channel 0 and to further *channels*: to the channel of its class of every target, or, times the
target, to one channel per target of numbers. With :math:`S_q` the sum of channel q and :math:`W` that of channel 0, up
to terms that no cut changes the weighted decrease of impurity is, summed over targets,

.. math::
    \sum_{q\ge1} \frac{S_{Lq}^2}{W_L} + \frac{S_{Rq}^2}{W_R}, \qquad
    \sum_{q\ge1} S_{Lq}\log\frac{S_{Lq}}{W_L} + S_{Rq}\log\frac{S_{Rq}}{W_R} ,

the first for Gini and squared error, the second for entropy and for the deviance of a Poisson distribution.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from margin.core.cached_kernels import inner_kernel
from margin.trees.cart.candidate_kernels import admission, gain_to_beat, order_by_score
from margin.trees.cart.grouping_kernels import INSERTION, POSITION, SPARSE, sort_keys
from margin.trees.cart.kernel_types import (
    BEST_ORDER,
    FIRST_TARGET,
    GAINS,
    GROUP_CODES,
    GROUP_ROWS,
    LEFT_CLASSES,
    MULTI_ENTROPY,
    MULTI_GINI,
    NODE_CLASSES,
    POISSON,
    ROW_COUNTS,
    SPLIT_ORDER,
    TARGETS,
    WEIGHTS,
)

__all__ = [
    "class_vector_description",
    "group_vectors_by",
    "number_vector_description",
    "sum_vectors_by",
    "vector_cut",
]

POSITIVE = 1e-12  # fraction of a node's sum that each side of a Poisson split needs: a mean must be positive


@cache
def adder(classes: bool) -> Any:
    """The kernel that adds a row to its channels, which begin at ``sums[first]``."""

    @inner_kernel
    def add_row(numbers, i, sums, first):
        w, at = numbers[WEIGHTS, i], np.int64(numbers[TARGETS, i])
        sums[first] += w
        for target in range(FIRST_TARGET, numbers.shape[0]):
            if classes:
                sums[first + 1 + np.int64(numbers[target, at])] += w
            else:
                sums[first + 1 + target - FIRST_TARGET] += w * numbers[target, at]

    return add_row


@cache
def sum_vectors_by(classes: bool) -> Any:
    """The kernel that sums the channels of a node."""
    add_row = adder(classes)

    @inner_kernel
    def sum_vectors(numbers, start, stop, channels, class_weights):
        node_sums = class_weights[NODE_CLASSES]
        for q in range(channels):
            node_sums[q] = 0.0
        for i in range(start, stop):
            add_row(numbers, i, node_sums, 0)

    return sum_vectors


@cache
def group_vectors_by(missing_values: bool, classes: bool) -> Any:
    """The kernel that sums the channels of every group; see :mod:`margin.trees.cart.grouping_kernels`."""
    add_row = adder(classes)

    @inner_kernel
    def group_vectors(
        k, node_codes, n, start, numbers, low, high, absent, missing, keys, group_integers, sums, group_sums
    ):
        """The sums of ``k`` channels (``group_sums``), and the rows, of every group that occurs."""
        group_codes = group_integers[GROUP_CODES]
        group_rows = group_integers[GROUP_ROWS]
        if (high - low + 1) * k > SPARSE * n or (n <= INSERTION // 2 and high - low > n):
            sort_keys(node_codes, n, low, missing if absent else high, keys, group_integers)
            groups, last = np.int64(-1), np.int64(-1)
            for i in range(n):
                code, at = keys[0, i] >> 32, start + (keys[0, i] & POSITION)
                if code != last:
                    groups += 1
                    group_codes[groups], group_rows[groups] = code, 0
                    for q in range(k):
                        group_sums[groups * k + q] = 0.0
                    last = code
                add_row(numbers, at, group_sums, groups * k)
                group_rows[groups] += 1
            return groups + 1
        row_counts = group_integers[ROW_COUNTS]
        for i in range(n):
            c = np.int64(node_codes[i])
            add_row(numbers, start + i, sums, c * k)
            row_counts[c] += 1
        groups, steps = np.int64(0), high - low + 1
        if missing_values:
            steps += absent > 0
        for step in range(steps):
            c = low + step
            if missing_values and step > high - low:
                c = np.int64(missing)
            group_codes[groups] = c
            group_rows[groups] = row_counts[c]
            if row_counts[c] != 0:
                for q in range(k):
                    group_sums[groups * k + q] = sums[c * k + q]
                    sums[c * k + q] = 0.0
                groups += 1
            row_counts[c] = 0
        return groups

    return group_vectors


@cache
def vector_cut(criterion: int, ordered: bool, missing_values: bool, bounded: bool) -> Any:
    """The kernel that scores the cuts of one column; ``ordered``: categories may have to be put in order first."""
    scan = _scan(criterion, ordered, missing_values, bounded)

    @inner_kernel
    def best_vector_cut(
        rules, node, j, groups, absent, categorical, group_integers, group_numbers, group_sums, class_weights,
        best_gain,
    ):  # fmt: skip
        """As the kernel of :func:`~margin.trees.cart.class_split_kernels.class_cut`, every channel giving an order."""
        if ordered and categorical:
            best_order = group_integers[BEST_ORDER]
            split_order = group_integers[SPLIT_ORDER]
            k, at, left = rules.classes, -1, 0.0
            for q in range(1, k):
                _order_by_mean(q, k, groups, group_integers, group_numbers, group_sums)
                best_gain, cut, weight_left = scan(
                    rules, node, j, groups - 1, -1, True, group_integers, group_sums, class_weights, best_gain
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
        gain, at, left = scan(rules, node, j, cuts, -1, False, group_integers, group_sums, class_weights, best_gain)
        if missing_values and known < groups:
            gain, other, left = scan(
                rules, node, j, known - 1, known, False, group_integers, group_sums, class_weights, gain
            )
            return (gain, other, True) if other >= 0 else (gain, at, False)
        return gain, at, left > 0.5 * node.weight

    return best_vector_cut


@inner_kernel
def _order_by_mean(q, k, groups, group_integers, group_numbers, group_sums):
    gains = group_numbers[GAINS]
    for i in range(groups):
        gains[i] = group_sums[i * k + q] / group_sums[i * k]
    order_by_score(groups, group_integers, group_numbers)


@cache
def _scan(criterion: int, ordered: bool, missing_values: bool, bounded: bool) -> Any:
    is_allowed = admission(bounded)
    logarithmic, positive = criterion in (MULTI_ENTROPY, POISSON), criterion == POISSON

    @inner_kernel
    def scan(rules, node, j, cuts, missing_group, in_order, group_integers, group_sums, class_weights, best_gain):
        """The best of the first ``cuts`` cuts and the weight on its left; ``missing_group`` >= 0 goes left first."""
        left_sums = class_weights[LEFT_CLASSES]
        node_sums = class_weights[NODE_CLASSES]
        group_rows = group_integers[GROUP_ROWS]
        split_order = group_integers[SPLIT_ORDER]
        k, in_left = rules.classes, 0
        for q in range(k):
            left_sums[q] = 0.0
        if missing_values and missing_group >= 0:
            in_left = group_rows[missing_group]
            for q in range(k):
                left_sums[q] = group_sums[missing_group * k + q]
        at, best_left = -1, 0.0
        least = gain_to_beat(best_gain)
        for b in range(cuts):
            group = b
            if ordered and in_order:
                group = split_order[b]
            in_left += group_rows[group]
            for q in range(k):
                left_sums[q] += group_sums[group * k + q]
            wl = left_sums[0]
            wr = node.weight - wl
            score_left = score_right = 0.0
            possible = True
            for q in range(1, k):
                lq = left_sums[q]
                rq = node_sums[q] - lq
                if logarithmic:
                    score_left += lq * np.log(lq / wl) if lq > 0 else 0.0
                    score_right += rq * np.log(rq / wr) if rq > 0 else 0.0
                    if positive:
                        floor = POSITIVE * node_sums[q]
                        possible = possible and lq > floor and rq > floor
                else:
                    score_left += lq * lq
                    score_right += rq * rq
            gain = score_left + score_right if logarithmic else score_left / wl + score_right / wr
            if gain > least and possible:
                last = left_sums[k - 1]
                if is_allowed(rules, node, j, wl, float(in_left), last / wl, (node_sums[k - 1] - last) / wr):
                    best_gain, at, best_left = gain, b, wl
                    least = gain_to_beat(best_gain)
        return best_gain, at, best_left

    return scan


@cache
def class_vector_description(criterion: int) -> Any:
    """The kernel that describes a node of several targets of classes; see ``describing_kernels``.

    Its "total" is the score of the node as a whole, to which that of a split is compared.
    """
    gini, add_row = criterion == MULTI_GINI, adder(True)

    @inner_kernel
    def describe_class_vectors(numbers, value, _ranking, node, start, stop):
        channels, targets, sums = value.shape[1], numbers.shape[0] - FIRST_TARGET, value[node]
        for q in range(channels):
            sums[q] = 0.0
        for i in range(start, stop):
            add_row(numbers, i, sums, 0)
        weight, total, impurity, pure = sums[0], 0.0, 0.0, 0
        for q in range(1, channels):
            fraction = sums[q] / weight
            sums[q] = fraction
            pure += fraction == 1.0
            if gini:
                total += weight * fraction * fraction
                impurity += fraction * (1.0 - fraction)
            elif fraction > 0:
                total += weight * fraction * np.log(fraction)
                impurity -= fraction * np.log2(fraction)
        return weight, total, 0.0 if pure == targets else impurity / targets

    return describe_class_vectors


@cache
def number_vector_description(criterion: int) -> Any:
    """The kernel that describes a node of targets of numbers; "total" as in :func:`class_vector_description`."""
    poisson = criterion == POISSON

    @inner_kernel
    def describe_number_vectors(numbers, value, _ranking, node, start, stop):
        weights, positions = numbers[WEIGHTS], numbers[TARGETS]
        weight = total = loss = 0.0
        for i in range(start, stop):
            weight += weights[i]
        for target in range(FIRST_TARGET, numbers.shape[0]):
            values = numbers[target]
            low = high = values[np.int64(positions[start])]
            mean = 0.0
            for i in range(start, stop):
                t = values[np.int64(positions[i])]
                mean += weights[i] * t
                low = t if t < low else low
                high = t if t > high else high
            if poisson:
                total += mean * np.log(mean / weight) if mean > 0 else 0.0
            else:
                total += mean * mean / weight
            mean /= weight
            mean = low if mean < low else high if mean > high else mean
            if low < high:
                for i in range(start, stop):
                    t = values[np.int64(positions[i])]
                    if poisson:
                        loss += weights[i] * t * np.log(t / mean) if t > 0 else 0.0
                    else:
                        loss += weights[i] * (t - mean) * (t - mean)
            value[node, 1 + target - FIRST_TARGET] = mean
        value[node, 0] = weight
        loss /= weight * (numbers.shape[0] - FIRST_TARGET)
        return weight, total, loss if loss > 0.0 else 0.0

    return describe_number_vectors
