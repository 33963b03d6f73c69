"""The draws of k-means++.

Rows are turned into blocks in which a column is contiguous, so that loops over the rows of a block become vector
instructions. Distances to all candidates, their minima with the nearest so far and the sums of these are made while a
block is in the first-level cache. Sums are kept per block: the next draw looks through them, then through one block.
"""

from __future__ import annotations

import cython

from margin.cluster.block_sizes import BLOCK
from margin.core.kernel_source import (
    ConstIntegerMatrix,
    ConstIntegers,
    ConstMatrix,
    ConstVector,
    Cube,
    Integers,
    Matrix,
    Vector,
    inner,
    kernel,
)

__all__ = ["choose_far_rows"]

INFINITE = float("inf")
ROUNDING = 2.220446049250313e-16  # of one operation, relative


@kernel
def choose_far_rows(
    X: ConstMatrix,
    weights: ConstVector,
    offset: ConstVector,
    order: ConstIntegers,
    uniform: ConstMatrix,
    anywhere: ConstIntegerMatrix,
    turned: Cube,
    squares: Matrix,
    mass: Matrix,
    nearest: Matrix,
    found: Cube,
    sums: Matrix,
    points: Matrix,
    candidates: Integers,
    chosen: Integers,
) -> cython.void:
    """Positions in ``order`` of rows that are far apart, into ``chosen``.

    Scratch: rows by blocks, ``turned`` (blocks, d, BLOCK), their ``squares``, weights ``mass`` and squared distances to
    the ``nearest`` chosen row (blocks, BLOCK), the same with each candidate, ``found`` (trials, blocks, BLOCK), and its
    weighted ``sums`` (trials, blocks); ``points`` (trials, d). ``candidates`` (trials,) begin as the first row.
    """
    best: cython.Py_ssize_t
    least: cython.double
    total: cython.double
    n = X.shape[0]
    for i in range(turned.shape[0] * BLOCK):
        block = i // BLOCK
        r = i % BLOCK
        row = order[i if i < n else 0]  # the last block is filled by rows without weight
        squares[block, r] = 0.0
        for j in range(X.shape[1]):
            turned[block, j, r] = X[row, j] - offset[j]
            squares[block, r] += turned[block, j, r] * turned[block, j, r]
        mass[block, r] = weights[row] if i < n else 0.0
    for c in range(chosen.shape[0]):
        if c > 0:  # before, all candidates are the first row
            _draw(uniform[c - 1], anywhere[c - 1], mass, nearest, sums[0], candidates)
        for t in range(candidates.shape[0]):
            for j in range(X.shape[1]):
                points[t, j] = turned[candidates[t] // BLOCK, j, candidates[t] % BLOCK]
        for block in range(turned.shape[0]):
            for t in range(points.shape[0]):
                sums[t, block] = _look_at(turned, block, squares, mass, points, t, nearest, found)
        best = 0
        least = INFINITE
        for t in range(candidates.shape[0]):
            total = 0.0
            for block in range(mass.shape[0]):
                total += sums[t, block]
            if total < least:
                best = t
                least = total
        chosen[c] = candidates[best]
        for block in range(mass.shape[0]):
            sums[0, block] = sums[best, block]
            for r in range(BLOCK):
                nearest[block, r] = found[best, block, r]


@inner
def _draw(
    uniform: ConstVector, anywhere: ConstIntegers, mass: Matrix, nearest: Matrix, sums: Vector, candidates: Integers
) -> cython.void:
    """Rows in proportion to ``mass * nearest``, whose sums over blocks are known; if all are zero, ``anywhere``."""
    total: cython.double = 0.0
    left: cython.double
    block: cython.Py_ssize_t
    row: cython.longlong
    for b in range(sums.shape[0]):
        total += sums[b]
    for t in range(uniform.shape[0]):
        left = uniform[t] * total
        block = 0
        while block < sums.shape[0] - 1 and left >= sums[block]:
            left -= sums[block]
            block += 1
        # Rounding may leave a little more than the block has: then its last row with weight is taken.
        row = -1
        for r in range(BLOCK):
            part = mass[block, r] * nearest[block, r]
            if part > 0 and left >= 0:
                row = block * BLOCK + r
                left -= part
        candidates[t] = row if row >= 0 else anywhere[t]


@inner
def _look_at(
    turned: Cube,
    block: cython.Py_ssize_t,
    squares: Matrix,
    mass: Matrix,
    points: Matrix,
    t: cython.Py_ssize_t,
    nearest: Matrix,
    found: Cube,
) -> cython.double:
    """With candidate ``t``: squared distances of a block's rows to the nearest chosen one, and their weighted sum.

    By |x|^2 - 2 x'p + |p|^2, a third less work than the squares of gaps; what rounding may have left is zero.
    """
    dots = cython.declare(cython.double[BLOCK])
    lanes = cython.declare(cython.double[8])
    own: cython.double = 0.0
    gap: cython.double
    least: cython.double
    d = points.shape[1]
    j: cython.Py_ssize_t = 0
    for r in range(BLOCK):
        dots[r] = 0.0
    while j + 4 <= d:  # four columns for every time that sums are read and written
        p0 = points[t, j]
        p1 = points[t, j + 1]
        p2 = points[t, j + 2]
        p3 = points[t, j + 3]
        own += (p0 * p0 + p1 * p1) + (p2 * p2 + p3 * p3)
        for r in range(BLOCK):
            dots[r] += (turned[block, j, r] * p0 + turned[block, j + 1, r] * p1) + (
                turned[block, j + 2, r] * p2 + turned[block, j + 3, r] * p3
            )
        j += 4
    while j < d:
        p0 = points[t, j]
        own += p0 * p0
        for r in range(BLOCK):
            dots[r] += turned[block, j, r] * p0
        j += 1
    for r in range(BLOCK):
        both = squares[block, r] + own
        gap = both - 2.0 * dots[r]
        gap = gap if gap > (d + 4) * ROUNDING * both else 0.0
        least = gap if gap < nearest[block, r] else nearest[block, r]
        found[t, block, r] = least
        dots[r] = mass[block, r] * least
    for lane in range(8):
        lanes[lane] = dots[lane]
    for r in range(8, BLOCK, 8):
        for lane in range(8):
            lanes[lane] += dots[r + lane]
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
