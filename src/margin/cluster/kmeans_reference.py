r"""The inner loops of k-means in NumPy: the definition, and the fast choice for small tables.

Rows are compared in coordinates relative to ``offset`` (the mean of the data), because
:math:`\lVert x-c \rVert^2 = \lVert x \rVert^2 - 2 x^\top c + \lVert c \rVert^2` loses digits far from the origin. The
same functions compiled stand in :mod:`margin.cluster.kmeans_kernels`; a test holds the two together.
"""

from __future__ import annotations

import numpy as np

__all__ = ["add_changes", "cluster_sums", "reassign"]

BLOCK = 2048  # rows whose distances to all centers are held at once


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
    norms = (centers**2).sum(axis=1)
    top = int(moved.argmax())
    second = float(np.delete(moved, top).max(initial=0.0))
    fell, changed = 0.0, 0
    for start in range(0, len(X), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(X)))
        came_from[rows] = -1
        own = labels[rows]
        seen = own >= 0
        lower[rows] -= np.where(own == top, second, moved[top])
        upper[rows] += moved[own]
        bound = np.where(seen, np.maximum(lower[rows], half_gap[own]), -1.0)
        upper[rows[~seen]] = np.inf
        loose = seen & (upper[rows] > bound)
        distance = X[rows[loose]] - offset - centers[own[loose]]
        upper[rows[loose]] = np.sqrt((distance**2).sum(axis=1))
        open_rows = rows[upper[rows] > bound]
        if len(open_rows):
            gain, moves = _nearest(X, weights, offset, centers, norms, labels, upper, lower, came_from, open_rows)
            fell, changed = fell + gain, changed + moves
    return fell, changed


def _nearest(
    X: np.ndarray,
    weights: np.ndarray,
    offset: np.ndarray,
    centers: np.ndarray,
    norms: np.ndarray,
    labels: np.ndarray,
    upper: np.ndarray,
    lower: np.ndarray,
    came_from: np.ndarray,
    rows: np.ndarray,
) -> tuple[float, int]:
    x = X[rows] - offset
    squares = (x**2).sum(axis=1)
    scores = norms - 2 * (x @ centers.T)  # squared distance minus |x|^2
    best = scores.argmin(axis=1)
    everyone = np.arange(len(rows))
    exact = np.sqrt(((x - centers[best]) ** 2).sum(axis=1))
    own = labels[rows]
    # A rounding error in the scores must not move a row away from its center: the exact distances decide.
    moves = (own < 0) | ((best != own) & (exact < upper[rows]))
    keeps = ~moves & (best != own)
    nearest_other = scores[everyone, best].copy()
    scores[everyone, best] = np.inf
    nearest_other = np.where(keeps, nearest_other, scores.min(axis=1))
    rounding = (X.shape[1] + 4) * np.finfo(float).eps * (squares + norms.max())
    lower[rows] = np.sqrt(np.maximum(squares + nearest_other - rounding, 0.0))
    before = np.where(own < 0, 0.0, upper[rows] ** 2)
    fell = float((weights[rows] * (before - exact**2))[moves].sum())
    came_from[rows[moves]] = own[moves]
    labels[rows[moves]] = best[moves]
    upper[rows] = np.where(keeps, upper[rows], exact)
    return fell, int(moves.sum())


def cluster_sums(
    X: np.ndarray, weights: np.ndarray, offset: np.ndarray, labels: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weighted sum of the rows, total weight and number of rows with weight, for each of ``k`` clusters."""
    sums = np.zeros((k, X.shape[1]))
    for start in range(0, len(X), BLOCK):
        part = slice(start, start + BLOCK)
        np.add.at(sums, labels[part], weights[part, None] * (X[part] - offset))
    totals = np.bincount(labels, weights, minlength=k)
    return sums, totals, np.bincount(labels[weights > 0], minlength=k)


def add_changes(
    X: np.ndarray,
    weights: np.ndarray,
    offset: np.ndarray,
    labels: np.ndarray,
    came_from: np.ndarray,
    sums: np.ndarray,
    totals: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Bring sums, totals and counts up to date with the rows that changed cluster, in place and in row order."""
    rows = np.flatnonzero(came_from >= 0)
    rows = rows[weights[rows] > 0]
    parts = weights[rows, None] * (X[rows] - offset)
    for sign, clusters in ((-1.0, came_from[rows]), (1.0, labels[rows])):
        np.add.at(sums, clusters, sign * parts)
        np.add.at(totals, clusters, sign * weights[rows])
        np.add.at(counts, clusters, int(sign))
    empty = counts == 0  # what rounding leaves behind in an empty cluster
    sums[empty], totals[empty] = 0.0, 0.0
