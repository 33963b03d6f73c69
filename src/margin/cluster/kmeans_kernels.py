"""The inner loops of k-means compiled by Numba: the same functions as in :mod:`margin.cluster.kmeans_reference`.

Rows are cut into chunks of a fixed length and sums of chunks are added in their order, so any number of threads
gives the same bits. Only float64 rows in C order and int32 labels come here: one signature, compiled once and cached.
Sums and maxima are plain loops over memory that Python brings: what Numba has for them takes seconds to compile.
"""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import cached_kernel, inner_kernel, njit
from margin.core.parallel import over_ranges
from margin.core.threads import threads_for

__all__ = ["add_changes", "cluster_sums", "move_centers", "reassign"]

# Sums and minima may be taken in any order (that is what vectorizes them) and there is no NaN in checked data. The
# order is settled when the code is compiled, not when it runs: the same machine gives the same bits.
ANY_ORDER = {"reassoc", "contract", "nsz", "nnan"}

CHUNK_ROWS = 4096  # rows per task
BATCH = 256  # rows per matrix product: rows, centers and scores stay in the second-level cache
ROUNDING = 2.220446049250313e-16  # of one operation, relative
MAX_PARTIAL_SUMS = 2**22  # doubles held for sums per chunk (32 MB)


def reassign(X, weights, offset, centers, half_gap, moved, labels, upper, lower, came_from):
    """See :func:`margin.cluster.kmeans_reference.reassign`."""
    chunks = -(-len(X) // CHUNK_ROWS)
    fell, changed = np.zeros(chunks), np.zeros(chunks, dtype=np.int64)
    given = X, weights, offset, centers, half_gap, moved, labels, upper, lower, came_from, fell, changed
    k, d = centers.shape

    def part(first, last):
        memory = np.empty((BATCH, d)), np.empty(k * BATCH), np.empty((2, BATCH)), np.empty((2, BATCH), dtype=np.int64)
        _reassign(first, last, *given, np.empty(k), np.empty((k, d)), *memory)

    over_ranges(part, chunks, threads_for(X.size * k))
    return float(fell.sum()), int(changed.sum())


def cluster_sums(X, weights, offset, labels, k):
    """See :func:`margin.cluster.kmeans_reference.cluster_sums`."""
    chunks = max(1, min(64, len(X) // CHUNK_ROWS, MAX_PARTIAL_SUMS // (k * X.shape[1])))
    sums = np.zeros((chunks, k, X.shape[1]))
    totals = np.zeros((chunks, k))
    counts = np.zeros((chunks, k), dtype=np.int64)
    given = X, weights, offset, labels, sums, totals, counts
    over_ranges(lambda first, last: _cluster_sums(first, last, *given), chunks, threads_for(X.size * k))
    return sums.sum(axis=0), totals.sum(axis=0), counts.sum(axis=0)


def move_centers(sums, totals, counts, centers):
    """See :func:`margin.cluster.kmeans_reference.move_centers`."""
    moved, half_gap = np.zeros(len(centers)), np.full(len(centers), np.inf)
    _move_centers(sums, totals, counts, centers, moved, half_gap)
    return np.sqrt(moved), 0.5 * np.sqrt(half_gap)


@cached_kernel
def add_changes(X, weights, offset, labels, came_from, sums, totals, counts):
    """See :func:`margin.cluster.kmeans_reference.add_changes`."""
    for i in range(X.shape[0]):
        old, new, w = came_from[i], labels[i], weights[i]
        if old >= 0 and w > 0:
            for j in range(X.shape[1]):
                part = w * (X[i, j] - offset[j])
                sums[old, j] -= part
                sums[new, j] += part
            totals[old] -= w
            totals[new] += w
            counts[old] -= 1
            counts[new] += 1
    for c in range(len(counts)):
        if counts[c] == 0:
            totals[c] = 0.0
            for j in range(sums.shape[1]):
                sums[c, j] = 0.0


@cached_kernel
def _cluster_sums(first, last, X, weights, offset, labels, sums, totals, counts):
    n, chunks = X.shape[0], sums.shape[0]
    for chunk in range(first, last):
        for i in range(n * chunk // chunks, n * (chunk + 1) // chunks):
            c, w = labels[i], weights[i]
            totals[chunk, c] += w
            if w > 0:
                counts[chunk, c] += 1
            for j in range(X.shape[1]):
                sums[chunk, c, j] += w * (X[i, j] - offset[j])


@cached_kernel
def _move_centers(sums, totals, counts, centers, moved, half_gap):
    """``moved`` and ``half_gap`` become squares."""
    k, d = centers.shape
    for c in range(k):
        if counts[c] > 0:
            for j in range(d):
                mean = sums[c, j] / totals[c]
                moved[c] += (mean - centers[c, j]) ** 2
                centers[c, j] = mean
        for e in range(c):
            gap = (1.0 - ROUNDING * (d + 4)) * _squared_distance(centers[c], centers[e])
            half_gap[c] = gap if gap < half_gap[c] else half_gap[c]
            half_gap[e] = gap if gap < half_gap[e] else half_gap[e]


@njit(cache=True, nogil=True)
def _reassign(
    first, last, X, weights, offset, centers, half_gap, moved, labels, upper, lower, came_from, fell, changed,
    norms, doubled, batch, scores, smallest, integers,
):  # fmt: skip
    n, d = X.shape
    k = centers.shape[0]
    rows, nearest = integers[0], integers[1]
    top, second, largest = 0, 0.0, 0.0
    for c in range(k):
        norms[c] = 0.0
        for j in range(d):
            norms[c] += centers[c, j] * centers[c, j]
            doubled[c, j] = -2.0 * centers[c, j]  # scores are norms + doubled @ x
        largest = norms[c] if norms[c] > largest else largest
        top = c if moved[c] > moved[top] else top
    for c in range(k):
        if c != top and moved[c] > second:
            second = moved[c]
    for chunk in range(first, last):
        waiting = 0
        gain = 0.0
        moves = 0
        high = (chunk + 1) * CHUNK_ROWS
        high = high if high < n else n
        for i in range(chunk * CHUNK_ROWS, high):
            came_from[i] = -1
            a = labels[i]
            stays = False
            if a >= 0:
                lower[i] -= second if a == top else moved[top]
                u = upper[i] + moved[a]
                bound = lower[i] if lower[i] > half_gap[a] else half_gap[a]
                if bound < u < np.inf:  # an infinite one says that all distances are wanted anyway
                    u = np.sqrt(_squared_gap(X[i], offset, centers[a]))
                upper[i] = u
                stays = u <= bound
            if not stays:
                for j in range(d):
                    batch[waiting, j] = X[i, j] - offset[j]
                rows[waiting] = i
                waiting += 1
            if waiting == BATCH or (i == high - 1 and waiting > 0):
                part = scores[: k * waiting].reshape(k, waiting)
                np.dot(doubled, batch[:waiting].T, part)
                g, m = _settle(
                    batch, part, rows, weights, centers, norms, labels, upper, lower, came_from, largest, nearest,
                    smallest,
                )  # fmt: skip
                gain += g
                moves += m
                waiting = 0
        fell[chunk] = gain
        changed[chunk] = moves


@inner_kernel
def _settle(batch, scores, rows, weights, centers, norms, labels, upper, lower, came_from, largest, nearest, smallest):
    """Nearest and second nearest center of the waiting rows, whose scores (k, waiting) are known."""
    waiting, d = scores.shape[1], batch.shape[1]
    rounding = (d + 4) * ROUNDING
    for r in range(waiting):
        nearest[r], smallest[0, r], smallest[1, r] = 0, np.inf, np.inf
    _two_smallest(scores, norms, nearest, smallest[0], smallest[1])
    gain, moves = 0.0, 0
    for r in range(waiting):
        i = rows[r]
        arg, best, runner_up = nearest[r], smallest[0, r], smallest[1, r]
        square = _square(batch[r])
        exact = _squared_distance(batch[r], centers[arg])
        own = labels[i]
        if own >= 0 and own != arg and upper[i] == np.inf:
            upper[i] = np.sqrt(_squared_distance(batch[r], centers[own]))
        distance = np.sqrt(exact)
        nearest_other = runner_up
        if own < 0:
            gain -= weights[i] * exact
            moves += 1
            labels[i] = arg
            upper[i] = distance
        elif arg != own and distance < upper[i]:
            gain += weights[i] * (upper[i] * upper[i] - exact)
            moves += 1
            came_from[i] = own
            labels[i] = arg
            upper[i] = distance
        elif arg != own:
            nearest_other = best
        else:
            upper[i] = distance
        bound = square + nearest_other - rounding * (square + largest)
        lower[i] = np.sqrt(bound) if bound > 0 else 0.0
    return gain, moves


@njit(nogil=True, fastmath=ANY_ORDER, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)
def _squared_gap(x, offset, center):
    total = 0.0
    for j in range(len(x)):
        gap = x[j] - offset[j] - center[j]
        total += gap * gap
    return total


@njit(nogil=True, fastmath=ANY_ORDER, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)
def _squared_distance(x, center):
    total = 0.0
    for j in range(len(x)):
        gap = x[j] - center[j]
        total += gap * gap
    return total


@njit(nogil=True, fastmath=ANY_ORDER, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)
def _square(x):
    total = 0.0
    for j in range(len(x)):
        total += x[j] * x[j]
    return total


@njit(nogil=True, fastmath=ANY_ORDER, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)
def _two_smallest(scores, norms, nearest, smallest, second):
    """For every column of ``scores + norms`` the index (of equals the first) and value of the smallest, and the second.

    Columns are rows of data: the inner loop runs along them without a branch, so that it vectorizes.
    """
    for c in range(len(norms)):
        for r in range(scores.shape[1]):
            score, best, runner_up = scores[c, r] + norms[c], smallest[r], second[r]
            less = score < best
            other = best if less else score
            second[r] = other if other < runner_up else runner_up
            smallest[r] = score if less else best
            nearest[r] = c if less else nearest[r]
