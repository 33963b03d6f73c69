"""What every search of a cut shares, compiled by Numba: the order of levels, and when a cut may be taken."""

from __future__ import annotations

import numpy as np

from margin.trees.cart.kernel_types import GAIN, LEVEL_TOTAL, LEVEL_WEIGHT, ORDER
from margin.trees.cart.level_kernels import hot

__all__ = ["allowed", "bar", "between", "order_by_mean", "order_by_score"]

# A split must beat an earlier one by more than rounding, or the order in which rows were added up would choose.
TIE = 1e-12


@hot
def between(low, high):
    middle = low / 2 + high / 2
    return low if middle >= high or middle < low else middle


@hot
def bar(best):
    """What a gain must exceed to replace ``best``."""
    return best + TIE * abs(best) if best > -np.inf else best


@hot
def order_by_score(m, whole, real):
    """Levels by ascending GAIN, equal ones by code, in the row ORDER."""
    for i in range(m):
        j = i
        while j > 0 and real[GAIN, whole[ORDER, j - 1]] > real[GAIN, i]:
            whole[ORDER, j] = whole[ORDER, j - 1]
            j -= 1
        whole[ORDER, j] = i


@hot
def order_by_mean(m, whole, real):
    for i in range(m):
        real[GAIN, i] = real[LEVEL_TOTAL, i] / real[LEVEL_WEIGHT, i]
    order_by_score(m, whole, real)


@hot
def allowed(rules, node, j, wl, rows_left, value_left, value_right):
    """Whether both sides are large enough and their values keep the order that monotone columns ask for."""
    if rules.min_leaf > 1:
        right = node.stop - node.start - rows_left
        if rows_left < rules.min_leaf or right < rules.min_leaf:
            return False
    if wl < rules.min_weight or node.weight - wl < rules.min_weight:
        return False
    if not rules.constrained:
        return True
    inside = min(value_left, value_right) >= node.lower and max(value_left, value_right) <= node.upper
    return inside and (value_right - value_left) * rules.monotone[j] >= 0
