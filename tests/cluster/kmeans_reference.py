r"""The inner loops of k-means and k-means++ in NumPy: the definition.

Rows are compared in coordinates relative to ``offset`` (the mean of the data), because
:math:`\lVert x-c \rVert^2 = \lVert x \rVert^2 - 2 x^\top c + \lVert c \rVert^2` loses digits far from the origin. The
same functions compiled stand in :mod:`margin.cluster.compiled_loops`; a test holds the two together.
"""

from __future__ import annotations

import numpy as np

from margin.cluster.plusplus import _draw

__all__ = ["add_changes", "cluster_sums", "far_rows", "half_gaps", "move_centers", "reassign", "to_means"]

BLOCK = 4096  # rows whose distances to all centers are held at once


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
    """Give every row to its nearest center; see :func:`margin.cluster.compiled_loops.reassign`."""
    norms = _row_squares(centers)
    drop = np.full(len(centers), moved.max())  # how much nearer another center may have come
    top = int(moved.argmax())
    drop[top] = np.delete(moved, top).max(initial=0.0)
    came_from[:] = -1
    fell, changed = 0.0, 0
    for start in range(0, len(X), BLOCK):
        block = slice(start, start + BLOCK)
        own, u, bound = labels[block], upper[block], lower[block]
        if own[0] < 0:
            open_rows = np.arange(len(own))
        else:
            u += moved[own]
            bound -= drop[own]
            limit = np.maximum(bound, half_gap[own])
            loose = np.flatnonzero(u > limit)
            u[loose] = np.sqrt(_row_squares(X[block][loose] - offset - centers[own[loose]]))
            open_rows = loose[u[loose] > limit[loose]]
        if len(open_rows):
            gain, moves = _nearest(
                X, weights, offset, centers, norms, labels, upper, lower, came_from, start + open_rows
            )
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
    """All distances of the given rows: their nearest and second nearest centers."""
    x = X[rows] - offset
    scores = x @ (-2 * centers.T)
    scores += norms  # squared distance minus |x|^2
    best = scores.argmin(axis=1)
    exact = np.sqrt(_row_squares(x - centers[best]))
    own, before = labels[rows], upper[rows]
    # A rounding error in the scores must not move a row away from its center: the exact distances decide.
    moves = (own < 0) | ((best != own) & (exact < before))
    keeps = ~moves & (best != own)
    everyone = np.arange(len(rows))
    smallest = scores[everyone, best]
    scores[everyone, best] = np.inf
    nearest_other = np.where(keeps, smallest, scores.min(axis=1))
    squares = _row_squares(x)
    rounding = (X.shape[1] + 4) * np.finfo(float).eps * (squares + norms.max())
    lower[rows] = np.sqrt(np.maximum(squares + nearest_other - rounding, 0.0))
    upper[rows] = np.where(keeps, before, exact)
    moved_rows, old = rows[moves], own[moves]
    labels[moved_rows], came_from[moved_rows] = best[moves], old
    fell = weights[moved_rows] @ (np.where(old < 0, 0.0, before[moves] ** 2) - exact[moves] ** 2)
    return float(fell), int(moves.sum())


def _row_squares(rows: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", rows, rows)


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


def move_centers(
    sums: np.ndarray, totals: np.ndarray, counts: np.ndarray, centers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Move ``centers`` to the means of their rows, in place; returns how far each went, and the new half gaps."""
    moved = to_means(sums, totals, counts, centers)
    return moved, half_gaps(centers)


def to_means(sums: np.ndarray, totals: np.ndarray, counts: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Move ``centers`` of clusters that have rows, in place; returns how far."""
    filled = counts > 0
    means = np.where(filled[:, None], sums / np.where(filled, totals, 1.0)[:, None], centers)
    moved = np.sqrt(_row_squares(means - centers))
    centers[:] = means
    return moved


def half_gaps(centers: np.ndarray) -> np.ndarray:
    """Half the distance from every center to the nearest other one, a little less than rounding could make it."""
    squares = _row_squares(centers)
    gaps = squares[:, None] + squares - 2 * centers @ centers.T
    gaps -= (centers.shape[1] + 4) * np.finfo(float).eps * (squares[:, None] + squares)
    np.fill_diagonal(gaps, np.inf)
    return 0.5 * np.sqrt(np.maximum(gaps.min(axis=1), 0.0))


def far_rows(
    X: np.ndarray, weights: np.ndarray, offset: np.ndarray, order: np.ndarray, first: int, uniform: np.ndarray
) -> np.ndarray:
    """``order[first]``, then for every row of ``uniform`` the best of as many candidates as it has numbers in [0, 1).

    Rows are looked through in the given order, and measured from ``offset``.
    """
    x, weights = X[order] - offset, weights[order]
    squares, ones = np.einsum("ij,ij->i", x, x)[:, None], np.ones((len(x), 1))
    # |x - y|^2 as one product: (x, |x|^2, 1)'(-2 y, 1, |y|^2).
    left, right = np.hstack([x, squares, ones]), np.hstack([-2.0 * x, ones, squares]).T
    chosen, candidates = [first], np.array([first])
    nearest = _squared_distances(left, right, candidates)[0]
    for numbers in uniform:
        candidates = _draw(weights * nearest, numbers)
        distances = _squared_distances(left, right, candidates)  # (trials, n)
        np.minimum(nearest, distances, out=distances)
        best = int((distances @ weights).argmin())
        chosen.append(int(candidates[best]))
        nearest = distances[best]
    return order[chosen]


def _squared_distances(left: np.ndarray, right: np.ndarray, rows: np.ndarray) -> np.ndarray:
    squared = left[rows] @ right
    squared[np.arange(len(rows)), rows] = 0.0
    return np.maximum(squared, 0.0, out=squared)
