r"""The inner loops of k-means by compiled kernels, on threads.

Rows are compared in coordinates relative to ``offset`` (the mean of the data), because
:math:`\lVert x-c \rVert^2 = \lVert x \rVert^2 - 2 x^\top c + \lVert c \rVert^2` loses digits far from the origin.
Only float64 rows in C order and int32 labels come here.
"""

from __future__ import annotations

import numpy as np

from margin.cluster.block_sizes import BATCH, BLOCK, CHUNK_ROWS
from margin.compiled.cluster import (
    RowState,
    WaitingRows,
    add_changes,
    choose_far_rows,
    reassign_rows,
    sum_clusters,
    to_means,
)
from margin.core.parallel import over_ranges
from margin.core.threads import threads_for

__all__ = ["add_changes", "cluster_sums", "far_rows", "move_centers", "reassign"]

MAX_PARTIAL_SUMS = 2**22  # doubles held for sums per chunk (32 MB)


def reassign(
    X: np.ndarray,
    weights: np.ndarray,
    offset: np.ndarray,
    centers: np.ndarray,
    half_gap: np.ndarray,
    moved: np.ndarray,
    labels: np.ndarray,
    upper: np.ndarray,
    lower: np.ndarray,
    came_from: np.ndarray,
) -> tuple[float, int]:
    r"""Give every row to its nearest center; rows whose bounds prove that nothing changed are skipped (Hamerly).

    ``upper`` bounds the distance to the own center, ``lower`` the distance to any other. Centers that ``moved`` widen
    both, and a row stays if :math:`u \le \max(l, h_a)`, where ``half_gap`` :math:`h_a` is half the distance from its
    center to the nearest other one. ``labels`` of -1 are rows seen for the first time. Changes ``labels``, ``upper``,
    ``lower`` and ``came_from`` (the label left, or -1) in place; returns by how much the inertia fell and how many rows
    changed.
    """
    chunks = -(-len(X) // CHUNK_ROWS)
    fell, changed = np.zeros(chunks), np.zeros(chunks, dtype=np.int64)
    table = RowState(X, weights, offset, labels, upper, lower, came_from, fell, changed)
    k, d = centers.shape

    def part(first: int, last: int) -> None:
        integers = np.empty((2, BATCH), dtype=np.int64)
        batch, scores, smallest = np.empty((BATCH, d)), np.empty(k * BATCH), np.empty((2, BATCH))
        waiting = WaitingRows(batch, scores, smallest, *integers, np.empty(k), np.empty((k, d)))
        reassign_rows(first, last, table, centers, half_gap, moved, waiting)

    over_ranges(part, chunks, threads_for(X.size * k))
    return float(fell.sum()), int(changed.sum())


def cluster_sums(
    X: np.ndarray, weights: np.ndarray, offset: np.ndarray, labels: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weighted sum of the rows, total weight and number of rows with weight, for each of ``k`` clusters."""
    chunks = max(1, min(64, len(X) // CHUNK_ROWS, MAX_PARTIAL_SUMS // (k * X.shape[1])))
    sums, totals = np.zeros((chunks, k, X.shape[1])), np.zeros((chunks, k))
    counts = np.zeros((chunks, k), dtype=np.int64)
    given = X, weights, offset, labels, sums, totals, counts
    over_ranges(lambda first, last: sum_clusters(first, last, *given), chunks, threads_for(X.size * k))
    return sums.sum(axis=0), totals.sum(axis=0), counts.sum(axis=0)


def move_centers(
    sums: np.ndarray, totals: np.ndarray, counts: np.ndarray, centers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Move ``centers`` to the means of their rows, in place; returns how far each went, and the new half gaps."""
    moved, half_gap = np.zeros(len(centers)), np.full(len(centers), np.inf)
    to_means(sums, totals, counts, centers, moved, half_gap)
    return np.sqrt(moved), 0.5 * np.sqrt(half_gap)


def far_rows(
    X: np.ndarray, weights: np.ndarray, offset: np.ndarray, order: np.ndarray, first: int, uniform: np.ndarray
) -> np.ndarray:
    """``order[first]``, then for every row of ``uniform`` the best of as many candidates as it has numbers in [0, 1).

    Rows are looked through in the given order, and measured from ``offset``.
    """
    n, d = X.shape
    blocks, trials = -(-n // BLOCK), uniform.shape[1]
    turned, squares, mass = np.empty((blocks, d, BLOCK)), *np.empty((2, blocks, BLOCK))
    nearest, found = np.full((blocks, BLOCK), np.inf), np.empty((trials, blocks, BLOCK))
    memory = np.empty((trials, blocks)), np.empty((trials, d)), np.full(trials, first)
    chosen = np.empty(len(uniform) + 1, dtype=np.int64)
    anywhere = (uniform * n).astype(np.int64)
    choose_far_rows(
        X, weights, offset, order, uniform, anywhere, turned, squares, mass, nearest, found, *memory, chosen
    )
    return order[chosen]
