r"""How tight and separate the clusters of points are. A label for noise (such as -1) is a cluster like any other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from margin.core.docstrings import with_parameters
from margin.metrics.arguments import UndefinedMetricError, finite, points_and_labels
from margin.metrics.parameter_texts import POINTS

__all__ = [
    "calinski_harabasz",
    "davies_bouldin",
    "inertia",
    "silhouette",
    "silhouette_samples",
]

#: Entries of the block of distances held at once: 32 MiB of float64.
_BLOCK_ENTRIES = 2**22
#: A squared distance below this part of the squared norms has lost six or more of its sixteen digits.
_CANCELLATION = 1e-6


@with_parameters(POINTS)
def silhouette_samples(X: ArrayLike, labels: ArrayLike) -> np.ndarray:
    r"""Silhouette of each point, :math:`(b - a)/\max(a, b)`.

    :math:`a` is its mean Euclidean distance to the others of its cluster and :math:`b` that to the nearest other
    cluster; alone in a cluster it has 0. Distances are made in blocks of rows: memory is O(n), time O(n^2 d).
    """
    points, codes, sizes = _clusters("silhouette", X, labels)
    n, k = len(points), len(sizes)
    centered = points - points.mean(axis=0)  # so that few distances need the exact form
    squares = np.einsum("ij,ij->i", centered, centered)
    member = np.zeros((n, k))
    member[np.arange(n), codes] = 1.0
    result = np.empty(n)
    step = max(1, _BLOCK_ENTRIES // n)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        distances = _distances(points, centered, squares, rows)  # (block, n)
        sums = distances @ member  # (block, k): total distance to each cluster
        own, at = codes[rows], np.arange(len(rows))
        inside = sums[at, own] / np.maximum(sizes[own] - 1, 1)
        means = sums / sizes
        means[at, own] = np.inf
        outside = means.min(axis=1)
        larger = np.maximum(inside, outside)
        value = np.divide(outside - inside, larger, out=np.zeros(len(rows)), where=larger > 0)
        result[rows] = np.where(sizes[own] > 1, value, 0.0)
    return result


@with_parameters(POINTS)
def silhouette(X: ArrayLike, labels: ArrayLike) -> float:
    """Mean silhouette over all points: near 1 for tight and separate clusters, below 0 for wrong ones.

    Examples
    --------
    >>> round(silhouette([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]), 3)
    0.9
    """
    return float(silhouette_samples(X, labels).mean())


@with_parameters(POINTS)
def davies_bouldin(X: ArrayLike, labels: ArrayLike) -> float:
    r"""Mean over clusters of the worst :math:`(s_i + s_j)/d_{ij}`: spreads over distance of centers; less is better."""
    points, codes, sizes = _clusters("davies_bouldin", X, labels)
    centers = _centers(points, codes, sizes)
    spread = np.bincount(codes, weights=np.linalg.norm(points - centers[codes], axis=1)) / sizes
    distances = np.linalg.norm(centers[:, None] - centers[None], axis=2)  # (k, k)
    np.fill_diagonal(distances, np.inf)
    if np.allclose(spread, 0) or np.allclose(distances[np.isfinite(distances)], 0):
        return 0.0
    distances[distances == 0] = np.inf
    return float(np.mean(np.max((spread[:, None] + spread) / distances, axis=1)))


@with_parameters(POINTS)
def calinski_harabasz(X: ArrayLike, labels: ArrayLike) -> float:
    r"""Spread between clusters over spread within, each per degree of freedom; more is better.

    .. math:: \frac{\sum_c n_c\|m_c - m\|^2/(k - 1)}{\sum_c\sum_{i\in c}\|x_i - m_c\|^2/(n - k)}
    """
    points, codes, sizes = _clusters("calinski_harabasz", X, labels)
    centers = _centers(points, codes, sizes)
    between = np.sum(sizes[:, None] * (centers - points.mean(axis=0)) ** 2)
    within = np.sum((points - centers[codes]) ** 2)
    k, n = len(sizes), len(points)
    return 1.0 if within == 0 else float(between * (n - k) / (within * (k - 1)))


@with_parameters(POINTS)
def inertia(X: ArrayLike, labels: ArrayLike, centers: ArrayLike | None = None) -> float:
    r"""Sum of squared distances to the center of the own cluster, :math:`\sum_i\|x_i - m_{c(i)}\|^2`.

    Centers are the clusters' means unless given, one row per sorted label.

    Parameters
    ----------
    centers : array-like of shape (n_clusters, n_features), optional
        The centers; by default the means of the clusters.
    """
    points, codes, sizes = points_and_labels("inertia", X, labels)
    means = _centers(points, codes, sizes) if centers is None else finite("inertia", "centers", centers, ndim=(2,))
    if means.shape != (len(sizes), points.shape[1]):
        shape = (len(sizes), points.shape[1])
        raise ValueError(f"inertia: centers must have shape {shape}, a row per label; got {means.shape}.")
    return float(np.sum((points - means[codes]) ** 2))


def _distances(points: np.ndarray, centered: np.ndarray, squares: np.ndarray, rows: np.ndarray) -> np.ndarray:
    r"""Distances of some points to all, by :math:`\|x\|^2 + \|y\|^2 - 2x\cdot y` where that keeps enough digits."""
    scale = squares[rows, None] + squares
    result = scale - 2 * centered[rows] @ centered.T
    near, far = np.nonzero(result <= _CANCELLATION * scale)
    exact = np.zeros(len(near))
    for column in points.T:
        exact += (column[rows[near]] - column[far]) ** 2
    result[near, far] = exact
    return np.sqrt(result, out=result)


def _clusters(where: str, X: Any, labels: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    points, codes, sizes = points_and_labels(where, X, labels)
    if not 2 <= len(sizes) < len(points):
        raise UndefinedMetricError(
            f"{where}: there must be 2 to {len(points) - 1} clusters for {len(points)} points; got {len(sizes)}."
        )
    return points, codes, sizes


def _centers(points: np.ndarray, codes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    sums = np.column_stack([np.bincount(codes, weights=column, minlength=len(sizes)) for column in points.T])
    return sums / sizes[:, None]
