r"""Principal components: the orthonormal directions along which centered rows vary most.

With the covariance :math:`S = \frac1n \sum_i (x_i - \bar x)(x_i - \bar x)^\top` the variance along a unit vector is
:math:`u^\top S u`. Its maximum over :math:`u^\top u = 1`, orthogonal to the directions found before, is an eigenvector:

.. math:: S u_k = \lambda_k u_k, \qquad \lambda_1 \ge \lambda_2 \ge \dots ,
    \qquad X - \mathbf 1 \bar x^\top = U \Sigma V^\top \;\Rightarrow\; u_k = v_k,\ \lambda_k = \sigma_k^2 / n .
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh, svd

from margin.core.arguments import finite
from margin.reduction.scatter import scatter

__all__ = ["SOLVERS", "PrincipalComponents", "principal_components", "projected_variance"]

SOLVERS = ("auto", "eigh", "svd")

# Squaring the data leaves half of the digits: a variance below this share of the largest is rounding after a Gram
# matrix, so "auto" takes the singular value decomposition where one is asked for.
SMALLEST_SHARE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}


class PrincipalComponents(NamedTuple):
    """``components`` (k, p) are orthonormal rows, ``variances`` (k,) fall; ``total_variance`` is of all columns."""

    mean: np.ndarray
    components: np.ndarray
    variances: np.ndarray
    total_variance: float
    solver: str


def projected_variance(X: Any, direction: Any) -> np.ndarray:
    r"""The variance of rows projected on vectors, :math:`\mathrm{Var}(u^\top x) = u^\top S u` (divisor n).

    ``direction`` is one vector (p,) or several as columns (p, k); the result is one number or (k,).

    >>> float(projected_variance([[0.0, 0.0], [2.0, 0.0]], [1.0, 0.0]))
    1.0
    """
    rows, u = finite("projected_variance", "X", X), finite("projected_variance", "direction", direction)
    if rows.ndim != 2 or u.ndim not in (1, 2) or len(u) != rows.shape[1]:
        raise ValueError(
            f"projected_variance: direction must have one number per column of X; got {u.shape} for {rows.shape}."
        )
    S = scatter(rows).matrix / len(rows)
    return np.einsum("i...,ij,j...->...", u, S, u)


def principal_components(
    X: np.ndarray, k: int | None = None, *, solver: str = "auto", ddof: int = 0
) -> PrincipalComponents:
    r"""The ``k`` leading principal components of the rows of ``X`` (n, p); all min(n, p) if ``k`` is None.

    ``solver`` "eigh" takes the eigenvectors of the smaller Gram matrix of the centered rows, :math:`p \times p` or
    :math:`n \times n`: fast, at half the digits. "svd" decomposes the centered rows: slower, and precise for small
    variances too. "auto" begins with "eigh" and turns to "svd" where a variance asked for is lost in rounding.
    The divisor of the variances is ``n - ddof``. The largest entry of a component is positive.

    >>> found = principal_components(np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]), k=1)
    >>> found.components.round(6), found.variances.round(6)
    (array([[0.6, 0.8]]), array([16.666667]))
    """
    if solver not in SOLVERS:
        raise ValueError(f"principal_components: solver must be one of {', '.join(SOLVERS)}; got {solver!r}.")
    most = min(X.shape)
    k = most if k is None else k
    if not 1 <= k <= most:
        raise ValueError(f"principal_components: k must be from 1 to min{X.shape}; got {k}.")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    chosen = "svd" if solver == "svd" else "eigh"
    mean, squares, components, total = (_by_svd if chosen == "svd" else _by_eigh)(X, k)
    if solver == "auto" and total > 0 and squares[-1] < SMALLEST_SHARE[X.dtype] * squares[0]:
        chosen = "svd"
        mean, squares, components, total = _by_svd(X, k)
    divisor = len(X) - ddof
    return PrincipalComponents(mean, _signed(components), squares / divisor, total / divisor, chosen)


def _by_eigh(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    n, p = X.shape
    if p <= n:
        mean, S = scatter(X)
        _refuse_non_finite(S)
        squares, vectors = _largest(S, k)
        return mean, squares, vectors.T, float(np.trace(S))
    mean = X.mean(axis=0, dtype=np.float64)
    centered = X - mean
    K = centered @ centered.T
    _refuse_non_finite(K)
    squares, vectors = _largest(K, k)
    # X'u has the length of its singular value; QR keeps directions orthonormal even where that is rounding.
    directions, _ = np.linalg.qr(centered.T @ vectors)
    return mean, squares, directions.T, float(np.trace(K))


def _by_svd(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    mean = X.mean(axis=0, dtype=np.float64)
    centered = X - mean
    _refuse_non_finite(np.einsum("ij,ij->i", centered, centered))
    _, singular, Vt = svd(centered, full_matrices=False, overwrite_a=True)
    return mean, singular[:k] ** 2, Vt[:k], float(singular @ singular)


def _largest(gram: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``k`` largest eigenvalues, falling and never negative, and their eigenvectors as columns."""
    size = len(gram)
    values, vectors = eigh(gram, subset_by_index=[size - k, size - 1]) if k < size else eigh(gram)
    return np.maximum(values[::-1], 0.0), vectors[:, ::-1]


def _signed(components: np.ndarray) -> np.ndarray:
    """The same directions, the largest entry of each positive: a sign that does not depend on the solver."""
    largest = np.abs(components).argmax(axis=1)
    return components * np.where(components[np.arange(len(components)), largest] < 0, -1.0, 1.0)[:, None]


def _refuse_non_finite(squares: np.ndarray) -> None:
    if not np.isfinite(squares.diagonal() if squares.ndim == 2 else squares).all():
        raise ValueError("principal_components: X must be finite with squares that do not overflow; got others.")
