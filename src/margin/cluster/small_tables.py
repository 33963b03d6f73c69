r"""The inner loops of k-means for small tables: every distance in one matrix product, no bounds to keep.

Same functions as in :mod:`margin.cluster.kmeans_reference`. Bounds save distances, but below some two million of them a
pass of NumPy is cheaper than keeping bounds, and compiled loops would not repay being loaded.
"""

from __future__ import annotations

import numpy as np

from margin.cluster.kmeans_reference import add_changes, cluster_sums, to_means

__all__ = ["add_changes", "cluster_sums", "move_centers", "reassign"]

BLOCK_ROWS = 1024  # rows, centers and scores of a block stay in the second-level cache


def move_centers(
    sums: np.ndarray, totals: np.ndarray, counts: np.ndarray, centers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Move ``centers`` to the means of their rows, in place; returns how far each went. Nobody asks for half gaps."""
    return to_means(sums, totals, counts, centers), np.zeros(len(centers))


def reassign(
    X: np.ndarray,
    weights: np.ndarray,
    offset: np.ndarray,
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
    fell, changed = 0.0, 0
    for start in range(0, len(X), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        x, own = X[part] - offset, labels[part]
        scores = turned @ x.T  # (k, b): squared distances minus |x|^2, minima go along vectors
        scores += norms
        if own[0] < 0:  # rows seen for the first time
            own[:] = scores.argmin(axis=0)
            fell -= float(weights[part] @ _squared_gaps(x, centers, own))
            changed += len(own)
            continue
        rows = np.flatnonzero(scores[own, np.arange(len(own))] > scores.min(axis=0))
        if len(rows):
            best = scores[:, rows].argmin(axis=0).astype(labels.dtype)
            gain, moves = _move(x[rows], weights[part], centers, own, came_from[part], rows, best)
            fell, changed = fell + gain, changed + moves
    return fell, changed


def _move(
    x: np.ndarray,
    weights: np.ndarray,
    centers: np.ndarray,
    labels: np.ndarray,
    came_from: np.ndarray,
    rows: np.ndarray,
    best: np.ndarray,
) -> tuple[float, int]:
    """Give ``rows`` (whose values are ``x``) to the centers ``best`` where these are really nearer."""
    before, after = _squared_gaps(x, centers, labels[rows]), _squared_gaps(x, centers, best)
    # A rounding error in the scores must not move a row away from its center: the exact distances decide.
    nearer = after < before
    rows = rows[nearer]
    came_from[rows], labels[rows] = labels[rows], best[nearer]
    return float(weights[rows] @ (before[nearer] - after[nearer])), len(rows)


def _squared_gaps(x: np.ndarray, centers: np.ndarray, labels: np.ndarray) -> np.ndarray:
    gaps = x - centers[labels]
    return np.einsum("ij,ij->i", gaps, gaps)
