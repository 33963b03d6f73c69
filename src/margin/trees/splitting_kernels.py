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
    BEST_ORDER,
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
from margin.trees.level_kernels import classes_of_levels, hot, packed_sides, sort_keys, span, sums_of_levels

__all__ = ["search"]

# A split must beat an earlier one by more than rounding, or the order in which rows were added up would choose.
TIE = 1e-12


@hot
def search(table, rules, node, rows, work):
    """Find the best split of ``node`` and write it to ``work.best_*``; returns whether there is one."""
    codes, ranges, offsets, flags, missing = table.codes, table.ranges, table.offsets, table.flags, table.missing
    row, number, packed = rows.row, rows.number, rows.packed
    local, keys, whole, real, sums, rng = work.local, work.keys, work.whole, work.real, work.sums, work.rng
    found, classes, ranked, features = work.level_classes, work.classes, work.ranked, work.features
    best_code, best_number, best_set = work.best_code, work.best_number, work.best_set
    p, n = codes.shape[0], node.stop - node.start
    best_number[0] = -np.inf
    if rules.mode == ABSOLUTE:
        rank_targets(number, node.start, node.stop, ranked)
    drawn = useful = 0
    while drawn < p and (drawn < rules.max_features or useful == 0):
        if rules.max_features < p:
            other = drawn + int(_uniform(rng) * (p - drawn))
            features[drawn], features[other] = features[other], features[drawn]
        j = features[drawn]
        drawn += 1
        for i in range(n):
            local[i] = codes[j, row[0, node.start + i]]
        low, high, absent = span(local, n, missing, flags[1, j])
        if low >= high and (absent == 0 or absent == n):
            continue  # constant
        useful += 1
        before, categorical, cut, threshold = best_number[0], flags[0, j], np.int64(-1), np.inf
        if rules.random:
            cut, threshold, low, high, absent = _randomize(
                rules, n, low, high, absent, missing, categorical, ranges, offsets[j], local, whole, rng
            )
            if low == high and absent == 0:
                continue  # all categories were sent to one side
        if rules.mode == GINI or rules.mode == ENTROPY:
            m, at, missing_left = _try_classes(
                rules, node, number, local, keys, whole, real, sums, found, classes, best_number,
                j, low, high, absent, missing, categorical,
            )  # fmt: skip
        elif rules.mode == ABSOLUTE:
            m, at, missing_left = _try_absolute(
                rules, node, number, packed, local, keys, whole, real, sums, ranked, best_number,
                j, low, high, absent, missing, categorical,
            )  # fmt: skip
        else:
            m, at, missing_left = _try_sums(
                rules, node, number, packed, local, keys, whole, real, sums, best_number,
                j, low, high, absent, missing, categorical, cut,
            )  # fmt: skip
        if best_number[0] > before:
            best_code[0], best_code[2], best_code[3] = j, missing_left, categorical
            if categorical:
                _record_set(rules.random, missing, whole, best_code, best_set, m, at, missing_left)
            elif rules.random:
                best_code[1], best_number[1] = cut, threshold
            else:
                _record_threshold(missing, whole, ranges, offsets[j], best_code, best_number, at)
    return best_number[0] > -np.inf


@hot
def _uniform(rng):
    """A number in [0, 1) from a 64-bit xorshift-multiply generator whose state is ``rng[0]``."""
    x = rng[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    rng[0] = x
    return ((x * np.uint64(2685821657736338717)) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@hot
def _randomize(rules, n, low, high, absent, missing, categorical, ranges, first, local, whole, rng):
    """Draw one split of the column: codes become 0 (left) and 1; returns the cut, its threshold and the new span."""
    if categorical:
        _random_sides(local, n, missing, whole, rng)
        low, high, absent = span(local, n, missing, False)
        return np.int64(-1), np.inf, low, high, absent
    if low == high:  # the only cut parts the one known level from the missing ones
        return low, np.inf, low, high, absent
    cut, threshold = _random_cut(ranges, first, low, high, rng)
    if rules.mode != PACKED or absent > 0 or rules.min_leaf > 1:  # else packed_sides looks at the codes themselves
        for i in range(n):
            if local[i] != missing:
                local[i] = local[i] > cut
        low, high = np.int64(0), np.int64(1)
    return cut, threshold, low, high, absent


@hot
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


@hot
def _random_sides(local, n, missing, whole, rng):
    """Send every category, and missing, to a side drawn for it, kept in the row ORDER."""
    for c in range(256):
        whole[ORDER, c] = 0 if _uniform(rng) < 0.5 else 1
    for i in range(n):
        local[i] = whole[ORDER, 255 if local[i] == missing else local[i]]


@hot
def _between(low, high):
    middle = low / 2 + high / 2
    return low if middle >= high or middle < low else middle


@hot
def _bar(best):
    """What a gain must exceed to replace ``best``."""
    return best + TIE * abs(best) if best > -np.inf else best


@hot
def _order_by_score(m, whole, real):
    """Levels by ascending GAIN, equal ones by code, in the row ORDER."""
    for i in range(m):
        j = i
        while j > 0 and real[GAIN, whole[ORDER, j - 1]] > real[GAIN, i]:
            whole[ORDER, j] = whole[ORDER, j - 1]
            j -= 1
        whole[ORDER, j] = i


@hot
def _order_by_mean(m, whole, real):
    for i in range(m):
        real[GAIN, i] = real[LEVEL_TOTAL, i] / real[LEVEL_WEIGHT, i]
    _order_by_score(m, whole, real)


@hot
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


@hot
def _try_sums(
    rules, node, number, packed, local, keys, whole, real, sums, best_number,
    j, low, high, absent, missing, categorical, cut,
):  # fmt: skip
    """Levels, their order and their cuts; returns how many levels, after which to cut, whether missing goes left."""
    n, start = node.stop - node.start, node.start
    count_rows = rules.min_leaf > 1 and not rules.weight_is_count
    if cut >= 0 and rules.mode == PACKED and absent == 0 and rules.min_leaf <= 1:
        m = packed_sides(local, n, start, packed, cut, whole, real)
    else:
        m = sums_of_levels(
            rules.mode, count_rows, start, n, number, packed, low, high, absent, missing, local, keys, whole, real, sums
        )
    by_mean = categorical and not rules.random
    if by_mean:
        _order_by_mean(m, whole, real)
    known = m - (absent > 0 and not categorical)
    weight = total = 0.0
    in_left = 0
    for b in range(known):
        level = whole[ORDER, b] if by_mean else b
        weight += real[LEVEL_WEIGHT, level]
        total += real[LEVEL_TOTAL, level]
        real[WEIGHT_LEFT, b] = weight
        real[TOTAL_LEFT, b] = total
        if count_rows:
            in_left += whole[LEVEL_ROWS, level]
            whole[ROWS_LEFT, b] = in_left
    at = _scan_sums(rules, node, whole, real, best_number, j, known - (known == m), 0.0, 0.0, 0)
    if known == m:
        return m, at, real[WEIGHT_LEFT, max(at, 0)] > 0.5 * node.weight
    more_weight, more_total = real[LEVEL_WEIGHT, known], real[LEVEL_TOTAL, known]
    other = _scan_sums(rules, node, whole, real, best_number, j, known - 1, more_weight, more_total, absent)
    return (m, other, True) if other >= 0 else (m, at, False)


@hot
def _scan_sums(rules, node, whole, real, best_number, j, cuts, more_weight, more_total, more_rows):
    """The best of the first ``cuts`` cuts if it beats what was found before, else -1."""
    for b in range(cuts):
        wl = real[WEIGHT_LEFT, b] + more_weight
        sl = real[TOTAL_LEFT, b] + more_total
        wr, sr = node.weight - wl, node.total - sl
        real[GAIN, b] = (sl * sl * wr + sr * sr * wl) / (wl * wr)
    best, at = best_number[0], -1
    bar = _bar(best)
    for b in range(cuts):
        if real[GAIN, b] > bar:
            wl = real[WEIGHT_LEFT, b] + more_weight
            sl = real[TOTAL_LEFT, b] + more_total
            left = wl if rules.weight_is_count else float(whole[ROWS_LEFT, b] + more_rows)
            if _allowed(rules, node, j, wl, left, sl / wl, (node.total - sl) / (node.weight - wl)):
                best, at = real[GAIN, b], b
                bar = _bar(best)
    best_number[0] = best
    return at


@hot
def _try_classes(
    rules, node, number, local, keys, whole, real, sums, found, classes, best_number,
    j, low, high, absent, missing, categorical,
):  # fmt: skip
    """As :func:`_try_sums`; categories are ordered by the share of each class in turn (two classes need one order)."""
    k = rules.classes
    m = classes_of_levels(
        k, node.start, node.stop - node.start, number, low, high, absent, missing, local, keys, whole, sums, found
    )
    if categorical and not rules.random:
        at, left = -1, 0.0
        for q in range(1 if k == 2 else 0, k):
            _order_by_share(q, k, m, whole, real, found)
            cut, weight_left = _scan_classes(rules, node, whole, found, classes, best_number, j, m - 1, -1, True)
            if cut >= 0:
                at, left = cut, weight_left
                for i in range(m):
                    whole[BEST_ORDER, i] = whole[ORDER, i]
        for i in range(m):
            whole[ORDER, i] = whole[BEST_ORDER, i]
        return m, at, left > 0.5 * node.weight
    known = m - (absent > 0 and not categorical)
    cuts = known - (known == m)
    at, left = _scan_classes(rules, node, whole, found, classes, best_number, j, cuts, -1, False)
    if known == m:
        return m, at, left > 0.5 * node.weight
    other, left = _scan_classes(rules, node, whole, found, classes, best_number, j, known - 1, known, False)
    return (m, other, True) if other >= 0 else (m, at, False)


@hot
def _order_by_share(q, k, m, whole, real, found):
    for i in range(m):
        weight = 0.0
        for r in range(k):
            weight += found[i * k + r]
        real[GAIN, i] = found[i * k + q] / weight
    _order_by_score(m, whole, real)


@hot
def _scan_classes(rules, node, whole, found, classes, best_number, j, cuts, missing_level, ordered):
    """The best of the first ``cuts`` cuts and the weight on its left; ``missing_level`` >= 0 goes left before all."""
    k, in_left = rules.classes, 0
    for q in range(k):
        classes[LEFT, q] = found[missing_level * k + q] if missing_level >= 0 else 0.0
    if missing_level >= 0:
        in_left = whole[LEVEL_ROWS, missing_level]
    best, at, best_left = best_number[0], -1, 0.0
    bar = _bar(best)
    for b in range(cuts):
        level = whole[ORDER, b] if ordered else b
        in_left += whole[LEVEL_ROWS, level]
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
    best_number[0] = best
    return at, best_left


@hot
def _try_absolute(
    rules, node, number, packed, local, keys, whole, real, sums, ranked, best_number,
    j, low, high, absent, missing, categorical,
):  # fmt: skip
    """As :func:`_try_sums`; categories are ordered by their mean."""
    n, start = node.stop - node.start, node.start
    m = sums_of_levels(SUMS, True, start, n, number, packed, low, high, absent, missing, local, keys, whole, real, sums)
    by_mean = categorical and not rules.random
    if by_mean:
        _order_by_mean(m, whole, real)
    known_levels, known, in_left = m - (absent > 0 and not categorical), n - (0 if categorical else absent), 0
    for b in range(m):
        level = whole[ORDER, b] if by_mean else b
        whole[COUNTS, whole[LEVEL, level]] = b  # the place of a code; zero again below
        in_left += whole[LEVEL_ROWS, level]
        whole[ROWS_LEFT, b] = in_left
    for i in range(n):
        keys[0, i] = (whole[COUNTS, local[i]] << 32) | i
    for b in range(m):
        whole[COUNTS, whole[LEVEL, b]] = 0
    sort_keys(keys, n, 0, m, whole)
    absolute_gains(keys, n, known, known_levels, number, start, False, ranked, real)
    at = _scan_absolute(rules, node, whole, real, best_number, j, known_levels - (known == n), 0)
    left = real[WEIGHT_LEFT, max(at, 0)]
    if known == n:
        return m, at, left > 0.5 * node.weight
    absolute_gains(keys, n, known, known_levels, number, start, True, ranked, real)
    other = _scan_absolute(rules, node, whole, real, best_number, j, known_levels - 1, absent)
    return (m, other, True) if other >= 0 else (m, at, False)


@hot
def _scan_absolute(rules, node, whole, real, best_number, j, cuts, more_rows):
    best, at = best_number[0], -1
    bar = _bar(best)
    for b in range(cuts):
        if real[GAIN, b] > bar:
            rows_left = float(whole[ROWS_LEFT, b] + more_rows)
            if _allowed(rules, node, j, real[WEIGHT_LEFT, b], rows_left, real[MEDIAN_LEFT, b], real[MEDIAN_RIGHT, b]):
                best, at = real[GAIN, b], b
                bar = _bar(best)
    best_number[0] = best
    return at


@hot
def _record_threshold(missing, whole, ranges, first, best_code, best_number, at):
    """The cut after level ``at``, its threshold halfway to the next level that occurs."""
    level, following = whole[LEVEL, at], whole[LEVEL, at + 1]
    best_code[1], best_number[1] = level, np.inf
    if following != missing:
        best_number[1] = _between(ranges[1, first + level], ranges[0, first + following])


@hot
def _record_set(random, missing, whole, best_code, bits, m, at, missing_left):
    """Categories on the left as bits; those without rows in the node go where missing values go."""
    for byte in range(32):
        bits[byte] = 0
    if random:
        for c in range(256):
            if whole[ORDER, c] == 0:
                bits[c >> 3] |= np.uint8(1 << (c & 7))
        best_code[2] = whole[ORDER, 255] == 0
        return
    for b in range(m):
        if whole[LEVEL, whole[ORDER, b]] == missing:
            missing_left = b <= at
    best_code[2] = missing_left
    if missing_left:
        for byte in range(32):
            bits[byte] = 255
    for b in range(m):
        c = whole[LEVEL, whole[ORDER, b]]
        if c != missing:
            bit = np.uint8(1 << (c & 7))
            bits[c >> 3] = bits[c >> 3] | bit if b <= at else bits[c >> 3] & ~bit
