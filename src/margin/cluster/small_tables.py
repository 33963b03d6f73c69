r"""The inner loops of k-means for small tables: every distance in one matrix product, no bounds to keep.

Same functions as in :mod:`margin.cluster.kmeans_reference`, for rows that are relative to the offset already. Bounds
save distances, but below some two million of them a pass of NumPy is cheaper than keeping bounds, and compiled loops
would not repay being loaded.
"""

from __future__ import annotations

import numpy as np

from margin.cluster.kmeans_reference import to_means

__all__ = ["add_changes", "cluster_sums", "move_centers", "reassign"]

BLOCK_SCORES = 2**16  # scores of a block: half of a second-level cache


def move_centers(
    sums: np.ndarray, totals: np.ndarray, counts: np.ndarray, centers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Move ``centers`` to the means of their rows, in place; returns how far each went. Nobody asks for half gaps."""
    return to_means(sums, totals, counts, centers), np.zeros(len(centers))


def reassign(
    x: np.ndarray,
    weights: np.ndarray,
    offset: np.ndarray,  # noqa: ARG001
    centers: np.ndarray,
    half_gap: np.ndarray,  # noqa: ARG001
    moved: np.ndarray,  # noqa: ARG001
    labels: np.ndarray,
    upper: np.ndarray,  # noqa: ARG001
    lower: np.ndarray,  # noqa: ARG001
    came_from: np.ndarray,
) -> tuple[float, int]:
    """Give every row to its nearest center. Changes ``labels`` and ``came_from`` (the label left, or -1) in place;
    returns by how much the inertia fell and how many rows changed. The bounds are neither used nor kept."""
    came_from[:] = -1
    norms = np.einsum("ij,ij->i", centers, centers)[:, None]
    turned = -2.0 * centers
    first = bool(labels[0] < 0)  # rows seen for the first time
    nearest, open_rows, block = [], [], max(256, BLOCK_SCORES // len(centers))
    for start in range(0, len(x), block):
        scores = turned @ x[start : start + block].T  # (k, b): squared distances minus |x|^2, minima go along vectors
        scores += norms
        if not first:
            own = scores.ravel()[labels[start : start + block] * scores.shape[1] + np.arange(scores.shape[1])]
            rows = np.flatnonzero(own > scores.min(axis=0))
            open_rows.append(start + rows)
            scores = scores[:, rows]
        nearest.append(scores.argmin(axis=0))
    best = np.concatenate(nearest).astype(labels.dtype)
    if first:
        labels[:] = best
        return -float(weights @ _squared_gaps(x, centers, labels)), len(x)
    return _move(x, weights, centers, labels, came_from, np.concatenate(open_rows), best)


def _move(
    x: np.ndarray,
    weights: np.ndarray,
    centers: np.ndarray,
    labels: np.ndarray,
    came_from: np.ndarray,
    rows: np.ndarray,
    best: np.ndarray,
) -> tuple[float, int]:
    """Give ``rows`` to the centers ``best`` where these are really nearer."""
    here = x[rows]
    before, after = _squared_gaps(here, centers, labels[rows]), _squared_gaps(here, centers, best)
    # A rounding error in the scores must not move a row away from its center: the exact distances decide.
    nearer = after < before
    rows = rows[nearer]
    came_from[rows], labels[rows] = labels[rows], best[nearer]
    return float(weights[rows] @ (before[nearer] - after[nearer])), len(rows)


def _squared_gaps(x: np.ndarray, centers: np.ndarray, labels: np.ndarray) -> np.ndarray:
    gaps = x - centers[labels]
    return np.einsum("ij,ij->i", gaps, gaps)


def cluster_sums(
    x: np.ndarray,
    weights: np.ndarray,
    offset: np.ndarray,  # noqa: ARG001
    labels: np.ndarray,
    k: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weighted sum of the rows, total weight and number of rows with weight, for each of ``k`` clusters."""
    member = np.zeros((k, len(x)))
    member[labels, np.arange(len(x))] = weights
    return member @ x, member.sum(axis=1), np.bincount(labels[weights > 0], minlength=k)


def add_changes(
    x: np.ndarray,
    weights: np.ndarray,
    offset: np.ndarray,  # noqa: ARG001
    labels: np.ndarray,
    came_from: np.ndarray,
    sums: np.ndarray,
    totals: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Bring sums, totals and counts up to date with the rows that changed cluster, in place."""
    rows = np.flatnonzero(came_from >= 0)
    rows = rows[weights[rows] > 0]
    everyone, change = np.arange(len(rows)), np.zeros((len(counts), len(rows)))
    change[labels[rows], everyone], change[came_from[rows], everyone] = 1.0, -1.0
    counts += change.sum(axis=1).astype(counts.dtype)
    change *= weights[rows]
    sums += change @ x[rows]
    totals += change.sum(axis=1)
    empty = counts == 0  # what rounding leaves behind in an empty cluster
    sums[empty], totals[empty] = 0.0, 0.0
