r"""The best split of a node, compiled by Numba.

Every column is tried in turn: its levels are summed (:mod:`margin.trees.level_kernels`), put in order (by value;
categories by their mean target, among whose cuts is the best of all subsets for two classes and for squared error),
and every cut between neighbors is scored. What is maximized is, up to terms that no split changes, the weighted
decrease of impurity:

.. math::
    \frac{S_L^2}{W_L} + \frac{S_R^2}{W_R}, \qquad
    \sum_k \frac{n_{Lk}^2}{W_L} + \frac{n_{Rk}^2}{W_R}, \qquad
    \sum_k n_{Lk}\log\frac{n_{Lk}}{W_L} + n_{Rk}\log\frac{n_{Rk}}{W_R}

for squared error (and two classes under Gini, whose targets are 0 and 1), Gini and entropy. Missing values are tried
on both sides.
"""

from __future__ import annotations

import numpy as np

from margin.trees.absolute_kernels import absolute_gains, rank_targets
from margin.trees.kernel_types import (
    ABSOLUTE,
    COUNTS,
    ENTROPY,
    GAIN,
    GINI,
    LEFT,
    LEVEL,
    LEVEL_ROWS,
    LEVEL_TOTAL,
    LEVEL_WEIGHT,
    MEDIAN_LEFT,
    MEDIAN_RIGHT,
    ORDER,
    PACKED,
    ROWS_LEFT,
    SUMS,
    TOTAL,
    TOTAL_LEFT,
    WEIGHT_LEFT,
)
from margin.trees.level_kernels import classes_of_levels, inlined, inner, packed_sides, sort_keys, span, sums_of_levels

__all__ = ["search"]

# A split must beat an earlier one by more than rounding, or the order in which rows were added up would choose.
TIE = 1e-12


@inlined
def search(table, rules, node, rows, work):
    """Find the best split of ``node`` and write it to ``work.best_*``; returns whether there is one."""
    work.best_number[0] = -np.inf
    p, n, local, features = table.codes.shape[0], node.stop - node.start, work.local, work.features
    if rules.mode == ABSOLUTE:
        rank_targets(rows.number, node.start, node.stop, work.ranked)
    drawn = useful = 0
    while drawn < p and (drawn < rules.max_features or useful == 0):
        if rules.max_features < p:
            other = drawn + int(_uniform(work.rng) * (p - drawn))
            features[drawn], features[other] = features[other], features[drawn]
        j = features[drawn]
        drawn += 1
        for i in range(n):
            local[i] = table.codes[j, rows.row[0, node.start + i]]
        low, high, absent = span(local, n, table.missing, table.flags[1, j])
        if low < high or 0 < absent < n:
            useful += 1
            _try_column(table, rules, node, rows, work, j, low, high, absent)
    return work.best_number[0] > -np.inf


@inner
def _uniform(rng):
    """A number in [0, 1) from a 64-bit xorshift-multiply generator whose state is ``rng[0]``."""
    x = rng[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    rng[0] = x
    return ((x * np.uint64(2685821657736338717)) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inlined
def _try_column(table, rules, node, rows, work, j, low, high, absent):
    """Score the cuts of column ``j``; if one is the best so far, write it down."""
    cut, threshold, before = np.int64(-1), np.inf, work.best_number[0]
    categorical, n = table.flags[0, j], node.stop - node.start
    if rules.random:
        if categorical:
            _random_sides(work.local, n, table.missing, work.whole[ORDER], work.rng)
            low, high, absent = span(work.local, n, table.missing, False)
            if low == high:
                return
        elif low < high:
            cut, threshold = _random_cut(table.ranges, table.offsets[j], low, high, work.rng)
            if rules.mode != PACKED or absent > 0 or rules.min_leaf > 1:
                for i in range(n):
                    if work.local[i] != table.missing:
                        work.local[i] = work.local[i] > cut
                low, high = np.int64(0), np.int64(1)
        else:  # one known level: the only cut parts it from the missing ones
            cut = low
    if rules.mode == GINI or rules.mode == ENTROPY:
        m, at, missing_left = _try_classes(rules, node, rows, work, j, low, high, absent, table.missing, categorical)
    elif rules.mode == ABSOLUTE:
        m, at, missing_left = _try_absolute(rules, node, rows, work, j, low, high, absent, table.missing, categorical)
    else:
        m, at, missing_left = _try_sums(rules, node, rows, work, j, low, high, absent, table.missing, categorical, cut)
    if work.best_number[0] == before:
        return
    work.best_code[0], work.best_code[2], work.best_code[3] = j, missing_left, categorical
    if categorical:
        _record_set(rules.random, table.missing, work, m, at, missing_left)
    elif rules.random:
        work.best_code[1], work.best_number[1] = cut, threshold
    else:
        level, following = work.whole[LEVEL, at], work.whole[LEVEL, at + 1]
        work.best_code[1], work.best_number[1] = level, np.inf
        if following != table.missing:
            first = table.offsets[j]
            work.best_number[1] = _between(table.ranges[1, first + level], table.ranges[0, first + following])


@inner
def _random_cut(ranges, first, low, high, rng):
    """A code with rows on both sides, from a threshold drawn between the smallest and the largest value."""
    smallest, largest = ranges[0, first + low], ranges[1, first + high]
    threshold = smallest + (largest - smallest) * _uniform(rng)
    below, above = (
        np.int64(low),
        np.int64(high - 1),
    )  # the last code up to high - 1 whose values are all at most the threshold
    while below < above:
        middle = (below + above + 1) // 2
        if ranges[1, first + middle] <= threshold:
            below = middle
        else:
            above = middle - 1
    left, right = ranges[1, first + below], ranges[0, first + below + 1]
    return below, threshold if left <= threshold < right else _between(left, right)


@inner
def _random_sides(local, n, missing, side, rng):
    """Send every category, and missing, to a side drawn for it: codes become 0 and 1."""
    for c in range(256):
        side[c] = 0 if _uniform(rng) < 0.5 else 1
    for i in range(n):
        local[i] = side[255 if local[i] == missing else local[i]]


@inner
def _between(low, high):
    middle = low / 2 + high / 2
    return low if middle >= high or middle < low else middle


@inner
def _bar(best):
    """What a gain must exceed to replace ``best``."""
    return best + TIE * abs(best) if best > -np.inf else best


@inner
def _order_by(score, m, order):
    """Levels by ascending score, equal ones by code."""
    for i in range(m):
        j = i
        while j > 0 and score[order[j - 1]] > score[i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i


@inner
def _allowed(rules, node, j, wl, rows_left, value_left, value_right):
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


@inlined
def _try_sums(rules, node, rows, work, j, low, high, absent, missing, categorical, cut):
    """Levels, their order and their cuts; returns how many levels, after which to cut, whether missing goes left."""
    count_rows = rules.min_leaf > 1 and not rules.weight_is_count
    if (
        cut >= 0 and rules.mode == PACKED and absent == 0 and rules.min_leaf <= 1
    ):  # one pass: extremely randomized trees
        n, start, packed, whole, real = node.stop - node.start, node.start, rows.packed[0], work.whole, work.real
        m = packed_sides(work.local, n, start, packed, cut, whole[LEVEL], real[LEVEL_WEIGHT], real[LEVEL_TOTAL])
    else:
        m = sums_of_levels(rules.mode, count_rows, node, rows, low, high, absent, missing, work)
    real, order = work.real, work.whole[ORDER]
    by_mean = categorical and not rules.random
    if by_mean:
        for i in range(m):
            real[GAIN, i] = real[LEVEL_TOTAL, i] / real[LEVEL_WEIGHT, i]
        _order_by(real[GAIN], m, order)
    known = m - (absent > 0 and not categorical)
    weight = total = 0.0
    in_left = 0
    for b in range(known):
        level = order[b] if by_mean else b
        weight += real[LEVEL_WEIGHT, level]
        total += real[LEVEL_TOTAL, level]
        real[WEIGHT_LEFT, b] = weight
        real[TOTAL_LEFT, b] = total
        if count_rows:
            in_left += work.whole[LEVEL_ROWS, level]
            work.whole[ROWS_LEFT, b] = in_left
    at = _scan_sums(rules, node, work, j, known - (known == m), 0.0, 0.0, 0)
    if known == m:
        return m, at, real[WEIGHT_LEFT, max(at, 0)] > 0.5 * node.weight
    other = _scan_sums(rules, node, work, j, known - 1, real[LEVEL_WEIGHT, known], real[LEVEL_TOTAL, known], absent)
    return (m, other, True) if other >= 0 else (m, at, False)


@inner
def _score_sums(real, cuts, weight, total, more_weight, more_total):
    for b in range(cuts):
        wl = real[WEIGHT_LEFT, b] + more_weight
        sl = real[TOTAL_LEFT, b] + more_total
        wr, sr = weight - wl, total - sl
        real[GAIN, b] = (sl * sl * wr + sr * sr * wl) / (wl * wr)


@inner
def _scan_sums(rules, node, work, j, cuts, more_weight, more_total, more_rows):
    """The best of the first ``cuts`` cuts if it beats what was found before, else -1."""
    real = work.real
    _score_sums(real, cuts, node.weight, node.total, more_weight, more_total)
    best, at = work.best_number[0], -1
    bar = _bar(best)
    for b in range(cuts):
        if real[GAIN, b] > bar:
            wl = real[WEIGHT_LEFT, b] + more_weight
            sl = real[TOTAL_LEFT, b] + more_total
            left = wl if rules.weight_is_count else float(work.whole[ROWS_LEFT, b] + more_rows)
            if _allowed(rules, node, j, wl, left, sl / wl, (node.total - sl) / (node.weight - wl)):
                best, at = real[GAIN, b], b
                bar = _bar(best)
    work.best_number[0] = best
    return at


@inlined
def _try_classes(rules, node, rows, work, j, low, high, absent, missing, categorical):
    """As :func:`_try_sums`; categories are ordered by the share of each class in turn (two classes need one order)."""
    k, order = rules.classes, work.whole[ORDER]
    m = classes_of_levels(k, node, rows, low, high, absent, missing, work)
    if categorical and not rules.random:
        at, kept = -1, np.empty(m, dtype=np.int64)
        left = 0.0
        for q in range(1 if k == 2 else 0, k):
            for i in range(m):
                weight = 0.0
                for r in range(k):
                    weight += work.level_classes[i * k + r]
                work.real[GAIN, i] = work.level_classes[i * k + q] / weight
            _order_by(work.real[GAIN], m, order)
            found, weight_left = _scan_classes(rules, node, work, j, m - 1, -1, True)
            if found >= 0:
                at, left = found, weight_left
                for i in range(m):
                    kept[i] = order[i]
        for i in range(m):
            order[i] = kept[i]
        return m, at, left > 0.5 * node.weight
    known = m - (absent > 0 and not categorical)
    at, left = _scan_classes(rules, node, work, j, known - (known == m), -1, False)
    if known == m:
        return m, at, left > 0.5 * node.weight
    other, left = _scan_classes(rules, node, work, j, known - 1, known, False)
    return (m, other, True) if other >= 0 else (m, at, False)


@inner
def _scan_classes(rules, node, work, j, cuts, missing_level, ordered):
    """The best of the first ``cuts`` cuts and the weight on its left; ``missing_level`` >= 0 goes left before all."""
    k, classes, found = rules.classes, work.classes, work.level_classes
    in_left = 0
    for q in range(k):
        classes[LEFT, q] = found[missing_level * k + q] if missing_level >= 0 else 0.0
    if missing_level >= 0:
        in_left = work.whole[LEVEL_ROWS, missing_level]
    best, at, best_left = work.best_number[0], -1, 0.0
    bar = _bar(best)
    for b in range(cuts):
        level = work.whole[ORDER, b] if ordered else b
        in_left += work.whole[LEVEL_ROWS, level]
        wl = score_left = score_right = 0.0
        for q in range(k):
            classes[LEFT, q] += found[level * k + q]
            wl += classes[LEFT, q]
        wr = node.weight - wl
        for q in range(k):
            lq = classes[LEFT, q]
            rq = classes[TOTAL, q] - lq
            if rules.mode == GINI:
                score_left += lq * lq
                score_right += rq * rq
            else:
                score_left += lq * np.log(lq / wl) if lq > 0 else 0.0
                score_right += rq * np.log(rq / wr) if rq > 0 else 0.0
        gain = score_left / wl + score_right / wr if rules.mode == GINI else score_left + score_right
        if gain > bar:
            last = classes[LEFT, k - 1]
            if _allowed(rules, node, j, wl, float(in_left), last / wl, (classes[TOTAL, k - 1] - last) / wr):
                best, at, best_left = gain, b, wl
                bar = _bar(best)
    work.best_number[0] = best
    return at, best_left


@inlined
def _try_absolute(rules, node, rows, work, j, low, high, absent, missing, categorical):
    """As :func:`_try_sums`; categories are ordered by their mean."""
    n, whole, real, local = node.stop - node.start, work.whole, work.real, work.local
    m = sums_of_levels(SUMS, True, node, rows, low, high, absent, missing, work)
    by_mean = categorical and not rules.random
    if by_mean:
        for i in range(m):
            real[GAIN, i] = real[LEVEL_TOTAL, i] / real[LEVEL_WEIGHT, i]
        _order_by(real[GAIN], m, whole[ORDER])
    known_levels, known, in_left = m - (absent > 0 and not categorical), n - (0 if categorical else absent), 0
    for b in range(m):
        level = whole[ORDER, b] if by_mean else b
        whole[COUNTS, whole[LEVEL, level]] = b  # the place of a code; zero again below
        in_left += whole[LEVEL_ROWS, level]
        whole[ROWS_LEFT, b] = in_left
    for i in range(n):
        work.keys[i] = (whole[COUNTS, local[i]] << 32) | i
    for b in range(m):
        whole[COUNTS, whole[LEVEL, b]] = 0
    sort_keys(work.keys, n)
    absolute_gains(work.keys, n, known, known_levels, rows.number, node.start, False, work.ranked, real)
    at = _scan_absolute(rules, node, work, j, known_levels - (known == n), 0)
    left = real[WEIGHT_LEFT, max(at, 0)]
    if known == n:
        return m, at, left > 0.5 * node.weight
    absolute_gains(work.keys, n, known, known_levels, rows.number, node.start, True, work.ranked, real)
    other = _scan_absolute(rules, node, work, j, known_levels - 1, absent)
    return (m, other, True) if other >= 0 else (m, at, False)


@inner
def _scan_absolute(rules, node, work, j, cuts, more_rows):
    real, best, at = work.real, work.best_number[0], -1
    bar = _bar(best)
    for b in range(cuts):
        if real[GAIN, b] > bar:
            rows_left = float(work.whole[ROWS_LEFT, b] + more_rows)
            if _allowed(rules, node, j, real[WEIGHT_LEFT, b], rows_left, real[MEDIAN_LEFT, b], real[MEDIAN_RIGHT, b]):
                best, at = real[GAIN, b], b
                bar = _bar(best)
    work.best_number[0] = best
    return at


@inner
def _record_set(random, missing, work, m, at, missing_left):
    """Categories on the left as bits; those without rows in the node go where missing values go."""
    bits, order, level = work.best_set, work.whole[ORDER], work.whole[LEVEL]
    for byte in range(32):
        bits[byte] = 0
    if random:
        for c in range(256):
            if order[c] == 0:
                bits[c >> 3] |= np.uint8(1 << (c & 7))
        work.best_code[2] = order[255] == 0
        return
    for b in range(m):
        if level[order[b]] == missing:
            missing_left = b <= at
    work.best_code[2] = missing_left
    if missing_left:
        for byte in range(32):
            bits[byte] = 255
    for b in range(m):
        c = level[order[b]]
        if c != missing:
            bit = np.uint8(1 << (c & 7))
            bits[c >> 3] = bits[c >> 3] | bit if b <= at else bits[c >> 3] & ~bit
