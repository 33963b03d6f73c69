r"""Principal components: the orthonormal directions along which centered rows vary most.

With the covariance :math:`S = \frac1n \sum_i (x_i - \bar x)(x_i - \bar x)^\top` the variance along a unit vector is
:math:`u^\top S u`. Its maximum over :math:`u^\top u = 1`, orthogonal to the directions found before, is an eigenvector:

.. math:: S u_k = \lambda_k u_k, \qquad \lambda_1 \ge \lambda_2 \ge \dots ,
    \qquad X - \mathbf 1 \bar x^\top = U \Sigma V^\top \;\Rightarrow\; u_k = v_k,\ \lambda_k = \sigma_k^2 / n .
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr, svd

from margin.core.arguments import finite
from margin.foundations.linalg.scatter_factor import ScatterFactor
from margin.reduction.few_eigenvectors import few_largest, few_largest_of_product
from margin.reduction.scatter import scatter

__all__ = [
    "SOLVERS",
    "PrincipalComponents",
    "components_of_factor",
    "enough",
    "fix_signs",
    "principal_components",
    "projected_variance",
]

SOLVERS = ("auto", "covariance_eigh", "full")

# Squaring the data leaves half of the digits: a variance below this fraction of the largest is rounding after a Gram
# matrix, so "auto" takes the singular value decomposition where one is needed.
SMALLEST_FRACTION = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}

# Eigenvectors one by one are faster than all together if these are at least as many times more, and so many (measured).
FEW_OF = (8, 100)


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
    X: np.ndarray, k: int | None = None, *, solver: str = "auto", ddof: int = 0, fraction: float | None = None
) -> PrincipalComponents:
    r"""The ``k`` leading principal components of the rows of ``X`` (n, p); all min(n, p) if ``k`` is None.

    With ``fraction`` only as many are given as reach this fraction of the variance. ``solver`` "covariance_eigh" takes
    the eigenvectors of the smaller Gram matrix of the centered rows, :math:`p \times p` or :math:`n \times n`: fast, at
    half the digits. "full" decomposes the centered rows: slower, and precise for small variances too. "auto" begins
    with the first and turns to the second where a variance asked for is lost in rounding. A few components of a wide
    table whose variances fall need products with the rows only, no Gram matrix. The divisor of the variances
    is ``n - ddof``. The largest entry of a component is positive.

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
    chosen = "full" if solver == "full" else "covariance_eigh"
    decomposition = (_by_svd if chosen == "full" else _by_eigh)(X, k, fraction)
    if solver == "auto" and _is_lost(decomposition, X):
        chosen, decomposition = "full", _by_svd(X, k, fraction)
    divisor = len(X) - ddof
    return PrincipalComponents(
        decomposition.mean,
        fix_signs(decomposition.components),
        decomposition.squares / divisor,
        decomposition.total / divisor,
        chosen,
    )


def components_of_factor(
    factor: ScatterFactor, k: int | None = None, *, ddof: int = 0, fraction: float | None = None
) -> PrincipalComponents:
    """The same of rows that are known by the triangular factor of the centered ones: precise for small variances too.

    >>> found = components_of_factor(ScatterFactor.of(np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])), k=1)
    >>> found.components.round(6), found.variances.round(6)
    (array([[0.6, 0.8]]), array([16.666667]))
    """
    most = min(factor.rows, len(factor.mean))
    _, singular, Vt = svd(factor.R, full_matrices=False, check_finite=False)
    squares = np.zeros(len(factor.mean))
    squares[: len(singular)] = singular**2
    total = float(squares.sum())
    kept = min(most if k is None else k, enough(squares[:most], total, fraction), len(Vt))
    divisor = factor.rows - ddof
    return PrincipalComponents(factor.mean, fix_signs(Vt[:kept]), squares[:kept] / divisor, total / divisor, "full")


class _Decomposition(NamedTuple):
    mean: np.ndarray
    squares: np.ndarray
    components: np.ndarray
    total: float
    constant: int = 0  # columns without any variance, hence directions whose variance is zero exactly


def enough(squares: np.ndarray, total: float, fraction: float | None) -> int:
    """How many of the falling ``squares`` reach the ``fraction`` of their ``total``."""
    if fraction is None or total <= 0:
        return len(squares)
    # A fraction that is itself such a sum, as rounding leaves it, is to be exceeded, whatever the last digits say.
    reached = fraction * (1 + len(squares) * np.finfo(np.float64).eps)
    return min(int(np.searchsorted(np.cumsum(squares / total), reached, side="right")) + 1, len(squares))


def _is_lost(decomposition: _Decomposition, X: np.ndarray) -> bool:
    """Whether a variance asked for may be rounding only; n centered rows and constant columns have some zeros."""
    certain = min(len(X) - 1, X.shape[1] - decomposition.constant, len(decomposition.squares))
    if decomposition.total <= 0 or certain < 1:
        return False
    return bool(decomposition.squares[certain - 1] < SMALLEST_FRACTION[X.dtype] * decomposition.squares[0])


def _by_eigh(X: np.ndarray, k: int, fraction: float | None) -> _Decomposition:
    n, p = X.shape
    if p <= n:
        mean, S = scatter(X)
        _refuse_non_finite(S)
        constant = int((S.diagonal() == 0).sum())
        squares, vectors = _largest(S, k)
        kept = enough(squares, float(np.trace(S)), fraction)
        return _Decomposition(mean, squares[:kept], vectors[:, :kept].T, float(np.trace(S)), constant)
    mean = X.mean(axis=0, dtype=np.float64)
    centered = X - mean.astype(X.dtype)
    lengths = np.matmul(centered[:, None, :], centered[:, :, None])[:, 0, 0]  # BLAS keeps more digits than einsum
    _refuse_non_finite(lengths)
    total = float(lengths.sum(dtype=np.float64))
    eigenpairs = few_largest_of_product(centered, k)
    squares, vectors = _largest(centered @ centered.T, k) if eigenpairs is None else _falling(*eigenpairs)
    kept = enough(squares, total, fraction)
    # X'u has the length of its singular value; QR keeps directions orthonormal even where that is rounding.
    directions, _ = qr(centered.T @ vectors[:, :kept], mode="economic", overwrite_a=True, check_finite=False)
    return _Decomposition(mean, squares[:kept], directions.T, total)


def _by_svd(X: np.ndarray, k: int, fraction: float | None) -> _Decomposition:
    mean = X.mean(axis=0, dtype=np.float64)
    centered = X - mean
    _refuse_non_finite(np.einsum("ij,ij->i", centered, centered))
    _, singular, Vt = svd(centered, full_matrices=False, overwrite_a=True, check_finite=False)
    squares = singular**2
    k = min(k, enough(squares, float(squares.sum()), fraction))
    return _Decomposition(mean, squares[:k], Vt[:k], float(squares.sum()))


def _largest(gram: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``k`` largest eigenvalues, falling and never negative, and their eigenvectors as columns."""
    size = len(gram)
    if size >= FEW_OF[1] and k * FEW_OF[0] <= size:
        values, vectors = few_largest(gram, k)
    else:
        values, vectors = np.linalg.eigh(gram)
        values, vectors = values[size - k :], vectors[:, size - k :]
    return _falling(values, vectors)


def _falling(values: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rising eigenvalues and their vectors the other way round, rounding below zero cut off."""
    return np.maximum(values[::-1], 0.0), vectors[:, ::-1]


def fix_signs(components: np.ndarray) -> np.ndarray:
    """The same directions, the largest entry of each positive: a sign that does not depend on the solver."""
    largest = np.abs(components).argmax(axis=1)
    return components * np.where(components[np.arange(len(components)), largest] < 0, -1.0, 1.0)[:, None]


def _refuse_non_finite(squares: np.ndarray) -> None:
    if not np.isfinite(squares.diagonal() if squares.ndim == 2 else squares).all():
        raise ValueError("principal_components: X must be finite with squares that do not overflow; got others.")
