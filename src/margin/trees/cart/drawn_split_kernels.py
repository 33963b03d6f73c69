"""Splits that are drawn, not searched (extremely randomized trees), compiled by Numba."""

from __future__ import annotations

import numpy as np

from margin.trees.cart.cut_kernels import between
from margin.trees.cart.kernel_types import ORDER, TARGET, WEIGHT
from margin.trees.cart.level_kernels import POSITION, hot, span

__all__ = ["drawn_gain", "random_cut", "randomize", "uniform"]


@hot
def uniform(rng):
    """A number in [0, 1) from a 64-bit xorshift-multiply generator whose state is ``rng[0]``."""
    x = rng[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    rng[0] = x
    return ((x * np.uint64(2685821657736338717)) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@hot
def randomize(n, low, high, absent, missing, categorical, ranges, first, local, whole, rng):
    """Draw one split of the column: codes become 0 (left) and 1; returns the cut, its threshold and the new span."""
    if categorical:
        _random_sides(local, n, missing, whole, rng)
        low, high, absent = span(local, n, missing, False)
        return np.int64(-1), np.inf, low, high, absent
    if low == high:  # the only cut parts the one known level from the missing ones
        return low, np.inf, low, high, absent
    cut, threshold = random_cut(ranges, first, low, high, rng)
    for i in range(n):
        if local[i] != missing:
            local[i] = local[i] > cut
    return cut, threshold, np.int64(0), np.int64(1), absent


@hot
def random_cut(ranges, first, low, high, rng):
    """A code with rows on both sides, from a threshold drawn between the smallest and the largest value."""
    smallest, largest = ranges[0, first + low], ranges[1, first + high]
    threshold = smallest + (largest - smallest) * uniform(rng)
    # The last code before ``high`` whose values are all at most the threshold. Halving without a branch: which half is
    # next cannot be predicted, and guessing wrong costs more than the step.
    below, candidates = np.int64(low), np.int64(high - low)
    while candidates > 1:
        half = candidates >> 1
        below += half * np.int64(ranges[1, np.uint64(first + below + half)] <= threshold)
        candidates -= half
    left, right = ranges[1, first + below], ranges[0, first + below + 1]
    return below, threshold if left <= threshold < right else between(left, right)


@hot
def _random_sides(local, n, missing, whole, rng):
    """Send every category, and missing, to a side drawn for it, kept in the row ORDER."""
    for c in range(256):
        whole[ORDER, c] = 0 if uniform(rng) < 0.5 else 1
    for i in range(n):
        local[i] = whole[ORDER, 255 if local[i] == missing else local[i]]


@hot
def drawn_gain(packed_mode, weight, total, start, n, number, packed, local, cut):
    """Gain of one cut of a column without missing values for squared error or two classes; weight, total, rows left."""
    first, rows_left = np.uint64(start), np.int64(0)  # unsigned: no place counts from the end, and loops vectorize
    if packed_mode:
        both = np.int64(0)
        for i in range(n):
            here = np.uint64(i)
            goes = local[here] <= cut
            both += packed[0, first + here] if goes else 0
            rows_left += goes
        weight_left, total_left = float(both >> 32), float(both & POSITION)
    else:
        weight_left = total_left = 0.0
        for i in range(n):
            here = np.uint64(i)
            goes = local[here] <= cut
            w = number[WEIGHT, first + here] if goes else 0.0
            weight_left += w
            total_left += w * number[TARGET, first + here]
            rows_left += goes
    weight_right, total_right = weight - weight_left, total - total_left
    gain = total_left * total_left * weight_right + total_right * total_right * weight_left
    return gain / (weight_left * weight_right), weight_left, total_left, rows_left
