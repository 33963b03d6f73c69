"""Splits that are drawn, not searched (extremely randomized trees), compiled by Numba."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from margin.core.cached_kernels import inner_kernel
from margin.trees.cart.candidate_kernels import midpoint
from margin.trees.cart.grouping_kernels import POSITION
from margin.trees.cart.kernel_types import SPLIT_ORDER, TARGETS, WEIGHTS

__all__ = ["random_cut", "random_scorer", "side_draw", "uniform"]


@inner_kernel
def uniform(generator):
    """A number in [0, 1) from a 64-bit xorshift-multiply generator whose state is ``generator[0]``."""
    x = generator[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    generator[0] = x
    return ((x * np.uint64(2685821657736338717)) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inner_kernel
def random_cut(ranges, first, low, high, generator):
    """A code with rows on both sides, from a threshold drawn between the smallest and the largest value."""
    smallest, largest = ranges[0, first + low], ranges[1, first + high]
    threshold = smallest + (largest - smallest) * uniform(generator)
    # The last code before ``high`` whose values are all at most the threshold. Halving without a branch: which half is
    # next cannot be predicted, and guessing wrong costs more than the step.
    below, candidates = np.int64(low), np.int64(high - low)
    while candidates > 1:
        half = candidates >> 1
        below += half * np.int64(ranges[1, np.uint64(first + below + half)] <= threshold)
        candidates -= half
    left, right = ranges[1, first + below], ranges[0, first + below + 1]
    return below, threshold if left <= threshold < right else midpoint(left, right)


@inner_kernel
def _random_sides(node_codes, n, missing, group_integers, generator):
    """Send every category, and missing, to a side drawn for it, kept in ``split_order``."""
    split_order = group_integers[SPLIT_ORDER]
    for c in range(256):
        split_order[c] = 0 if uniform(generator) < 0.5 else 1
    for i in range(n):
        node_codes[i] = split_order[255 if node_codes[i] == missing else node_codes[i]]


@cache
def side_draw(categories: bool, missing_values: bool) -> Any:
    """The kernel that draws one split of a column."""

    @inner_kernel
    def draw_sides(n, low, high, absent, missing, categorical, ranges, first, node_codes, group_integers, generator):
        """Codes become 0 (left) and 1; returns the cut, its threshold and the new smallest, largest, absent."""
        if categories and categorical:
            _random_sides(node_codes, n, missing, group_integers, generator)
            smallest = largest = np.int64(node_codes[0])
            for i in range(n):
                smallest = min(smallest, np.int64(node_codes[i]))
                largest = max(largest, np.int64(node_codes[i]))
            return np.int64(-1), np.inf, smallest, largest, 0
        if low == high:  # the only cut parts the one known group from the missing ones
            return low, np.inf, low, high, absent
        cut, threshold = random_cut(ranges, first, low, high, generator)
        for i in range(n):
            if not missing_values or node_codes[i] != missing:
                node_codes[i] = node_codes[i] > cut
        return cut, threshold, np.int64(0), np.int64(1), absent

    return draw_sides


@cache
def random_scorer(packed: bool) -> Any:
    """The kernel that scores one cut of a column without missing values for squared error or two classes."""

    @inner_kernel
    def random_gain(weight, total, start, n, amounts, node_codes, cut):
        """The gain; weight, total and rows left."""
        first, rows_left = np.uint64(start), np.int64(0)  # unsigned: no index counts from the end, and loops vectorize
        if packed:
            both = np.int64(0)
            for i in range(n):
                here = np.uint64(i)
                goes = node_codes[here] <= cut
                both += amounts[0, first + here] if goes else 0
                rows_left += goes
            weight_left, total_left = float(both >> 32), float(both & POSITION)
        else:
            weights = amounts[WEIGHTS]
            targets = amounts[TARGETS]
            weight_left = total_left = 0.0
            for i in range(n):
                here = np.uint64(i)
                goes = node_codes[here] <= cut
                w = weights[first + here] if goes else 0.0
                weight_left += w
                total_left += w * targets[first + here]
                rows_left += goes
        weight_right, total_right = weight - weight_left, total - total_left
        gain = total_left * total_left * weight_right + total_right * total_right * weight_left
        return gain / (weight_left * weight_right), weight_left, total_left, rows_left

    return random_gain
