"""The loops of a tree of tiles, compiled: the order in which its leaves hold the points, and the search.

The lanes of one vector belong to different points, or to different boxes, so every power is a sum over the columns in
their order: vectorized, with the bits of the definition.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import (
    ConstCube,
    ConstIntegerMatrix,
    ConstIntegers,
    ConstMatrix,
    IntegerMatrix,
    Integers,
    Matrix,
    Vector,
    inner,
    kernel,
)
from margin.foundations.neighbors.scan_kernels import insert

__all__ = ["NearestSoFar", "Nodes", "order_points", "search"]

SAMPLE = 64  # points of a range whose spread decides along which column it is cut
ConstBoxes = cython.const[cython.double][:, :, :, ::1]


@kernel
def order_points(
    points: ConstMatrix,
    lanes: cython.Py_ssize_t,
    fanout: cython.Py_ssize_t,
    order: Integers,
    keys: Vector,
    begins: Integers,
    ends: Integers,
) -> cython.void:
    """Sort ``order``, the numbers of all points, so that every leaf of ``lanes`` points, and every aligned group of
    ``fanout`` leaves, of ``fanout**2`` leaves, ..., is a cell of cuts along the widest column.

    ``keys`` (n,) and the two stacks are overwritten.
    """
    depth: cython.Py_ssize_t = 1
    unit: cython.Py_ssize_t
    begins[0] = 0
    ends[0] = order.shape[0]
    while depth > 0:
        depth -= 1
        begin = begins[depth]
        end = ends[depth]
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
            begins[depth] = begin
            ends[depth] = middle
            begins[depth + 1] = middle
            ends[depth + 1] = end
            depth += 2


@inner
def _widest(
    points: ConstMatrix, order: Integers, begin: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The column in which a sample of a range differs most."""
    step = max(1, (end - begin) // SAMPLE)
    best: cython.Py_ssize_t = 0
    widest: cython.double = -1.0
    low: cython.double
    high: cython.double
    i: cython.Py_ssize_t
    for j in range(points.shape[1]):
        low = points[order[begin], j]
        high = low
        i = begin
        while i < end:
            value = points[order[i], j]
            low = value if value < low else low
            high = value if value > high else high
            i += step
        if high - low > widest:
            best = j
            widest = high - low
    return best


@inner
def _cut(
    keys: Vector, order: Integers, first: cython.Py_ssize_t, last: cython.Py_ssize_t, middle: cython.Py_ssize_t
) -> cython.void:
    """Quickselect: afterwards no key from ``middle`` on is below one before it."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    while first < last:
        a = keys[first]
        b = keys[(first + last) // 2]
        c = keys[last]
        pivot = max(min(a, b), min(max(a, b), c))
        i = first
        j = last
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while pivot < keys[j]:
                j -= 1
            if i <= j:
                key = keys[i]
                keys[i] = keys[j]
                keys[j] = key
                number = order[i]
                order[i] = order[j]
                order[j] = number
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


@cython.cclass
class Nodes:
    """A tree; see :class:`margin.foundations.neighbors.tile_tree.TileTree`."""

    boxes: ConstBoxes
    children: ConstIntegers
    tiles: ConstCube
    numbers: ConstIntegerMatrix

    def __init__(self, boxes: ConstBoxes, children: ConstIntegers, tiles: ConstCube, numbers: ConstIntegerMatrix):
        self.boxes = boxes
        self.children = children
        self.tiles = tiles
        self.numbers = numbers


@cython.cclass
class NearestSoFar:
    """The neighbors of all queries, ascending, and memory of a search."""

    powers: Matrix  # (m, k)
    index: IntegerMatrix  # (m, k)
    lows: Vector  # the stack of boxes to be opened: the least power of a point inside
    nodes: Integers  # and which they are
    gaps: Vector  # (fanout,)
    totals: Vector  # (lanes,)

    def __init__(
        self, powers: Matrix, index: IntegerMatrix, lows: Vector, nodes: Integers, gaps: Vector, totals: Vector
    ):
        self.powers = powers
        self.index = index
        self.lows = lows
        self.nodes = nodes
        self.gaps = gaps
        self.totals = totals


@kernel
def search(queries: ConstMatrix, turns: ConstIntegers, tree: Nodes, found: NearestSoFar) -> cython.void:
    """Fill the powers and indices of ``found``; the queries are answered in the order of ``turns``.

    A bound is summed as a power is, from the nearest place of the box: rounding is monotone, so it never exceeds the
    power of a point inside, and nothing is missed.
    """
    inner_nodes = tree.boxes.shape[0]
    last = found.powers.shape[1] - 1
    depth: cython.Py_ssize_t
    for turn in range(turns.shape[0]):
        q = turns[turn]
        depth = 1
        found.lows[0] = 0.0
        found.nodes[0] = 0
        while depth > 0:
            depth -= 1
            node = found.nodes[depth]
            if found.lows[depth] > found.powers[q, last]:
                continue
            if node < inner_nodes:
                depth = _open(
                    tree.boxes, node, tree.children[node], queries, q, found.powers[q, last], found, found.gaps, depth
                )
            else:
                _look(tree.tiles, tree.numbers, node - inner_nodes, queries, q, found, found.totals)


@inner
def _open(
    boxes: ConstBoxes,
    node: cython.Py_ssize_t,
    child: cython.longlong,
    queries: ConstMatrix,
    q: cython.Py_ssize_t,
    bound: cython.double,
    found: NearestSoFar,
    gaps: Vector,
    depth: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Put the children within ``bound`` on the stack, the nearest on top; returns its new height."""
    lanes = boxes.shape[3]
    top: cython.Py_ssize_t = depth
    i: cython.Py_ssize_t
    gap: cython.double
    for lane in range(lanes):
        gaps[lane] = 0.0
    for j in range(queries.shape[1]):
        value = queries[q, j]
        for lane in range(lanes):
            below = boxes[node, 0, j, lane] - value
            above = value - boxes[node, 1, j, lane]
            gap = below if below > above else above
            gap = gap if gap > 0.0 else 0.0
            gaps[lane] += gap * gap
    for lane in range(lanes):
        least = gaps[lane]
        if least <= bound:
            i = top
            while i > depth and found.lows[i - 1] < least:
                found.lows[i] = found.lows[i - 1]
                found.nodes[i] = found.nodes[i - 1]
                i -= 1
            found.lows[i] = least
            found.nodes[i] = child + lane
            top += 1
    return top


@inner
def _look(
    tiles: ConstCube,
    numbers: ConstIntegerMatrix,
    leaf: cython.Py_ssize_t,
    queries: ConstMatrix,
    q: cython.Py_ssize_t,
    found: NearestSoFar,
    totals: Vector,
) -> cython.void:
    """Points of a leaf that are nearer than the last neighbor, or as near and of a smaller number, take its place."""
    lanes = tiles.shape[2]
    last = found.powers.shape[1] - 1
    bound = found.powers[q, last]
    hits: cython.longlong = 0
    for lane in range(lanes):
        totals[lane] = 0.0
    for j in range(queries.shape[1]):
        value = queries[q, j]
        for lane in range(lanes):
            gap = tiles[leaf, j, lane] - value
            totals[lane] += gap * gap
    for lane in range(lanes):
        hits += 1 if totals[lane] <= bound else 0
    if hits > 0:
        for lane in range(lanes):
            total = totals[lane]
            bound = found.powers[q, last]
            if total < bound or (total == bound and numbers[leaf, lane] < found.index[q, last]):
                insert(found.powers, found.index, q, total, numbers[leaf, lane])
