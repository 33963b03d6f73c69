"""The inner loops of k-means; :mod:`margin.cluster.compiled_loops` calls them on threads.

Rows are cut into chunks of a fixed length and sums of chunks are added in their order, so any number of threads gives
the same bits. Sums over columns are taken in four lanes, which become vector instructions, in an order of their own.
"""

from __future__ import annotations

from math import sqrt

import cython

from margin.cluster.block_sizes import BATCH, CHUNK_ROWS
from margin.core.blas_kernels import multiply_transposed
from margin.core.kernel_source import (
    ConstIntegers,
    ConstIntegers32,
    ConstMatrix,
    ConstVector,
    Cube,
    IntegerMatrix,
    Integers,
    Integers32,
    Matrix,
    Vector,
    inner,
    kernel,
)

__all__ = ["add_changes", "reassign_rows", "sum_clusters", "to_means"]

ROUNDING = 2.220446049250313e-16  # of one operation, relative
INFINITE = float("inf")


@kernel
def add_changes(
    X: ConstMatrix,
    weights: ConstVector,
    offset: ConstVector,
    labels: ConstIntegers32,
    came_from: ConstIntegers32,
    sums: Matrix,
    totals: Vector,
    counts: Integers,
) -> cython.void:
    """Bring sums, totals and counts up to date with the rows that changed cluster, in place and in row order."""
    for i in range(X.shape[0]):
        old = came_from[i]
        new = labels[i]
        w = weights[i]
        if old >= 0 and w > 0:
            for j in range(X.shape[1]):
                part = w * (X[i, j] - offset[j])
                sums[old, j] -= part
                sums[new, j] += part
            totals[old] -= w
            totals[new] += w
            counts[old] -= 1
            counts[new] += 1
    for c in range(counts.shape[0]):
        if counts[c] == 0:
            totals[c] = 0.0
            for j in range(sums.shape[1]):
                sums[c, j] = 0.0


@kernel
def sum_clusters(
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    X: ConstMatrix,
    weights: ConstVector,
    offset: ConstVector,
    labels: ConstIntegers32,
    sums: Cube,
    totals: Matrix,
    counts: IntegerMatrix,
) -> cython.void:
    """Weighted sums, total weight and number of rows with weight of every cluster, in the chunks ``first`` to ``last``
    of as many as ``sums`` has."""
    n = X.shape[0]
    chunks = sums.shape[0]
    for chunk in range(first, last):
        for i in range(n * chunk // chunks, n * (chunk + 1) // chunks):
            c = labels[i]
            w = weights[i]
            totals[chunk, c] += w
            if w > 0:
                counts[chunk, c] += 1
            for j in range(X.shape[1]):
                sums[chunk, c, j] += w * (X[i, j] - offset[j])


@kernel
def to_means(
    sums: ConstMatrix, totals: ConstVector, counts: ConstIntegers, centers: Matrix, moved: Vector, half_gap: Vector
) -> cython.void:
    """Move ``centers`` to the means of their rows, in place. ``moved``, zeros before, and ``half_gap``, infinite
    before, become the squares of how far each went and of the distance to the nearest other one."""
    k = centers.shape[0]
    d = centers.shape[1]
    for c in range(k):
        if counts[c] > 0:
            for j in range(d):
                mean = sums[c, j] / totals[c]
                gone = mean - centers[c, j]
                moved[c] += gone * gone
                centers[c, j] = mean
        for e in range(c):
            gap = (1.0 - ROUNDING * (d + 4)) * _squared_distance(centers, c, centers, e)
            half_gap[c] = gap if gap < half_gap[c] else half_gap[c]
            half_gap[e] = gap if gap < half_gap[e] else half_gap[e]


@cython.cclass
class RowState:
    """The rows of a table, what is known of each, and what passes over them leave behind."""

    X: ConstMatrix
    weights: ConstVector
    offset: ConstVector
    labels: Integers32
    upper: Vector
    lower: Vector
    came_from: Integers32
    fell: Vector
    changed: Integers

    def __init__(
        self,
        X: ConstMatrix,
        weights: ConstVector,
        offset: ConstVector,
        labels: Integers32,
        upper: Vector,
        lower: Vector,
        came_from: Integers32,
        fell: Vector,
        changed: Integers,
    ):
        self.X = X
        self.weights = weights
        self.offset = offset
        self.labels = labels
        self.upper = upper
        self.lower = lower
        self.came_from = came_from
        self.fell = fell
        self.changed = changed


@cython.cclass
class WaitingRows:
    """Rows that wait for their distances to all centers, and memory of one thread for these."""

    batch: Matrix  # (BATCH, d), relative to the offset
    scores: Vector  # (k BATCH,): squared distance less the row's own square
    smallest: Matrix  # (2, BATCH): the smallest and second smallest score
    rows: Integers  # (BATCH,)
    nearest: Integers  # (BATCH,)
    norms: Vector  # (k,)
    doubled: Matrix  # (k, d): -2 times the centers

    def __init__(
        self,
        batch: Matrix,
        scores: Vector,
        smallest: Matrix,
        rows: Integers,
        nearest: Integers,
        norms: Vector,
        doubled: Matrix,
    ):
        self.batch = batch
        self.scores = scores
        self.smallest = smallest
        self.rows = rows
        self.nearest = nearest
        self.norms = norms
        self.doubled = doubled


@kernel
def reassign_rows(
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    table: RowState,
    centers: Matrix,
    half_gap: ConstVector,
    moved: ConstVector,
    waiting: WaitingRows,
) -> cython.void:
    """Give the rows of the chunks ``first`` to ``last`` to their nearest centers; see
    :func:`margin.cluster.compiled_loops.reassign`."""
    top: cython.Py_ssize_t = 0
    second: cython.double = 0.0
    largest: cython.double = 0.0
    k = centers.shape[0]
    for c in range(k):
        waiting.norms[c] = 0.0
        for j in range(centers.shape[1]):
            waiting.norms[c] += centers[c, j] * centers[c, j]
            waiting.doubled[c, j] = -2.0 * centers[c, j]
        largest = waiting.norms[c] if waiting.norms[c] > largest else largest
        top = c if moved[c] > moved[top] else top
    for c in range(k):
        if c != top and moved[c] > second:
            second = moved[c]
    for chunk in range(first, last):
        _reassign_chunk(chunk, table, centers, half_gap, moved, top, second, largest, waiting)


@inner
def _reassign_chunk(
    chunk: cython.Py_ssize_t,
    table: RowState,
    centers: Matrix,
    half_gap: ConstVector,
    moved: ConstVector,
    top: cython.Py_ssize_t,
    second: cython.double,
    largest: cython.double,
    waiting: WaitingRows,
) -> cython.void:
    count: cython.Py_ssize_t = 0
    u: cython.double
    bound: cython.double
    stays: cython.bint
    high = min((chunk + 1) * CHUNK_ROWS, table.X.shape[0])
    table.fell[chunk] = 0.0
    table.changed[chunk] = 0
    for i in range(chunk * CHUNK_ROWS, high):
        table.came_from[i] = -1
        a = table.labels[i]
        stays = False
        if a >= 0:
            table.lower[i] -= second if a == top else moved[top]
            u = table.upper[i] + moved[a]
            bound = table.lower[i] if table.lower[i] > half_gap[a] else half_gap[a]
            if bound < u and u < INFINITE:  # an infinite one says that all distances are wanted anyway
                u = sqrt(_squared_gap(table.X, i, table.offset, centers, a))
            table.upper[i] = u
            stays = u <= bound
        if not stays:
            for j in range(centers.shape[1]):
                waiting.batch[count, j] = table.X[i, j] - table.offset[j]
            waiting.rows[count] = i
            count += 1
        if count == BATCH or (i == high - 1 and count > 0):
            multiply_transposed(waiting.doubled, waiting.batch, count, waiting.scores)
            _two_smallest(waiting.scores, waiting.norms, count, waiting.nearest, waiting.smallest)
            _settle(chunk, count, table, centers, largest, waiting)
            count = 0


@inner
def _settle(
    chunk: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    table: RowState,
    centers: Matrix,
    largest: cython.double,
    waiting: WaitingRows,
) -> cython.void:
    """What follows for the waiting rows, whose nearest and second nearest centers are known."""
    other: cython.double
    rounding = (centers.shape[1] + 4) * ROUNDING
    for r in range(count):
        i = waiting.rows[r]
        nearest = waiting.nearest[r]
        square = _square(waiting.batch, r)
        exact = _squared_distance(waiting.batch, r, centers, nearest)
        own = table.labels[i]
        if own >= 0 and own != nearest and table.upper[i] == INFINITE:
            table.upper[i] = sqrt(_squared_distance(waiting.batch, r, centers, own))
        distance = sqrt(exact)
        other = waiting.smallest[1, r]
        if own < 0:
            table.fell[chunk] -= table.weights[i] * exact
            table.changed[chunk] += 1
            table.labels[i] = nearest
            table.upper[i] = distance
        elif nearest != own and distance < table.upper[i]:
            table.fell[chunk] += table.weights[i] * (table.upper[i] * table.upper[i] - exact)
            table.changed[chunk] += 1
            table.came_from[i] = own
            table.labels[i] = nearest
            table.upper[i] = distance
        elif nearest != own:
            other = waiting.smallest[0, r]
        else:
            table.upper[i] = distance
        bound = square + other - rounding * (square + largest)
        table.lower[i] = sqrt(bound) if bound > 0 else 0.0


@inner
def _two_smallest(
    scores: Vector, norms: Vector, count: cython.Py_ssize_t, nearest: Integers, smallest: Matrix
) -> cython.void:
    """For every column of ``scores`` (k, count) + ``norms`` the index (of equals the first) and value of the smallest,
    and the second. Columns are rows of data: the inner loop runs along them without a branch, so that it vectorizes."""
    score: cython.double
    best: cython.double
    other: cython.double
    less: cython.bint
    for r in range(count):
        nearest[r] = 0
        smallest[0, r] = INFINITE
        smallest[1, r] = INFINITE
    for c in range(norms.shape[0]):
        norm = norms[c]
        for r in range(count):
            score = scores[c * count + r] + norm
            best = smallest[0, r]
            less = score < best
            other = best if less else score
            smallest[1, r] = other if other < smallest[1, r] else smallest[1, r]
            smallest[0, r] = score if less else best
            nearest[r] = c if less else nearest[r]


@inner
def _squared_gap(
    X: ConstMatrix, i: cython.Py_ssize_t, offset: ConstVector, centers: Matrix, c: cython.Py_ssize_t
) -> cython.double:
    s0: cython.double = 0.0
    s1: cython.double = 0.0
    s2: cython.double = 0.0
    s3: cython.double = 0.0
    j: cython.Py_ssize_t = 0
    d = X.shape[1]
    while j + 4 <= d:
        g0 = X[i, j] - offset[j] - centers[c, j]
        g1 = X[i, j + 1] - offset[j + 1] - centers[c, j + 1]
        g2 = X[i, j + 2] - offset[j + 2] - centers[c, j + 2]
        g3 = X[i, j + 3] - offset[j + 3] - centers[c, j + 3]
        s0 += g0 * g0
        s1 += g1 * g1
        s2 += g2 * g2
        s3 += g3 * g3
        j += 4
    while j < d:
        g0 = X[i, j] - offset[j] - centers[c, j]
        s0 += g0 * g0
        j += 1
    return (s0 + s2) + (s1 + s3)


@inner
def _squared_distance(A: Matrix, a: cython.Py_ssize_t, B: Matrix, b: cython.Py_ssize_t) -> cython.double:
    s0: cython.double = 0.0
    s1: cython.double = 0.0
    s2: cython.double = 0.0
    s3: cython.double = 0.0
    j: cython.Py_ssize_t = 0
    d = A.shape[1]
    while j + 4 <= d:
        g0 = A[a, j] - B[b, j]
        g1 = A[a, j + 1] - B[b, j + 1]
        g2 = A[a, j + 2] - B[b, j + 2]
        g3 = A[a, j + 3] - B[b, j + 3]
        s0 += g0 * g0
        s1 += g1 * g1
        s2 += g2 * g2
        s3 += g3 * g3
        j += 4
    while j < d:
        g0 = A[a, j] - B[b, j]
        s0 += g0 * g0
        j += 1
    return (s0 + s2) + (s1 + s3)


@inner
def _square(A: Matrix, a: cython.Py_ssize_t) -> cython.double:
    s0: cython.double = 0.0
    s1: cython.double = 0.0
    s2: cython.double = 0.0
    s3: cython.double = 0.0
    j: cython.Py_ssize_t = 0
    d = A.shape[1]
    while j + 4 <= d:
        s0 += A[a, j] * A[a, j]
        s1 += A[a, j + 1] * A[a, j + 1]
        s2 += A[a, j + 2] * A[a, j + 2]
        s3 += A[a, j + 3] * A[a, j + 3]
        j += 4
    while j < d:
        s0 += A[a, j] * A[a, j]
        j += 1
    return (s0 + s2) + (s1 + s3)
