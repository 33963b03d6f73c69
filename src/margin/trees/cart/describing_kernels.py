"""Weight, value and impurity of a node, compiled by Numba, one kernel per criterion."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from margin.core.cached_kernels import inner_kernel
from margin.trees.cart.absolute_kernels import weighted_median
from margin.trees.cart.grouping_kernels import POSITION
from margin.trees.cart.kernel_types import (
    ABSOLUTE_ERROR,
    ENTROPY,
    GINI,
    MULTI_ENTROPY,
    MULTI_GINI,
    PACKED_GINI,
    TARGETS,
    WEIGHTS,
    has_vectors,
)
from margin.trees.cart.vector_kernels import class_vector_description, number_vector_description

__all__ = ["description"]


def description(criterion: int) -> Any:
    """The kernel that describes a node: its value is written, its weight, total and impurity are returned.

    A pure node gets the impurity zero exactly.
    """
    if criterion == PACKED_GINI:
        return _describe_packed
    if has_vectors(criterion):
        by_class = criterion in (MULTI_GINI, MULTI_ENTROPY)
        return (class_vector_description if by_class else number_vector_description)(criterion)
    if criterion in (GINI, ENTROPY):
        return _class_description(criterion == GINI)
    return _number_description(criterion == ABSOLUTE_ERROR)


@inner_kernel
def _describe_packed(packed, value, _ranking, node, start, stop):
    both = np.int64(0)
    for i in range(start, stop):
        both += packed[0, i]
    weight, total = float(both >> 32), float(both & POSITION)
    fraction = total / weight
    value[node, 0], value[node, 1] = (weight - total) / weight, fraction
    return weight, total, 2.0 * fraction * (1.0 - fraction)


@cache
def _class_description(gini: bool) -> Any:
    @inner_kernel
    def describe_classes(numbers, value, _ranking, node, start, stop):
        targets = numbers[TARGETS]
        weights = numbers[WEIGHTS]
        weight, classes = 0.0, value.shape[1]
        for q in range(classes):
            value[node, q] = 0.0
        for i in range(start, stop):
            value[node, np.int64(targets[i])] += weights[i]
        for q in range(classes):
            weight += value[node, q]
        total, pure = value[node, classes - 1], False
        impurity = 1.0 if gini else 0.0
        for q in range(classes):
            fraction = value[node, q] / weight
            value[node, q] = fraction
            pure |= fraction == 1.0
            if gini:
                impurity -= fraction * fraction
            elif fraction > 0:
                impurity -= fraction * np.log2(fraction)
        return weight, total, 0.0 if pure or impurity < 0.0 else impurity

    return describe_classes


@cache
def _number_description(absolute: bool) -> Any:
    @inner_kernel
    def describe_numbers(numbers, value, ranking, node, start, stop):
        targets = numbers[TARGETS]
        weights = numbers[WEIGHTS]
        weight = total = 0.0
        low = high = targets[start]
        for i in range(start, stop):
            t, w = targets[i], weights[i]
            weight += w
            total += w * t
            low = t if t < low else low
            high = t if t > high else high
        center = total / weight
        center = low if center < low else high if center > high else center
        if absolute:
            center = weighted_median(numbers, start, stop, weight, ranking)
        loss = 0.0
        if low < high:
            for i in range(start, stop):
                off = targets[i] - center
                loss += weights[i] * (abs(off) if absolute else off * off)
        value[node, 0] = center
        return weight, total, loss / weight

    return describe_numbers
