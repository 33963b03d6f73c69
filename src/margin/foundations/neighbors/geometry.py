r"""What "near" means: six metrics, each a Minkowski distance after a map of the rows.

.. math:: d_p(x, q) = \Bigl(\sum_j |x_j - q_j|^p\Bigr)^{1/p},\qquad d_\infty(x, q) = \max_j |x_j - q_j|

"euclidean" is p = 2, "manhattan" p = 1, "chebyshev" p = ∞, "minkowski" any p of at least 1. "mahalanobis" is the
Euclidean distance of :math:`L^{-1}x` with :math:`\Sigma = LL^\top`. "cosine" is :math:`1 - \cos\angle(x, q)`, half the
squared Euclidean distance of the rows divided by their lengths; a row of zeros (a text without a known word) has cosine
0 with every other row, and distance 0 from another such one. A search therefore knows one thing only, the *power*
:math:`\sum_j |x_j - q_j|^p` (or the maximum), and turns it into a distance at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.foundations.statistics import CoMoments, whitening

__all__ = ["METRICS", "Geometry", "distance_matrix", "geometry"]

METRICS = ("minkowski", "euclidean", "manhattan", "chebyshev", "cosine", "mahalanobis")
EXPONENTS = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": np.inf, "cosine": 2.0, "mahalanobis": 2.0}
BLOCK_VALUES = 2**15  # rows are mapped in blocks of so many numbers, which stay in the cache


@dataclass(frozen=True)
class Geometry:
    """A metric as a map of the rows and the exponent of a Minkowski distance between their images."""

    exponent: float
    whitener: np.ndarray | None = None  # (d, d), lower triangular
    angular: bool = False

    def image(self, rows: np.ndarray) -> np.ndarray:
        """``rows`` (n, d) where the metric is a Minkowski distance; equal rows have equal images, to the last bit."""
        if self.angular:
            return _directions(rows)
        return rows if self.whitener is None else _map_rows(rows, self.whitener)

    def distances(self, powers: np.ndarray) -> np.ndarray:
        """The distances whose powers are known."""
        if self.angular:
            return 0.5 * powers
        if self.exponent in (1.0, np.inf):
            return powers
        if self.exponent == 2.0:
            return np.sqrt(powers)
        return np.cbrt(powers) if self.exponent == 3.0 else powers ** (1 / self.exponent)

    def power(self, distance: float) -> float:
        """The power that belongs to a distance."""
        if self.angular:
            return 2.0 * distance
        return distance if self.exponent == np.inf else distance**self.exponent


def geometry(X: np.ndarray, metric: str, p: float = 2.0, covariance: Any = None) -> Geometry:
    """The geometry of ``metric``; the covariance of "mahalanobis" is that of ``X`` (n, d) unless it is given."""
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}; got {metric!r}.")
    if covariance is not None and metric != "mahalanobis":
        raise ValueError(f"covariance belongs to metric 'mahalanobis'; got metric {metric!r}.")
    if metric == "minkowski":
        if not p >= 1:  # infinity is the metric "chebyshev"; NaN is neither
            raise ValueError(f"p must be a number of at least 1 (below it there is no triangle inequality); got {p}.")
        return Geometry(float(p))
    if metric != "mahalanobis":
        return Geometry(EXPONENTS[metric], angular=metric == "cosine")
    return Geometry(2.0, whitener=_whitener(X, covariance))


def distance_matrix(
    X: np.ndarray, Q: np.ndarray, metric: str = "euclidean", p: float = 2.0, covariance: Any = None
) -> np.ndarray:
    """Distances of every row of ``Q`` (m, d) to every row of ``X`` (n, d), shape (m, n), by the definition.

    >>> distance_matrix(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0]]), "manhattan")
    array([[0., 7.]])
    """
    space = geometry(X, metric, p, covariance)
    gaps = np.abs(space.image(Q)[:, None, :] - space.image(X)[None, :, :])
    powers = gaps.max(axis=2) if space.exponent == np.inf else (gaps**space.exponent).sum(axis=2)
    return space.distances(powers)


def _whitener(X: np.ndarray, covariance: Any) -> np.ndarray:
    d = X.shape[1]
    if covariance is None:
        if len(X) < 2:
            raise ValueError(f"a covariance cannot be learned from {len(X)} sample; give covariance, or more rows.")
        return whitening(CoMoments.of(X).covariance(ddof=1))
    if np.shape(covariance) != (d, d):
        raise ValueError(f"covariance must have shape {(d, d)}; got {np.shape(covariance)}.")
    return whitening(covariance)


def _directions(rows: np.ndarray) -> np.ndarray:
    """Rows divided by their lengths; a row of zeros has a direction of its own, at right angles to all others."""
    # Divided by the largest entry first: squares of very large and very small numbers leave the range of a float.
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    empty = largest == 0
    scaled = np.column_stack([rows / np.where(empty, 1.0, largest), empty])
    return scaled / np.sqrt((scaled**2).sum(axis=1, keepdims=True))


def _map_rows(rows: np.ndarray, J: np.ndarray) -> np.ndarray:
    """``rows @ J.T`` summed column by column: BLAS may round equal rows differently, and ties would break at random."""
    out = np.zeros((len(rows), len(J)))
    size = max(1, BLOCK_VALUES // len(J))
    for start in range(0, len(rows), size):
        block, into = rows[start : start + size], out[start : start + size]
        for j, column in enumerate(J.T):
            into[:, j:] += block[:, j, None] * column[j:]  # J is lower triangular
    return out
