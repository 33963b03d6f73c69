r"""A few principal components of many columns: Lanczos iterations, or a random sketch of the rows.

Both need products with the centered rows only. The sketch (Halko, Martinsson and Tropp 2011) multiplies the rows by
random columns, makes the result orthonormal, and decomposes the rows in that small space:

.. math:: A = X - \mathbf 1\bar x^\top,\qquad Q = \mathrm{orth}\bigl((AA^\top)^q A\,\Omega\bigr),\qquad
    Q^\top A = U\Sigma V^\top .
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh, lu, qr, svd
from scipy.sparse.linalg import LinearOperator, svds

from margin.reduction.principal import PrincipalComponents, fix_signs

__all__ = ["NORMALIZERS", "lanczos_components", "sketched_components", "sparse_components"]

NORMALIZERS = ("auto", "QR", "LU", "none")
FEW_ITERATIONS = 2  # up to here products of the sketch do not overflow or align, and "auto" leaves them alone


def lanczos_components(X: np.ndarray, k: int, *, tol: float, rng: np.random.Generator) -> PrincipalComponents:
    """By ARPACK: ``tol`` is the relative accuracy of singular values (0: that of the machine); k < min(n, p)."""
    mean, centered = _center(X)
    start = rng.uniform(-1, 1, size=min(X.shape)).astype(X.dtype)
    _, singular, Vt = svds(centered, k=k, tol=tol, v0=start)
    order = np.argsort(-singular)
    return _components_of(mean, centered, singular[order], Vt[order], "arpack")


def sparse_components(X: Any, k: int, *, solver: str, tol: float, rng: np.random.Generator) -> PrincipalComponents:
    """Of sparse rows, which stay sparse: centering is done in products, or in the covariance (p, p).

    ``solver`` "covariance_eigh" makes the covariance; "arpack" needs products with the rows only; k < min(n, p) then.
    """
    n, p = X.shape
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    total = (float(X.multiply(X).sum()) - n * float(mean @ mean)) / (n - 1)
    if solver == "covariance_eigh":
        covariance = ((X.T @ X).toarray() - n * np.outer(mean, mean)) / (n - 1)
        variances, vectors = eigh(covariance, subset_by_index=(p - k, p - 1))
        return PrincipalComponents(mean, fix_signs(vectors.T[::-1]), np.maximum(variances[::-1], 0.0), total, solver)
    centered = LinearOperator(
        (n, p),
        dtype=X.dtype,
        matvec=lambda v: X @ v.ravel() - mean @ v.ravel(),
        rmatvec=lambda u: X.T @ u.ravel() - mean * u.sum(),
        matmat=lambda V: X @ V - mean @ V,
        rmatmat=lambda U: X.T @ U - np.outer(mean, U.sum(axis=0)),
    )
    start = rng.uniform(-1, 1, size=min(X.shape)).astype(X.dtype)
    _, singular, Vt = svds(centered, k=k, tol=tol, v0=start)
    order = np.argsort(-singular)
    return PrincipalComponents(mean, fix_signs(Vt[order]), singular[order] ** 2 / (n - 1), total, solver)


def sketched_components(
    X: np.ndarray, k: int, *, n_oversamples: int, n_iter: int, normalizer: str, rng: np.random.Generator
) -> PrincipalComponents:
    """By a sketch of ``k + n_oversamples`` random columns, sharpened by ``n_iter`` power iterations."""
    mean, centered = _center(X)
    wide = X.shape[0] < X.shape[1]
    A = centered.T if wide else centered  # the sketch lies in the longer dimension, the decomposition in the shorter
    size = min(k + n_oversamples, min(X.shape))
    Q = rng.normal(size=(A.shape[1], size)).astype(X.dtype)
    keep = _normalizer(normalizer, n_iter)
    for _ in range(n_iter):
        Q = keep(A.T @ keep(A @ Q))
    Q, _ = qr(A @ Q, mode="economic", overwrite_a=True, check_finite=False)
    left, singular, right = svd(Q.T @ A, full_matrices=False, check_finite=False)
    directions = (Q @ left).T if wide else right
    return _components_of(mean, centered, singular[:k], directions[:k], "randomized")


def _center(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean = X.mean(axis=0, dtype=np.float64)
    return mean, X - mean.astype(X.dtype)


def _components_of(
    mean: np.ndarray, centered: np.ndarray, singular: np.ndarray, directions: np.ndarray, solver: str
) -> PrincipalComponents:
    """With the divisor n - 1."""
    divisor = len(centered) - 1
    total = float(np.einsum("ij,ij->", centered, centered, dtype=np.float64)) / divisor
    return PrincipalComponents(mean, fix_signs(directions), singular**2 / divisor, total, solver)


def _normalizer(name: str, n_iter: int) -> Callable[[np.ndarray], np.ndarray]:
    if name == "auto":
        name = "none" if n_iter <= FEW_ITERATIONS else "LU"
    if name == "none":
        return lambda sketch: sketch
    if name == "LU":
        return lambda sketch: lu(sketch, permute_l=True, check_finite=False)[0]
    return lambda sketch: qr(sketch, mode="economic", check_finite=False)[0]
