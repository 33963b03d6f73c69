"""The loops of a neighbor search compiled by Numba; their twins are in ``scan_reference``.

Sixty-four numbers are compared with a bound at once, and only a group with a hit is looked at one by one: after the
first few thousand points hardly any group has one. Points are float64 or float32, everything else has one type.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import cached_kernel, inner_kernel, njit

__all__ = ["insert", "keep_in_heap", "keep_in_list", "pair_powers", "scan"]

LANES = 64
CHECK_EVERY = 32  # columns after which a group whose every power exceeds the bound is given up

ONE = np.uint64(1)
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)  # every six bits in a row differ from all others
BIT_OF_PRODUCT = np.argsort([(int(DE_BRUIJN) << bit) % 2**64 >> 58 for bit in range(64)])


@cached_kernel
def keep_in_list(products, half_squares, first, scores, index):
    """Scores ``half_squares[j] - products[q, j]`` enter row q of ``scores``, a list in ascending order, where they are
    smaller than its last. Their number is a multiple of LANES."""
    last = scores.shape[1] - 1
    for q in range(products.shape[0]):
        row, kept, where = products[q], scores[q], index[q]
        for start in range(0, len(row), LANES):
            part, squares = row[start : start + LANES], half_squares[start : start + LANES]
            hits = _hits(part, squares, kept[last])
            while hits:
                lane = _first_bit(hits)
                hits &= hits - ONE
                score = squares[lane] - part[lane]
                if score < kept[last]:
                    insert(kept, where, score, first + start + lane)


@cached_kernel
def keep_in_heap(products, half_squares, first, scores, index):
    """The same where row q of ``scores`` is a heap whose first is the largest."""
    for q in range(products.shape[0]):
        row, heap, where = products[q], scores[q], index[q]
        for start in range(0, len(row), LANES):
            part, squares = row[start : start + LANES], half_squares[start : start + LANES]
            hits = _hits(part, squares, heap[0])
            while hits:
                lane = _first_bit(hits)
                hits &= hits - ONE
                score = squares[lane] - part[lane]
                if score < heap[0]:
                    _replace_largest(heap, where, score, first + start + lane)


@inner_kernel
def _hits(part, squares, bound):
    """Which scores of a group are below ``bound``, a bit for each."""
    hits = np.uint64(0)
    hit = np.int32(0)
    for lane in range(LANES):
        hit = np.int32(hit | (np.int32(1) if squares[lane] - part[lane] < bound else np.int32(0)))
    if hit:
        for lane in range(LANES):
            hits |= np.uint64(squares[lane] - part[lane] < bound) << np.uint64(lane)
    return hits


@inner_kernel
def _first_bit(bits):
    """The number of the lowest bit that is set: a product moves six bits to the top that occur for this one only."""
    return BIT_OF_PRODUCT[((bits & (~bits + ONE)) * DE_BRUIJN) >> np.uint64(58)]


@inner_kernel
def insert(values, where, value, index):
    """Put ``value`` in its place in a list ascending by value, then by index; the last one falls out."""
    i = len(values) - 1
    while i > 0 and (values[i - 1] > value or (values[i - 1] == value and where[i - 1] > index)):
        values[i], where[i] = values[i - 1], where[i - 1]
        i -= 1
    values[i], where[i] = value, index


@njit(cache=True, nogil=True)
def pair_powers(points, queries, of_query, of_point, exponent):
    """See :func:`margin.foundations.neighbors.scan_reference.pair_powers`."""
    n, d = len(of_query), points.shape[1]
    found = np.zeros(n)
    whole = n - n % 4
    if exponent == 2.0:
        # Four pairs side by side: one sum alone would wait for itself at every addition.
        for i in range(0, whole, 4):
            a, b, c, e = points[of_point[i]], points[of_point[i + 1]], points[of_point[i + 2]], points[of_point[i + 3]]
            s, t = queries[of_query[i]], queries[of_query[i + 1]]
            u, v = queries[of_query[i + 2]], queries[of_query[i + 3]]
            w = x = y = z = 0.0
            for j in range(d):
                w += (a[j] - s[j]) * (a[j] - s[j])
                x += (b[j] - t[j]) * (b[j] - t[j])
                y += (c[j] - u[j]) * (c[j] - u[j])
                z += (e[j] - v[j]) * (e[j] - v[j])
            found[i], found[i + 1], found[i + 2], found[i + 3] = w, x, y, z
    else:
        whole = 0
    for i in range(whole, n):
        point, query = points[of_point[i]], queries[of_query[i]]
        total = 0.0
        for j in range(d):
            total = _grown(total, np.float64(point[j]) - query[j], exponent)
        found[i] = total
    return found


@njit(cache=True, nogil=True)
def scan(points, queries, exponent, smallest, index):
    """Fill ``smallest`` and ``index`` (m, k) with a heap of the smallest powers of every query; order does not count.

    Points are turned into tiles of 64 columns, so that every power is a sum of its own and the lanes of one vector
    belong to different points: vectorized without changing the order of a sum.
    """
    n, d = points.shape
    tile = np.empty((d, LANES))
    totals = np.empty(LANES)
    for start in range(0, n, LANES):
        size = min(LANES, n - start)
        for lane in range(size):
            for j in range(d):
                tile[j, lane] = points[start + lane, j]
        for lane in range(size, LANES):
            for j in range(d):
                tile[j, lane] = np.inf
        for q in range(queries.shape[0]):
            heap = smallest[q]
            if _powers_of_tile(tile, queries[q], exponent, heap[0], totals):
                for lane in range(size):
                    if totals[lane] < heap[0]:
                        _replace_largest(heap, index[q], totals[lane], start + lane)


@njit(cache=True, nogil=True)
def _powers_of_tile(tile, query, exponent, bound, totals):
    """Powers of one query to the 64 points of a tile; False as soon as none can be below ``bound``."""
    d = tile.shape[0]
    for lane in range(LANES):
        totals[lane] = 0.0
    for begin in range(0, d, CHECK_EVERY):
        for j in range(begin, min(d, begin + CHECK_EVERY)):
            row, value = tile[j], query[j]
            if exponent == 1.0:
                for lane in range(LANES):
                    totals[lane] += abs(row[lane] - value)
            elif exponent == 2.0:
                for lane in range(LANES):
                    gap = row[lane] - value
                    totals[lane] += gap * gap
            elif exponent == 3.0:
                for lane in range(LANES):
                    gap = abs(row[lane] - value)
                    totals[lane] += gap * gap * gap
            elif exponent == np.inf:
                for lane in range(LANES):
                    gap = abs(row[lane] - value)
                    totals[lane] = gap if gap > totals[lane] else totals[lane]
            else:
                for lane in range(LANES):
                    totals[lane] += abs(row[lane] - value) ** exponent
        hit = np.int32(0)
        for lane in range(LANES):
            hit = np.int32(hit | (np.int32(1) if totals[lane] < bound else np.int32(0)))
        if hit == 0:
            return False
    return True


@njit(cache=True, nogil=True)
def _grown(total, gap, exponent):
    size = abs(gap)
    if exponent == 1.0:
        return total + size
    if exponent == 2.0:
        return total + size * size
    if exponent == 3.0:
        return total + size * size * size
    if exponent == np.inf:
        return size if size > total else total
    return total + size**exponent


@inner_kernel
def _replace_largest(heap, where, value, index):
    """Put ``value`` in place of the root of a max-heap ordered by value, then by index."""
    k = len(heap)
    position = 0
    while True:
        child = 2 * position + 1
        if child >= k:
            break
        other = child + 1
        if other < k and (heap[other] > heap[child] or (heap[other] == heap[child] and where[other] > where[child])):
            child = other
        if heap[child] < value or (heap[child] == value and where[child] < index):
            break
        heap[position], where[position] = heap[child], where[child]
        position = child
    heap[position], where[position] = value, index
