"""k-means++ compiled by Numba: the same rows as by :func:`margin.cluster.plusplus.far_rows`, which is its definition.

Rows are turned into blocks in which a column is contiguous, so that loops over the rows of a block become vector
instructions. Distances to all candidates, their minima with the nearest so far and the sums of these are made while a
block is in the first-level cache. Sums are kept per block: the next draw looks through them, then through one block.
"""

from __future__ import annotations

import numpy as np

from margin.cluster.kmeans_kernels import ANY_ORDER
from margin.core.cached_kernels import cached_kernel, inner_kernel, njit

__all__ = ["far_rows"]

BLOCK = 64  # rows: 32 columns of them fill half of the first-level cache


def far_rows(
    X: np.ndarray, weights: np.ndarray, offset: np.ndarray, order: np.ndarray, first: int, uniform: np.ndarray
) -> np.ndarray:
    """See :func:`margin.cluster.plusplus.far_rows`."""
    n, d = X.shape
    blocks, trials = -(-n // BLOCK), uniform.shape[1]
    turned, mass = np.empty((blocks, d, BLOCK)), np.empty((blocks, BLOCK))
    nearest, found = np.full((blocks, BLOCK), np.inf), np.empty((trials, blocks, BLOCK))
    memory = np.empty((trials, blocks)), np.empty(BLOCK), np.empty((trials, d)), np.full(trials, first)
    chosen = np.empty(len(uniform) + 1, dtype=np.int64)
    anywhere = (uniform * n).astype(np.int64)
    _far_rows(X, weights, offset, order, uniform, anywhere, turned, mass, nearest, found, *memory, chosen)
    return order[chosen]


@cached_kernel
def _far_rows(
    X, weights, offset, order, uniform, anywhere, turned, mass, nearest, found, sums, gaps, points, candidates, chosen
):  # fmt: skip
    n, d = X.shape
    for i in range(turned.shape[0] * BLOCK):
        b, r, row = i // BLOCK, i % BLOCK, order[i if i < n else 0]  # the last block is filled by rows without weight
        for j in range(d):
            turned[b, j, r] = X[row, j] - offset[j]
        mass[b, r] = weights[row] if i < n else 0.0
    for c in range(len(chosen)):
        if c > 0:  # before, all candidates are the first row
            _draw(uniform[c - 1], anywhere[c - 1], mass, nearest, sums[0], candidates)
        for t in range(len(candidates)):
            for j in range(d):
                points[t, j] = turned[candidates[t] // BLOCK, j, candidates[t] % BLOCK]
        _look_at(turned, mass, points, nearest, found, sums, gaps)
        best, least = 0, np.inf
        for t in range(len(candidates)):
            total = 0.0
            for b in range(len(mass)):
                total += sums[t, b]
            if total < least:
                best, least = t, total
        chosen[c] = candidates[best]
        for b in range(len(mass)):
            sums[0, b] = sums[best, b]
            for r in range(BLOCK):
                nearest[b, r] = found[best, b, r]


@inner_kernel
def _draw(uniform, anywhere, mass, nearest, sums, candidates):
    """Rows in proportion to ``mass * nearest``, whose sums over blocks are known; if all are zero, ``anywhere``."""
    total = 0.0
    for b in range(len(sums)):
        total += sums[b]
    for t in range(len(uniform)):
        left = uniform[t] * total
        b = 0
        while b < len(sums) - 1 and left >= sums[b]:
            left -= sums[b]
            b += 1
        # Rounding may leave a little more than the block has: then its last row with weight is taken.
        row = -1
        for r in range(BLOCK):
            part = mass[b, r] * nearest[b, r]
            if part > 0 and left >= 0:
                row = b * BLOCK + r
                left -= part
        candidates[t] = row if row >= 0 else anywhere[t]


@njit(nogil=True, fastmath=ANY_ORDER, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)
def _look_at(turned, mass, points, nearest, found, sums, gaps):
    """With each candidate: squared distances of all rows to the nearest chosen one, and their weighted sums."""
    d = points.shape[1]
    fours = d - d % 4
    for b in range(len(turned)):
        for t in range(len(points)):
            for r in range(BLOCK):
                gaps[r] = 0.0
            for j in range(0, fours, 4):  # four columns for every time that sums are read and written
                p0, p1, p2, p3 = points[t, j], points[t, j + 1], points[t, j + 2], points[t, j + 3]
                for r in range(BLOCK):
                    g0, g1 = turned[b, j, r] - p0, turned[b, j + 1, r] - p1
                    g2, g3 = turned[b, j + 2, r] - p2, turned[b, j + 3, r] - p3
                    gaps[r] += g0 * g0 + g1 * g1 + g2 * g2 + g3 * g3
            for j in range(fours, d):
                for r in range(BLOCK):
                    gap = turned[b, j, r] - points[t, j]
                    gaps[r] += gap * gap
            total = 0.0
            for r in range(BLOCK):
                least = gaps[r] if gaps[r] < nearest[b, r] else nearest[b, r]
                found[t, b, r] = least
                total += mass[b, r] * least
            sums[t, b] = total
