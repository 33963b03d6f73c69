"""What every search of a cut shares, compiled by Numba: the order of groups, and when a cut may be taken."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from margin.core.cached_kernels import inner_kernel
from margin.trees.cart.kernel_types import GAINS, GROUP_TOTALS, GROUP_WEIGHTS, SPLIT_ORDER

__all__ = ["admission", "gain_to_beat", "midpoint", "order_by_mean", "order_by_score"]

# A split must beat an earlier one by more than rounding, or the order in which rows were added up would choose.
TIE = 1e-12


@inner_kernel
def midpoint(low, high):
    middle = low / 2 + high / 2
    return low if middle >= high or middle < low else middle


@inner_kernel
def gain_to_beat(best):
    """What a gain must exceed to replace ``best``."""
    return best + TIE * abs(best) if best > -np.inf else best


@inner_kernel
def order_by_score(groups, group_integers, group_numbers):
    """Write the groups by ascending ``gains``, equal ones by code, to ``split_order``."""
    gains = group_numbers[GAINS]
    split_order = group_integers[SPLIT_ORDER]
    for i in range(groups):
        j = i
        while j > 0 and gains[split_order[j - 1]] > gains[i]:
            split_order[j] = split_order[j - 1]
            j -= 1
        split_order[j] = i


@inner_kernel
def order_by_mean(groups, group_integers, group_numbers):
    gains = group_numbers[GAINS]
    group_totals = group_numbers[GROUP_TOTALS]
    group_weights = group_numbers[GROUP_WEIGHTS]
    for i in range(groups):
        gains[i] = group_totals[i] / group_weights[i]
    order_by_score(groups, group_integers, group_numbers)


@cache
def admission(bounded: bool) -> Any:
    """The kernel that says whether a cut may be taken."""

    @inner_kernel
    def is_allowed(rules, node, j, wl, rows_left, value_left, value_right):
        """Whether both sides are large enough and their values keep the order that monotone columns ask for."""
        if rules.min_leaf > 1:
            right = node.stop - node.start - rows_left
            if rows_left < rules.min_leaf or right < rules.min_leaf:
                return False
        if wl < rules.min_weight or node.weight - wl < rules.min_weight:
            return False
        if bounded and rules.constrained:
            inside = min(value_left, value_right) >= node.lower and max(value_left, value_right) <= node.upper
            return inside and (value_right - value_left) * rules.monotone[j] >= 0
        return True

    return is_allowed
