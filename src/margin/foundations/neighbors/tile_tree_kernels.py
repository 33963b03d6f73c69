"""The loops of a tree of tiles compiled by Numba: the order in which its leaves hold the points, and the search.

The lanes of one vector belong to different points, or to different boxes, so every power is a sum over the columns in
their order: vectorized, with the bits of ``scan_reference``.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import cached_kernel, inner_kernel
from margin.foundations.neighbors.scan_kernels import insert

__all__ = ["order_points", "search"]

SAMPLE = 64  # points of a range whose spread decides along which column it is cut


@cached_kernel
def order_points(points, lanes, fanout, order, keys, begins, ends):
    """Sort ``order``, the numbers of all points, so that every leaf of ``lanes`` points, and every aligned group of
    ``fanout`` leaves, of ``fanout**2`` leaves, ..., is a cell of cuts along the widest column.

    ``keys`` (n,) and the two stacks are overwritten.
    """
    depth = 1
    begins[0], ends[0] = 0, len(order)
    while depth > 0:
        depth -= 1
        begin, end = begins[depth], ends[depth]
        leaves = (end - begin + lanes - 1) // lanes
        if leaves > 1:
            unit = 1  # leaves of the largest groups of which there are at least two
            while unit * fanout * 2 <= leaves:
                unit *= fanout
            middle = begin + lanes * unit * max(1, (leaves + unit) // (2 * unit))
            column = _widest(points, order, begin, end)
            for i in range(begin, end):
                keys[i] = points[order[i], column]
            _cut(keys, order, begin, end - 1, middle)
            begins[depth], ends[depth] = begin, middle
            begins[depth + 1], ends[depth + 1] = middle, end
            depth += 2


@inner_kernel
def _widest(points, order, begin, end):
    """The column in which a sample of a range differs most."""
    step = max(1, (end - begin) // SAMPLE)
    best, widest = 0, -1.0
    for j in range(points.shape[1]):
        low = high = points[order[begin], j]
        for i in range(begin, end, step):
            value = points[order[i], j]
            low = min(low, value)
            high = max(high, value)
        if high - low > widest:
            best, widest = j, high - low
    return best


@inner_kernel
def _cut(keys, order, first, last, middle):
    """Quickselect: afterwards no key from ``middle`` on is below one before it."""
    while first < last:
        a, b, c = keys[first], keys[(first + last) // 2], keys[last]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = first, last
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while pivot < keys[j]:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


@cached_kernel
def search(queries, turns, boxes, children, tiles, numbers, powers, index, lows, nodes, gaps, totals):
    """Fill ``powers`` and ``index`` (m, k), ascending; the queries are answered in the order of ``turns``.

    A bound is summed as a power is, from the nearest place of the box: rounding is monotone, so it never exceeds the
    power of a point inside, and nothing is missed. ``lows`` and ``nodes`` are the stack of boxes to be opened.
    """
    inner, last = len(boxes), powers.shape[1] - 1
    for q in turns:
        query, near, where = queries[q], powers[q], index[q]
        depth = 1
        lows[0], nodes[0] = 0.0, 0
        while depth > 0:
            depth -= 1
            node = nodes[depth]
            if lows[depth] > near[last]:
                continue
            if node < inner:
                depth = _open(boxes[node], children[node], query, near[last], lows, nodes, depth, gaps)
            else:
                _look(tiles[node - inner], numbers[node - inner], query, near, where, totals)


@inner_kernel
def _open(box, child, query, bound, lows, nodes, depth, gaps):
    """Put the children within ``bound`` on the stack, the nearest on top; returns its new height."""
    lanes = box.shape[2]
    for lane in range(lanes):
        gaps[lane] = 0.0
    for j in range(len(query)):
        low, high, value = box[0, j], box[1, j], query[j]
        for lane in range(lanes):
            below, above = low[lane] - value, value - high[lane]
            gap = below if below > above else above
            gap = gap if gap > 0.0 else 0.0
            gaps[lane] += gap * gap
    top = depth
    for lane in range(lanes):
        least = gaps[lane]
        if least <= bound:
            i = top
            while i > depth and lows[i - 1] < least:
                lows[i], nodes[i] = lows[i - 1], nodes[i - 1]
                i -= 1
            lows[i], nodes[i] = least, child + lane
            top += 1
    return top


@inner_kernel
def _look(tile, numbers, query, near, where, totals):
    """Points of a leaf that are nearer than the last neighbor, or as near and of a smaller number, take its place."""
    lanes, last = tile.shape[1], len(near) - 1
    for lane in range(lanes):
        totals[lane] = 0.0
    for j in range(len(query)):
        row, value = tile[j], query[j]
        for lane in range(lanes):
            gap = row[lane] - value
            totals[lane] += gap * gap
    bound = near[last]
    hit = np.int32(0)
    for lane in range(lanes):
        hit = np.int32(hit | (np.int32(1) if totals[lane] <= bound else np.int32(0)))
    if hit:
        for lane in range(lanes):
            if totals[lane] < near[last] or (totals[lane] == near[last] and numbers[lane] < where[last]):
                insert(near, where, totals[lane], numbers[lane])
