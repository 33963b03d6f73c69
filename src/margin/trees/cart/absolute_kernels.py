"""Absolute error around medians of growing sets, compiled by Numba: Fenwick trees over the ranks of the targets."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import inner_kernel
from margin.trees.cart.grouping_kernels import POSITION
from margin.trees.cart.kernel_types import (
    GAINS,
    HEAP_TOTALS,
    HEAP_WEIGHTS,
    LEFT_MEDIANS,
    LEFT_WEIGHTS,
    RANKS,
    RIGHT_MEDIANS,
    SORTED_POSITIONS,
    SORTED_TARGETS,
    SPARE_POSITIONS,
    TARGETS,
    WEIGHTS,
)

__all__ = ["absolute_gains", "rank_targets", "weighted_median"]


@inner_kernel
def order_targets(row_numbers, start, n, ranking):
    """Positions of a node by ascending target in ``sorted_positions[:n]``: merging runs of doubling length."""
    sorted_positions = ranking[SORTED_POSITIONS]
    spare_positions = ranking[SPARE_POSITIONS]
    targets = row_numbers[TARGETS]
    for i in range(n):
        sorted_positions[i] = i
    width = 1
    while width < n:
        for begin in range(0, n, 2 * width):
            a, middle, end = begin, begin + width, begin + 2 * width
            middle, end = middle if middle < n else n, end if end < n else n
            b = middle
            for k in range(begin, end):
                take_first = b >= end
                if a < middle and not take_first:
                    first, second = np.int64(sorted_positions[a]), np.int64(sorted_positions[b])
                    take_first = targets[start + first] <= targets[start + second]
                if a < middle and take_first:
                    spare_positions[k] = sorted_positions[a]
                    a += 1
                else:
                    spare_positions[k] = sorted_positions[b]
                    b += 1
        for k in range(n):
            sorted_positions[k] = spare_positions[k]
        width *= 2


@inner_kernel
def weighted_median(row_numbers, start, stop, total_weight, ranking):
    """The median target; halfway between two when exactly half of the weight lies below."""
    sorted_positions = ranking[SORTED_POSITIONS]
    targets = row_numbers[TARGETS]
    weights = row_numbers[WEIGHTS]
    n, passed = stop - start, 0.0
    order_targets(row_numbers, start, n, ranking)
    for i in range(n):
        at = start + np.int64(sorted_positions[i])
        passed += weights[at]
        if 2 * passed == total_weight and i + 1 < n:
            return 0.5 * (targets[at] + targets[start + np.int64(sorted_positions[i + 1])])
        if 2 * passed >= total_weight:
            return targets[at]
    return targets[start + np.int64(sorted_positions[n - 1])]


@inner_kernel
def rank_targets(row_numbers, start, stop, ranking):
    """The rank of every target in its node, from 0."""
    ranks = ranking[RANKS]
    sorted_positions = ranking[SORTED_POSITIONS]
    sorted_targets = ranking[SORTED_TARGETS]
    targets = row_numbers[TARGETS]
    order_targets(row_numbers, start, stop - start, ranking)
    for r in range(stop - start):
        at = np.int64(sorted_positions[r])
        ranks[at] = r
        sorted_targets[r] = targets[start + at]


@inner_kernel
def _add(keys, first, last, n, row_numbers, start, ranking):
    """Add the rows of ``keys[first:last]``; returns their weight and their total."""
    targets = row_numbers[TARGETS]
    weights = row_numbers[WEIGHTS]
    heap_totals = ranking[HEAP_TOTALS]
    heap_weights = ranking[HEAP_WEIGHTS]
    ranks = ranking[RANKS]
    weight = total = 0.0
    for i in range(first, last):
        position = keys[0, i] & POSITION
        w = weights[start + position]
        t = w * targets[start + position]
        at = np.int64(ranks[position]) + 1
        while at <= n:
            heap_weights[at] += w
            heap_totals[at] += t
            at += at & -at
        weight += w
        total += t
    return weight, total


@inner_kernel
def _last_below(half, n, ranking, inclusive):
    """The number of ranks, their weight and total, in the largest prefix lighter than (or up to) ``half``."""
    heap_totals = ranking[HEAP_TOTALS]
    heap_weights = ranking[HEAP_WEIGHTS]
    step = 1
    while 2 * step <= n:
        step *= 2
    at, weight, total = 0, 0.0, 0.0
    while step > 0:
        if at + step <= n:
            reached = weight + heap_weights[at + step]
            if reached < half or (inclusive and reached == half):
                at += step
                weight = reached
                total += heap_totals[at]
        step >>= 1
    return at, weight, total


@inner_kernel
def _loss(weight, total, n, ranking):
    """The median of what was added (halfway between two if there are two) and the absolute deviations from it."""
    sorted_targets = ranking[SORTED_TARGETS]
    low, w_below, t_below = _last_below(0.5 * weight, n, ranking, False)
    high, _, _ = _last_below(0.5 * weight, n, ranking, True)
    first, second = sorted_targets[low if low < n else n - 1], sorted_targets[high if high < n else n - 1]
    loss = (total - t_below) - first * (weight - w_below) + first * w_below - t_below
    return 0.5 * (first + second), loss


@inner_kernel
def absolute_gains(keys, n, known, groups, row_numbers, start, missing_left, ranking, group_numbers):
    """Minus the absolute error left and right of every cut, for sorted ``keys`` of which ``known`` are known.

    The keys after those are of missing rows, all on one side; cut ``b`` follows group ``b`` of ``groups``, and the
    last one parts known rows from missing ones. Fills gains, left weights and medians of ``group_numbers``.
    """
    heap_totals = ranking[HEAP_TOTALS]
    heap_weights = ranking[HEAP_WEIGHTS]
    gains = group_numbers[GAINS]
    left_medians = group_numbers[LEFT_MEDIANS]
    left_weights = group_numbers[LEFT_WEIGHTS]
    right_medians = group_numbers[RIGHT_MEDIANS]
    for side in range(2):
        for i in range(n + 1):
            heap_weights[i] = 0.0
            heap_totals[i] = 0.0
        weight = total = 0.0
        if (side == 0) == missing_left:
            weight, total = _add(keys, known, n, n, row_numbers, start, ranking)
        b = 0 if side == 0 else groups - 1
        if side == 1 and weight > 0:
            right_medians[b], loss = _loss(weight, total, n, ranking)
            gains[b] -= loss
        for step in range(known):
            i = step if side == 0 else known - 1 - step
            w, t = _add(keys, i, i + 1, n, row_numbers, start, ranking)
            weight += w
            total += t
            following = i + 1 if side == 0 else i - 1
            if 0 <= following < known and keys[0, following] >> 32 == keys[0, i] >> 32:
                continue
            median, loss = _loss(weight, total, n, ranking)
            if side == 0:
                left_weights[b], left_medians[b], gains[b] = weight, median, -loss
                b += 1
            elif b > 0:
                b -= 1
                right_medians[b] = median
                gains[b] -= loss
