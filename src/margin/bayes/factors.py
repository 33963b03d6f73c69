r"""The triangular factor of centered rows, and covariances shrunk towards a sphere.

The factor R of :math:`X - \bar X = QR` has the singular values of the centered rows. It is made block by block, so
nothing as large as X is allocated, and without squaring the condition number as :math:`X^\top X` would.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import qr

__all__ = ["centered_factor", "ledoit_wolf_shrinkage", "shrunk_covariance"]

BLOCK_ROWS = 1024  # at least four times the columns, so that the factor so far is a small part of each step


def centered_factor(X: np.ndarray, codes: np.ndarray, means: np.ndarray) -> np.ndarray:
    """R, at most (d, d), with R'R = sum of (x - mean of its class)(...)', for ``X`` (n, d) and ``means`` (classes, d).

    >>> R = centered_factor(np.array([[1.0], [3.0]]), np.array([0, 0]), np.array([[2.0]]))
    >>> (R.T @ R).round(12)
    array([[2.]])
    """
    n, d = X.shape
    size = max(BLOCK_ROWS, 4 * d)
    R = np.empty((0, d))
    for start in range(0, n, size):
        rows = slice(start, start + size)
        R = qr(np.vstack([R, X[rows] - means[codes[rows]]]), mode="r", overwrite_a=True)[0][:d]
    return R


def ledoit_wolf_shrinkage(X: np.ndarray) -> float:
    r"""Ledoit and Wolf's share of the sphere for centered rows ``X`` (n, d), between 0 and 1.

    .. math:: \rho = \frac{\min(\beta, \delta)}{\delta},\quad
              \delta = \tfrac1d\lVert S - \mu I \rVert_F^2,\quad
              \beta = \tfrac{1}{nd}\Bigl(\tfrac1n \sum_i \lVert x_i \rVert^4 - \lVert S \rVert_F^2\Bigr),\quad
              S = \tfrac1n X^\top X,\ \mu = \tfrac1d \operatorname{tr} S .
    """
    n, d = X.shape
    S = X.T @ X / n
    fourth = np.mean(np.einsum("ij,ij->i", X, X) ** 2)
    beta = (fourth - (S**2).sum()) / (n * d)
    delta = (S**2).sum() / d - (np.trace(S) / d) ** 2
    return 0.0 if delta <= 0 or beta <= 0 else float(min(beta, delta) / delta)


def shrunk_covariance(X: np.ndarray, shrinkage: Any) -> np.ndarray:
    r"""Covariance of ``X`` (n, d) with divisor n, moved towards a sphere: :math:`(1 - \rho) S + \rho\mu I`.

    ``shrinkage`` is None, :math:`\rho`, or "auto" for Ledoit and Wolf's on columns scaled to variance one, which are
    scaled back afterwards.
    """
    rows = X - X.mean(axis=0)
    if shrinkage == "auto":
        scale = np.sqrt(np.mean(rows**2, axis=0))
        scale[scale == 0] = 1.0
        rows = rows / scale
        return scale[:, None] * _towards_sphere(rows, ledoit_wolf_shrinkage(rows)) * scale
    return _towards_sphere(rows, shrinkage or 0.0)


def _towards_sphere(rows: np.ndarray, rho: float) -> np.ndarray:
    S = rows.T @ rows / len(rows)
    return (1 - rho) * S + rho * np.trace(S) / len(S) * np.eye(len(S))
