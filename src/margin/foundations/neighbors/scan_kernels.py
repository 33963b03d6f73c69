"""The loops of a neighbor search, compiled; ``tests/oracles/foundations/neighbor_scan.py`` is the same in NumPy.

Sixty-four numbers are compared with a bound at once, and only a group with a hit is looked at one by one: after the
first few thousand points hardly any group has one. Points are float64 or float32, everything else has one type.
"""

from __future__ import annotations

import cython

from margin.core.elementary_kernels import power
from margin.core.kernel_source import (
    Bytes,
    ConstIntegers,
    ConstMatrix,
    ConstMatrix32,
    ConstRealMatrix,
    ConstVector32,
    IntegerMatrix,
    Matrix,
    Matrix32,
    Vector,
    inner,
    kernel,
)

__all__ = ["insert", "keep_in_heap", "keep_in_list", "pair_powers", "scan"]

LANES = 64
BESIDE = 0x0102040810204080
PAIRS = 0x5555555555555555
FOURS = 0x3333333333333333
EIGHTS = 0x0F0F0F0F0F0F0F0F
BYTES = 0x0101010101010101
CHECK_EVERY = 32  # columns after which a group whose every power exceeds the bound is given up
INFINITE = float("inf")


@kernel
def keep_in_list(
    products: ConstMatrix32,
    half_squares: ConstVector32,
    first: cython.longlong,
    scores: Matrix32,
    index: IntegerMatrix,
    flags: Bytes,
    eights: ConstIntegers,
) -> cython.void:
    """Scores ``half_squares[j] - products[q, j]`` enter row q of ``scores``, a list in ascending order, where they are
    smaller than its last. Their number is a multiple of LANES.

    ``flags`` (LANES,) is memory to work in, and ``eights`` the same memory as integers of eight bytes.
    """
    last = scores.shape[1] - 1
    start: cython.Py_ssize_t
    j: cython.Py_ssize_t
    hits: cython.ulonglong
    for q in range(products.shape[0]):
        start = 0
        while start < products.shape[1]:
            if _has_hit(products, half_squares, q, start, scores[q, last]):
                hits = _hits(products, half_squares, q, start, scores[q, last], flags, eights)
                while hits != 0:
                    j = start + _lowest_bit(hits)
                    hits &= hits - 1
                    score = half_squares[j] - products[q, j]
                    if score < scores[q, last]:
                        _insert32(scores, index, q, score, first + j)
            start += LANES


@kernel
def keep_in_heap(
    products: ConstMatrix32,
    half_squares: ConstVector32,
    first: cython.longlong,
    scores: Matrix32,
    index: IntegerMatrix,
    flags: Bytes,
    eights: ConstIntegers,
) -> cython.void:
    """The same where row q of ``scores`` is a heap whose first is the largest."""
    start: cython.Py_ssize_t
    j: cython.Py_ssize_t
    hits: cython.ulonglong
    for q in range(products.shape[0]):
        start = 0
        while start < products.shape[1]:
            if _has_hit(products, half_squares, q, start, scores[q, 0]):
                hits = _hits(products, half_squares, q, start, scores[q, 0], flags, eights)
                while hits != 0:
                    j = start + _lowest_bit(hits)
                    hits &= hits - 1
                    score = half_squares[j] - products[q, j]
                    if score < scores[q, 0]:
                        _replace_largest32(scores, index, q, score, first + j)
            start += LANES


@inner
def _has_hit(
    products: ConstMatrix32,
    half_squares: ConstVector32,
    q: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    bound: cython.float,
) -> cython.bint:
    """Whether a score of a group is below ``bound``."""
    hits: cython.int = 0
    for j in range(start, start + LANES):
        hits += 1 if half_squares[j] - products[q, j] < bound else 0
    return hits > 0


@inner
def _hits(
    products: ConstMatrix32,
    half_squares: ConstVector32,
    q: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    bound: cython.float,
    flags: Bytes,
    eights: ConstIntegers,
) -> cython.ulonglong:
    """A bit for every score of a group that is below ``bound``, so that no branch asks one after the other.

    Vectors write a byte for each; a product moves the lowest bits of eight bytes beside each other.
    """
    word: cython.ulonglong
    hits: cython.ulonglong = 0
    for j in range(LANES):
        flags[j] = 1 if half_squares[start + j] - products[q, start + j] < bound else 0
    for part in range(LANES // 8):
        word = cython.cast(cython.ulonglong, eights[part])
        hits |= (((word * BESIDE) >> 56) & 255) << (8 * part)
    return hits


@inner
def _lowest_bit(bits: cython.ulonglong) -> cython.Py_ssize_t:
    """The number of the lowest bit that is set: how many lie below it, counted in pairs, fours and bytes."""
    x: cython.ulonglong = (bits & (0 - bits)) - 1
    x = x - ((x >> 1) & PAIRS)
    x = (x & FOURS) + ((x >> 2) & FOURS)
    x = (x + (x >> 4)) & EIGHTS
    return cython.cast(cython.Py_ssize_t, ((x * BYTES) >> 56) & 255)


@inner
def _insert32(
    values: Matrix32, where: IntegerMatrix, q: cython.Py_ssize_t, value: cython.float, index: cython.longlong
) -> cython.void:
    """:func:`insert` for numbers in single precision."""
    i: cython.Py_ssize_t = values.shape[1] - 1
    while i > 0 and (values[q, i - 1] > value or (values[q, i - 1] == value and where[q, i - 1] > index)):
        values[q, i] = values[q, i - 1]
        where[q, i] = where[q, i - 1]
        i -= 1
    values[q, i] = value
    where[q, i] = index


@inner
def insert(
    values: Matrix, where: IntegerMatrix, q: cython.Py_ssize_t, value: cython.double, index: cython.longlong
) -> cython.void:
    """Put ``value`` in its place in row q, a list ascending by value, then by index; the last one falls out."""
    i: cython.Py_ssize_t = values.shape[1] - 1
    while i > 0 and (values[q, i - 1] > value or (values[q, i - 1] == value and where[q, i - 1] > index)):
        values[q, i] = values[q, i - 1]
        where[q, i] = where[q, i - 1]
        i -= 1
    values[q, i] = value
    where[q, i] = index


@kernel
def pair_powers(
    points: ConstRealMatrix,
    queries: ConstMatrix,
    of_query: ConstIntegers,
    of_point: ConstIntegers,
    exponent: cython.double,
    found: Vector,
) -> cython.void:
    """Powers of the pairs (``of_query[i]``, ``of_point[i]``) into ``found``: sums over the columns, in their order."""
    n = of_query.shape[0]
    d = points.shape[1]
    i: cython.Py_ssize_t = 0
    w: cython.double
    x: cython.double
    y: cython.double
    z: cython.double
    if exponent == 2.0:
        # Four pairs side by side: one sum alone would wait for itself at every addition.
        while i + 4 <= n:
            a, b, c, e = of_point[i], of_point[i + 1], of_point[i + 2], of_point[i + 3]
            s, t, u, v = of_query[i], of_query[i + 1], of_query[i + 2], of_query[i + 3]
            w = x = y = z = 0.0
            for j in range(d):
                w += (points[a, j] - queries[s, j]) * (points[a, j] - queries[s, j])
                x += (points[b, j] - queries[t, j]) * (points[b, j] - queries[t, j])
                y += (points[c, j] - queries[u, j]) * (points[c, j] - queries[u, j])
                z += (points[e, j] - queries[v, j]) * (points[e, j] - queries[v, j])
            found[i] = w
            found[i + 1] = x
            found[i + 2] = y
            found[i + 3] = z
            i += 4
    while i < n:
        w = 0.0
        for j in range(d):
            w = _grow(w, cython.cast(cython.double, points[of_point[i], j]) - queries[of_query[i], j], exponent)
        found[i] = w
        i += 1


@inner
def _grow(total: cython.double, gap: cython.double, exponent: cython.double) -> cython.double:
    """A sum of powers with one more column."""
    size = abs(gap)
    if exponent == 1.0:
        return total + size
    if exponent == 2.0:
        return total + size * size
    if exponent == 3.0:
        return total + size * size * size
    if exponent == INFINITE:
        return size if size > total else total
    return total + power(size, exponent)


@kernel
def scan(
    points: ConstRealMatrix,
    queries: ConstMatrix,
    exponent: cython.double,
    smallest: Matrix,
    index: IntegerMatrix,
    tile: Matrix,
) -> cython.void:
    """Fill ``smallest`` and ``index`` (m, k) with a heap of the smallest powers of every query; order does not count.

    Points are turned into tiles of 64 columns, ``tile`` (d, LANES), so that every power is a sum of its own and the
    lanes of one vector belong to different points: vectorized without changing the order of a sum.
    """
    totals = cython.declare(cython.double[LANES])
    n = points.shape[0]
    start: cython.Py_ssize_t = 0
    while start < n:
        size = min(LANES, n - start)
        for lane in range(LANES):
            for j in range(points.shape[1]):
                tile[j, lane] = points[start + lane, j] if lane < size else INFINITE
        for q in range(queries.shape[0]):
            if _powers_of_tile(tile, queries, q, exponent, smallest[q, 0], totals):
                for lane in range(size):
                    if totals[lane] < smallest[q, 0]:
                        _replace_largest(smallest, index, q, totals[lane], start + lane)
        start += LANES


@inner
def _powers_of_tile(
    tile: Matrix,
    queries: ConstMatrix,
    q: cython.Py_ssize_t,
    exponent: cython.double,
    bound: cython.double,
    totals: cython.p_double,
) -> cython.bint:
    """Powers of one query to the 64 points of a tile; False as soon as none can be below ``bound``."""
    d = tile.shape[0]
    begin: cython.Py_ssize_t = 0
    hits: cython.longlong
    gap: cython.double
    for lane in range(LANES):
        totals[lane] = 0.0
    while begin < d:
        end = min(d, begin + CHECK_EVERY)
        for j in range(begin, end):
            value = queries[q, j]
            if exponent == 1.0:
                for lane in range(LANES):
                    totals[lane] += abs(tile[j, lane] - value)
            elif exponent == 2.0:
                for lane in range(LANES):
                    gap = tile[j, lane] - value
                    totals[lane] += gap * gap
            elif exponent == 3.0:
                for lane in range(LANES):
                    gap = abs(tile[j, lane] - value)
                    totals[lane] += gap * gap * gap
            elif exponent == INFINITE:
                for lane in range(LANES):
                    gap = abs(tile[j, lane] - value)
                    totals[lane] = gap if gap > totals[lane] else totals[lane]
            else:
                for lane in range(LANES):
                    totals[lane] += power(abs(tile[j, lane] - value), exponent)
        hits = 0
        for lane in range(LANES):
            hits += 1 if totals[lane] < bound else 0
        if hits == 0:
            return False
        begin = end
    return True


@inner
def _replace_largest(
    heap: Matrix, where: IntegerMatrix, q: cython.Py_ssize_t, value: cython.double, index: cython.longlong
) -> cython.void:
    """Put ``value`` in place of the root of row q, a max-heap ordered by value, then by index."""
    k = heap.shape[1]
    position: cython.Py_ssize_t = 0
    child: cython.Py_ssize_t = 1
    while child < k:
        other = child + 1
        if other < k and (
            heap[q, other] > heap[q, child] or (heap[q, other] == heap[q, child] and where[q, other] > where[q, child])
        ):
            child = other
        if heap[q, child] < value or (heap[q, child] == value and where[q, child] < index):
            break
        heap[q, position] = heap[q, child]
        where[q, position] = where[q, child]
        position = child
        child = 2 * position + 1
    heap[q, position] = value
    where[q, position] = index


@inner
def _replace_largest32(
    heap: Matrix32, where: IntegerMatrix, q: cython.Py_ssize_t, value: cython.float, index: cython.longlong
) -> cython.void:
    """:func:`_replace_largest` for numbers in single precision."""
    k = heap.shape[1]
    position: cython.Py_ssize_t = 0
    child: cython.Py_ssize_t = 1
    while child < k:
        other = child + 1
        if other < k and (
            heap[q, other] > heap[q, child] or (heap[q, other] == heap[q, child] and where[q, other] > where[q, child])
        ):
            child = other
        if heap[q, child] < value or (heap[q, child] == value and where[q, child] < index):
            break
        heap[q, position] = heap[q, child]
        where[q, position] = where[q, child]
        position = child
        child = 2 * position + 1
    heap[q, position] = value
    where[q, position] = index
