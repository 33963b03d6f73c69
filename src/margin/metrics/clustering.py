r"""How well two labelings of the same rows agree, and how tight and separate the clusters of points are.

Agreement rests on the contingency counts :math:`n_{ij}`, the rows in cluster :math:`i` of one labeling and :math:`j`
of the other; names of clusters play no role. A label for noise (such as -1) is a cluster like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin.metrics.arguments import UndefinedMetricError, finite, labels_pair, points_and_labels

__all__ = [
    "adjusted_rand",
    "calinski_harabasz",
    "completeness",
    "davies_bouldin",
    "homogeneity",
    "inertia",
    "normalized_mutual_information",
    "silhouette",
    "silhouette_samples",
    "v_measure",
]

#: Entries of the block of distances held at once: 32 MiB of float64.
_BLOCK_ENTRIES = 2**22
#: A squared distance below this part of the squared norms has lost six or more of its sixteen digits.
_CANCELLATION = 1e-6


def adjusted_rand(labels_true: Any, labels_pred: Any) -> float:
    r"""Rand index corrected for chance: 1 for equal partitions, 0 on average for independent ones.

    With :math:`\binom{n_{ij}}2` pairs together in both, :math:`a` and :math:`b` pairs together in each labeling and
    :math:`e = ab/\binom n2`, it is :math:`\bigl(\sum\binom{n_{ij}}2 - e\bigr) / \bigl(\tfrac12(a + b) - e\bigr)`.

    >>> adjusted_rand([0, 0, 1, 1], ["b", "b", "a", "a"]), adjusted_rand([0, 0, 1, 1], [0, 1, 0, 1])
    (1.0, -0.5)
    """
    joint, rows, columns = _contingency("adjusted_rand", labels_true, labels_pred)
    # Python's integers: a * b is of order n^4 and must not overflow or round.
    together, a, b, pairs = (
        sum(m * (m - 1) // 2 for m in counts.tolist()) for counts in (joint, rows, columns, rows.sum(keepdims=True))
    )
    if a == b == together:
        return 1.0
    return 2 * (together * pairs - a * b) / ((a + b) * pairs - 2 * a * b)


def normalized_mutual_information(labels_true: Any, labels_pred: Any, average: str = "arithmetic") -> float:
    r"""Mutual information over a mean of the two entropies, :math:`I(U; V)/\operatorname{mean}(H(U), H(V))`.

    ``average`` is "arithmetic", "geometric", "min" or "max". Two single clusters agree fully: 1.
    """
    means: dict[str, Callable[[float, float], float]] = {
        "arithmetic": lambda u, v: (u + v) / 2,
        "geometric": lambda u, v: float(np.sqrt(u * v)),
        "min": min,
        "max": max,
    }
    if average not in means:
        raise ValueError(f"normalized_mutual_information: average must be one of {', '.join(means)}; got {average!r}.")
    information, h_true, h_pred = _information("normalized_mutual_information", labels_true, labels_pred)
    if h_true == h_pred == 0:
        return 1.0
    scale = float(means[average](h_true, h_pred))
    return min(information / scale, 1.0) if scale > 0 else 0.0


def homogeneity(labels_true: Any, labels_pred: Any) -> float:
    r"""Each cluster holds one class only: :math:`1 - H(\text{class} \mid \text{cluster})/H(\text{class})`."""
    information, h_true, _ = _information("homogeneity", labels_true, labels_pred)
    return min(information / h_true, 1.0) if h_true > 0 else 1.0


def completeness(labels_true: Any, labels_pred: Any) -> float:
    r"""Each class lies in one cluster only: :math:`1 - H(\text{cluster} \mid \text{class})/H(\text{cluster})`."""
    information, _, h_pred = _information("completeness", labels_true, labels_pred)
    return min(information / h_pred, 1.0) if h_pred > 0 else 1.0


def v_measure(labels_true: Any, labels_pred: Any, beta: float = 1.0) -> float:
    r"""Weighted harmonic mean of homogeneity and completeness, :math:`(1 + \beta)hc/(\beta h + c)`."""
    if not isinstance(beta, int | float | np.number) or not 0 <= beta < np.inf:
        raise ValueError(f"v_measure: beta must be a number of at least 0; got {beta!r}.")
    h, c = homogeneity(labels_true, labels_pred), completeness(labels_true, labels_pred)
    return (1 + beta) * h * c / (beta * h + c) if beta * h + c > 0 else 0.0


def silhouette_samples(X: Any, labels: Any) -> np.ndarray:
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


def silhouette(X: Any, labels: Any) -> float:
    """Mean silhouette over all points: near 1 for tight and separate clusters, below 0 for wrong ones.

    >>> round(silhouette([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]), 3)
    0.9
    """
    return float(silhouette_samples(X, labels).mean())


def davies_bouldin(X: Any, labels: Any) -> float:
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


def calinski_harabasz(X: Any, labels: Any) -> float:
    r"""Spread between clusters over spread within, each per degree of freedom; more is better.

    .. math:: \frac{\sum_c n_c\|m_c - m\|^2/(k - 1)}{\sum_c\sum_{i\in c}\|x_i - m_c\|^2/(n - k)}
    """
    points, codes, sizes = _clusters("calinski_harabasz", X, labels)
    centers = _centers(points, codes, sizes)
    between = np.sum(sizes[:, None] * (centers - points.mean(axis=0)) ** 2)
    within = np.sum((points - centers[codes]) ** 2)
    k, n = len(sizes), len(points)
    return 1.0 if within == 0 else float(between * (n - k) / (within * (k - 1)))


def inertia(X: Any, labels: Any, centers: Any = None) -> float:
    r"""Sum of squared distances to the center of the own cluster, :math:`\sum_i\|x_i - m_{c(i)}\|^2`.

    Centers are the clusters' means unless given, one row per sorted label.
    """
    points, codes, sizes = points_and_labels("inertia", X, labels)
    means = _centers(points, codes, sizes) if centers is None else finite("inertia", "centers", centers, ndim=(2,))
    if means.shape != (len(sizes), points.shape[1]):
        wanted = (len(sizes), points.shape[1])
        raise ValueError(f"inertia: centers must have shape {wanted}, a row per label; got {means.shape}.")
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


def _contingency(where: str, first: Any, second: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts of the pairs of labels that occur, and of each labeling alone."""
    true, predicted = (labels_pair(where, labels, labels)[1] for labels in (first, second))
    if len(true) != len(predicted):
        raise ValueError(f"{where}: the labelings must have equal length; got {len(true)} and {len(predicted)}.")
    k = int(predicted.max()) + 1
    _, joint = np.unique(true * k + predicted, return_counts=True)
    return joint, np.bincount(true), np.bincount(predicted)


def _information(where: str, first: Any, second: Any) -> tuple[float, float, float]:
    r"""(mutual information, entropy, entropy) in nats, by :math:`I = H(U) + H(V) - H(U, V)`."""
    joint, rows, columns = _contingency(where, first, second)
    h_joint, h_true, h_pred = (_entropy(counts) for counts in (joint, rows, columns))
    return max(h_true + h_pred - h_joint, 0.0), h_true, h_pred


def _entropy(counts: np.ndarray) -> float:
    if len(counts) == 1:
        return 0.0
    p = counts / counts.sum()
    return float(-np.sum(p * np.log(p)))
