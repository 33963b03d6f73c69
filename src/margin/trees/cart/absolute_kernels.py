"""Absolute error around medians of growing sets, compiled by Numba: Fenwick trees over the ranks of the targets."""

from __future__ import annotations

from margin.trees.cart.kernel_types import (
    GAIN,
    HEAP_TOTAL,
    HEAP_WEIGHT,
    MEDIAN_LEFT,
    MEDIAN_RIGHT,
    RANK,
    SORTED,
    SORTED_TARGET,
    SPARE,
    TARGET,
    WEIGHT,
    WEIGHT_LEFT,
)
from margin.trees.cart.level_kernels import POSITION, hot

__all__ = ["absolute_gains", "rank_targets", "weighted_median"]


@hot
def order_targets(number, start, n, ranked):
    """Positions of a node by ascending target in ``ranked[SORTED, :n]``: merging runs of doubling length."""
    for i in range(n):
        ranked[SORTED, i] = i
    width = 1
    while width < n:
        for begin in range(0, n, 2 * width):
            a, middle, end = begin, min(n, begin + width), min(n, begin + 2 * width)
            b = middle
            for k in range(begin, end):
                take_first = b >= end
                if a < middle and not take_first:
                    first, second = int(ranked[SORTED, a]), int(ranked[SORTED, b])
                    take_first = number[TARGET, start + first] <= number[TARGET, start + second]
                if a < middle and take_first:
                    ranked[SPARE, k] = ranked[SORTED, a]
                    a += 1
                else:
                    ranked[SPARE, k] = ranked[SORTED, b]
                    b += 1
        for k in range(n):
            ranked[SORTED, k] = ranked[SPARE, k]
        width *= 2


@hot
def weighted_median(number, start, stop, total_weight, ranked):
    """The median target; halfway between two when exactly half of the weight lies below."""
    n, passed = stop - start, 0.0
    order_targets(number, start, n, ranked)
    for i in range(n):
        at = start + int(ranked[SORTED, i])
        passed += number[WEIGHT, at]
        if 2 * passed == total_weight and i + 1 < n:
            return 0.5 * (number[TARGET, at] + number[TARGET, start + int(ranked[SORTED, i + 1])])
        if 2 * passed >= total_weight:
            return number[TARGET, at]
    return number[TARGET, start + int(ranked[SORTED, n - 1])]


@hot
def rank_targets(number, start, stop, ranked):
    """The rank of every target in its node, from 0."""
    order_targets(number, start, stop - start, ranked)
    for r in range(stop - start):
        at = int(ranked[SORTED, r])
        ranked[RANK, at] = r
        ranked[SORTED_TARGET, r] = number[TARGET, start + at]


@hot
def _add(keys, first, last, n, number, start, ranked):
    """Add the rows of ``keys[first:last]``; returns their weight and their total."""
    weight = total = 0.0
    for i in range(first, last):
        position = keys[0, i] & POSITION
        w = number[WEIGHT, start + position]
        t = w * number[TARGET, start + position]
        at = int(ranked[RANK, position]) + 1
        while at <= n:
            ranked[HEAP_WEIGHT, at] += w
            ranked[HEAP_TOTAL, at] += t
            at += at & -at
        weight += w
        total += t
    return weight, total


@hot
def _last_below(half, n, ranked, inclusive):
    """The number of ranks, their weight and total, in the largest prefix lighter than (or up to) ``half``."""
    step = 1
    while 2 * step <= n:
        step *= 2
    at, weight, total = 0, 0.0, 0.0
    while step > 0:
        if at + step <= n:
            reached = weight + ranked[HEAP_WEIGHT, at + step]
            if reached < half or (inclusive and reached == half):
                at += step
                weight = reached
                total += ranked[HEAP_TOTAL, at]
        step >>= 1
    return at, weight, total


@hot
def _loss(weight, total, n, ranked):
    """The median of what was added (halfway between two if there are two) and the absolute deviations from it."""
    low, w_below, t_below = _last_below(0.5 * weight, n, ranked, False)
    high, _, _ = _last_below(0.5 * weight, n, ranked, True)
    first, second = ranked[SORTED_TARGET, min(low, n - 1)], ranked[SORTED_TARGET, min(high, n - 1)]
    loss = (total - t_below) - first * (weight - w_below) + first * w_below - t_below
    return 0.5 * (first + second), loss


@hot
def absolute_gains(keys, n, known, m, number, start, missing_left, ranked, real):
    """Minus the absolute error left and right of every cut, for sorted ``keys`` of which ``known`` are known.

    The keys after those are of missing rows, all on one side; cut ``b`` follows level ``b`` of ``m``, and the last
    one parts known rows from missing ones. Fills the rows GAIN, WEIGHT_LEFT and MEDIAN_* of ``real``.
    """
    for side in range(2):
        for i in range(n + 1):
            ranked[HEAP_WEIGHT, i] = 0.0
            ranked[HEAP_TOTAL, i] = 0.0
        weight = total = 0.0
        if (side == 0) == missing_left:
            weight, total = _add(keys, known, n, n, number, start, ranked)
        b = 0 if side == 0 else m - 1
        if side == 1 and weight > 0:
            real[MEDIAN_RIGHT, b], loss = _loss(weight, total, n, ranked)
            real[GAIN, b] -= loss
        for step in range(known):
            i = step if side == 0 else known - 1 - step
            w, t = _add(keys, i, i + 1, n, number, start, ranked)
            weight += w
            total += t
            following = i + 1 if side == 0 else i - 1
            if 0 <= following < known and keys[0, following] >> 32 == keys[0, i] >> 32:
                continue
            median, loss = _loss(weight, total, n, ranked)
            if side == 0:
                real[WEIGHT_LEFT, b], real[MEDIAN_LEFT, b], real[GAIN, b] = weight, median, -loss
                b += 1
            elif b > 0:
                b -= 1
                real[MEDIAN_RIGHT, b] = median
                real[GAIN, b] -= loss
