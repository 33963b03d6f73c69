r"""The triangular factor of centered rows, and covariances shrunk towards a sphere.

The factor R of :math:`X - \bar X = QR` has the singular values of the centered rows. It is made block by block, so
nothing as large as X is allocated, and without squaring the condition number as :math:`X^\top X` would.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from margin.foundations.linalg.scatter_factor import BLOCK_ROWS, triangle

__all__ = ["centered_factor", "class_covariance", "ledoit_wolf_shrinkage", "shrunk_covariance"]


def centered_factor(
    X: np.ndarray, codes: np.ndarray, means: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """R, at most (d, d), with R'R = sum of (x - mean of its class)(...)', for ``X`` (n, d) and ``means`` (classes, d).

    With ``weights`` (n,) the terms of the sum are weighted.

    >>> R = centered_factor(np.array([[1.0], [3.0]]), np.array([0, 0]), np.array([[2.0]]))
    >>> (R.T @ R).round(12)
    array([[2.]])
    """
    n, d = X.shape
    size = max(BLOCK_ROWS, 4 * d)

    def center(rows: slice) -> np.ndarray:
        gaps = X[rows] - means[codes[rows]]
        return gaps if weights is None else gaps * np.sqrt(weights[rows])[:, None]

    return triangle((center(slice(start, start + size)) for start in range(0, n, size)), d)


def ledoit_wolf_shrinkage(X: np.ndarray, weights: np.ndarray | None = None) -> float:
    r"""Ledoit and Wolf's fraction of the sphere for centered rows ``X`` (n, d), between 0 and 1.

    .. math:: \rho = \frac{\min(\beta, \delta)}{\delta},\quad
              \delta = \tfrac1d\lVert S - \mu I \rVert_F^2,\quad
              \beta = \tfrac{1}{nd}\Bigl(\tfrac1n \sum_i \lVert x_i \rVert^4 - \lVert S \rVert_F^2\Bigr),\quad
              S = \tfrac1n X^\top X,\ \mu = \tfrac1d \operatorname{tr} S .

    With ``weights`` (n,) sums are weighted and n is the sum of the weights: a row of weight two is two rows.
    """
    n, d = (len(X) if weights is None else float(weights.sum())), X.shape[1]
    S = _second_moments(X, weights)
    fourth = np.average(np.einsum("ij,ij->i", X, X) ** 2, weights=weights)
    beta = (fourth - (S**2).sum()) / (n * d)
    delta = (S**2).sum() / d - (np.trace(S) / d) ** 2
    return 0.0 if delta <= 0 or beta <= 0 else float(min(beta, delta) / delta)


def shrunk_covariance(X: np.ndarray, shrinkage: Any, weights: np.ndarray | None = None) -> np.ndarray:
    r"""Covariance of ``X`` (n, d) with divisor n, moved towards a sphere: :math:`(1 - \rho) S + \rho\mu I`.

    ``shrinkage`` is None, :math:`\rho`, or "auto" for Ledoit and Wolf's on columns scaled to variance one, which are
    scaled back afterwards.
    """
    rows = X - np.average(X, axis=0, weights=weights)
    if shrinkage == "auto":
        scale = np.sqrt(np.average(rows**2, axis=0, weights=weights))
        scale[scale == 0] = 1.0
        rows = rows / scale
        return scale[:, None] * _towards_sphere(rows, ledoit_wolf_shrinkage(rows, weights), weights) * scale
    return _towards_sphere(rows, shrinkage or 0.0, weights)


def class_covariance(
    owner: str, X: np.ndarray, shrinkage: Any, weights: np.ndarray | None = None, estimator: Any = None
) -> np.ndarray:
    """Covariance of the rows of one class by :func:`shrunk_covariance`, or as ``estimator`` learns it (no weights)."""
    if estimator is None:
        return shrunk_covariance(X, shrinkage, weights)
    if weights is not None:
        raise ValueError(f"{owner}: covariance_estimator takes no sample_weight.")
    fitted = clone(estimator, safe=False)  # a copy, if it is no estimator
    fitted.fit(X)
    if not hasattr(fitted, "covariance_"):
        raise ValueError(f"{owner}: covariance_estimator must learn covariance_; {type(fitted).__name__} does not.")
    return np.asarray(fitted.covariance_, dtype=np.float64)


def _towards_sphere(rows: np.ndarray, rho: float, weights: np.ndarray | None) -> np.ndarray:
    S = _second_moments(rows, weights)
    return (1 - rho) * S + rho * np.trace(S) / len(S) * np.eye(len(S))


def _second_moments(rows: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    if weights is None:
        return rows.T @ rows / len(rows)
    weighted = rows * np.sqrt(weights)[:, None]
    return weighted.T @ weighted / weights.sum()
