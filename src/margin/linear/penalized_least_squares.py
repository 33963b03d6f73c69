r"""Ridge regression in closed form, and its exact leave-one-out errors.

.. math::
    \hat B = \arg\min_B \sum_i w_i \lVert y_i - b - B^\top x_i \rVert^2 + \alpha \lVert B \rVert^2
    \;\Longleftrightarrow\; (S_{xx} + \alpha I)\,\hat B = S_{xy},\qquad b = \bar y - \hat B^\top \bar x .

The intercept carries no penalty. A fit without row i need not be run: with the residual :math:`r_i` and the leverage
:math:`h_i = 1/W + (x_i - \bar x)^\top (S_{xx} + \alpha I)^{-1} (x_i - \bar x)` of one copy of row i, its error is
:math:`r_i / (1 - h_i)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.linalg import lapack

from margin.core.chunks import map_row_chunks
from margin.foundations.linalg.minimum_norm import DEPENDENT, minimum_norm_from_gram, row_space
from margin.linear.least_squares import MIN_RCOND, WIDE_SPARSE, Solution, least_squares, solve_iteratively
from margin.linear.moments import RegressionMoments, blocks, moments, varies

__all__ = [
    "default_alphas",
    "leave_one_out",
    "leave_one_out_mse",
    "ridge",
    "ridge_by_svd",
    "ridge_from_moments",
    "ridge_of_dependent_moments",
]

# One minus a leverage below this is rounding: the row alone decides its own prediction, whatever its error elsewhere.
SMALLEST_FREEDOM = 1e-12
LEAST_RCOND = 1e-10  # of inner products of rows: six digits of the coefficients are left


def ridge(
    X: Any, Y: np.ndarray, alpha: float, weights: np.ndarray | None = None, *, intercept: bool = True
) -> Solution:
    """The ridge solution for ``X`` (n, p; dense or CSR) and ``Y`` (n, q), by the smaller of the two Gram matrices.

    >>> X, Y = np.array([[-1.0], [0.0], [1.0]]), np.array([[-2.0], [0.0], [2.0]])
    >>> ridge(X, Y, alpha=2.0).coef
    array([[1.]])
    """
    n, p = X.shape
    if alpha == 0:
        return least_squares(X, Y, weights, intercept=intercept)
    if sp.issparse(X) and p > WIDE_SPARSE:
        return solve_iteratively(X, Y, weights, intercept=intercept, alpha=alpha)[0]
    if n < p:
        return _from_rows(X, Y, alpha, weights, intercept)
    sums = moments(X, Y, weights, centered=intercept)
    if not sums.finite:
        raise FloatingPointError("X holds a value that is not finite, or squares overflow.")
    return ridge_from_moments(sums, alpha) or _from_augmented_rows(X, Y, alpha, weights, intercept)


def ridge_from_moments(m: RegressionMoments, alpha: float) -> Solution | None:
    r""":math:`(S_{xx} + \alpha I) B = S_{xy}` by Cholesky on unit-diagonal scaling; None if ill-conditioned."""
    m = m.without_constants()
    penalized = m.xx + alpha * np.eye(len(m.xx))
    scale = np.sqrt(penalized.diagonal())
    unit = penalized / np.outer(scale, scale)
    factor, failed = lapack.dpotrf(unit, lower=1)
    if failed:
        return None
    rcond, _ = lapack.dpocon(factor, np.abs(unit).sum(axis=0).max(), uplo="L")
    if rcond < MIN_RCOND:
        return None
    coef = sl.cho_solve((factor, True), m.xy / scale[:, None]) / scale[:, None]
    return _solution(m, coef, len(scale))


def ridge_of_dependent_moments(m: RegressionMoments, alpha: float) -> Solution:
    """The same for rows that are gone and columns that (nearly) depend on each other: half of the digits are kept."""
    m = m.without_constants()
    coef, rank = minimum_norm_from_gram(m.xx + alpha * np.eye(len(m.xx)), m.xy)
    return _solution(m, coef, rank)


def ridge_by_svd(Z: np.ndarray, T: np.ndarray, alpha: float) -> tuple[np.ndarray, int]:
    r"""Coefficients :math:`V\,\mathrm{diag}(s/(s^2 + \alpha))\,U^\top T` of centered rows ``Z`` (n, p), targets ``T``,
    and the rank; directions in which the columns depend on each other and which the penalty leaves free get none.
    """
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    floor = DEPENDENT * s.max(initial=0.0)
    if not len(s) or np.hypot(s[-1], np.sqrt(alpha)) > floor:
        return Vt.T @ ((s / (s**2 + alpha))[:, None] * (U.T @ T)), len(s)
    basis = row_space(Z)
    U, s, Vt = np.linalg.svd(Z @ basis, full_matrices=False)
    return basis @ (Vt.T @ ((s / (s**2 + alpha))[:, None] * (U.T @ T))), basis.shape[1]


def leave_one_out(
    X: np.ndarray, Y: np.ndarray, alphas: Any, weights: np.ndarray | None = None, *, intercept: bool = True
) -> np.ndarray:
    """Errors (n, q, k) of ``Y`` (n, q) when each row is predicted without it, for k penalties ``alphas``.

    One eigendecomposition serves all penalties. A weight counts copies: one copy of the row is left out.

    >>> X, Y = np.array([[0.0], [1.0], [3.0]]), np.array([[0.0], [1.0], [2.0]])
    >>> rest = ridge(X[:2], Y[:2], 1.0)
    >>> bool(np.isclose(leave_one_out(X, Y, [1.0])[2, 0, 0], 2 - (rest.intercept + 3 * rest.coef)[0, 0]))
    True
    """
    parts = [errors for errors, _ in _leave_one_out_parts(X, Y, np.asarray(alphas, dtype=float), weights, intercept)]
    return np.concatenate(parts)


def leave_one_out_mse(
    X: np.ndarray, Y: np.ndarray, alphas: Any, weights: np.ndarray | None = None, *, intercept: bool = True
) -> np.ndarray:
    """Mean squared leave-one-out error for every penalty, (k,), over rows (by weight) and outputs."""
    total = np.zeros(len(alphas))
    for errors, w in _leave_one_out_parts(X, Y, np.asarray(alphas, dtype=float), weights, intercept):
        total += np.einsum("i,iqk->k", w, errors**2)
    weight = len(Y) if weights is None else weights.sum()
    return total / (weight * Y.shape[1])


def default_alphas(X: np.ndarray, weights: np.ndarray | None = None, *, intercept: bool = True) -> np.ndarray:
    """37 penalties from a millionth to a thousand times the mean sum of squares of a (centered) column."""
    m = moments(X, np.zeros((len(X), 1)), weights, centered=intercept)
    size = float(np.mean(m.xx.diagonal()))
    return (size if size > 0 else 1.0) * np.logspace(-6, 3, 37)


def _leave_one_out_parts(
    X: np.ndarray, Y: np.ndarray, alphas: np.ndarray, weights: np.ndarray | None, intercept: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Blocks of (errors (b, q, k), weights (b,)) in the order of the rows."""
    n, p = X.shape
    weight = n if weights is None else float(weights.sum())
    offset = 1.0 / weight if intercept else 0.0
    m = moments(X, Y, weights, centered=intercept) if p <= n else _means(X, Y, weights, intercept)
    if p <= n:
        values, axes = np.linalg.eigh(m.xx)
        values, xy = np.maximum(values, 0.0), axes.T @ m.xy
    else:  # the rows span at most n directions: take these from the n x n Gram matrix
        root = 1.0 if weights is None else np.sqrt(weights)[:, None]
        centered, target = root * (X - m.mean_x), root * (Y - m.mean_y)
        U, singular, Vt = np.linalg.svd(centered, full_matrices=False)
        values, axes = singular**2, Vt.T
        xy = singular[:, None] * (U.T @ target)
    tiny = np.finfo(float).eps * n * values.max(initial=0.0)
    shrink = 1.0 / np.where(values[:, None] + alphas > tiny, values[:, None] + alphas, np.inf)  # (m, k)
    coefs = np.einsum("jq,jk->jqk", xy, shrink).reshape(len(values), -1)

    def chunk(rows: slice) -> list[tuple[np.ndarray, np.ndarray]]:
        out = []
        for block in blocks(X, Y, None, (m.mean_x, m.mean_y), rows):
            turned = block.x @ axes  # (b, m)
            freedom = 1.0 - offset - turned**2 @ shrink  # (b, k)
            residuals = block.y[:, :, None] - (turned @ coefs).reshape(len(turned), Y.shape[1], len(alphas))
            out.append(residuals / np.maximum(freedom, SMALLEST_FREEDOM)[:, None, :])
        return [(errors, np.ones(len(errors))) for errors in out]

    parts = [part for chunk_parts in map_row_chunks(chunk, n, work=n * p * p) for part in chunk_parts]
    if weights is None:
        return parts
    cuts = np.cumsum([len(errors) for errors, _ in parts])[:-1]
    return [(errors, w) for (errors, _), w in zip(parts, np.split(weights, cuts))]


def _means(X: np.ndarray, Y: np.ndarray, weights: np.ndarray | None, intercept: bool) -> RegressionMoments:
    """Moments without the p x p scatter, for tables with more columns than rows."""
    (n, p), q = X.shape, Y.shape[1]
    w = np.ones(n) if weights is None else weights
    mean_x = w @ X / w.sum() if intercept else np.zeros(p)
    mean_y = w @ Y / w.sum() if intercept else np.zeros(q)
    yy = w @ (Y - mean_y) ** 2
    return RegressionMoments(
        n, float(w.sum()), mean_x, mean_y, np.empty((0, 0)), np.empty((0, q)), yy, centered=intercept
    )


def _from_rows(X: Any, Y: np.ndarray, alpha: float, weights: np.ndarray | None, intercept: bool) -> Solution:
    r"""More columns than rows: :math:`B = Z^\top (Z Z^\top + \alpha I)^{-1} T` for centered rows Z and targets T."""
    dense = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    if not np.isfinite(dense).all():
        raise FloatingPointError("X holds a value that is not finite.")
    m = _means(dense, Y, weights, intercept)
    root = 1.0 if weights is None else np.sqrt(weights)[:, None]
    Z, T = _center(dense, m, root), root * (Y - m.mean_y)
    gram = Z @ Z.T
    gram.flat[:: len(Z) + 1] += alpha
    factor, failed = lapack.dpotrf(gram, lower=1)
    rcond = 0.0 if failed else lapack.dpocon(factor, np.abs(gram).sum(axis=0).max(), uplo="L")[0]
    if rcond < LEAST_RCOND:  # squares have lost what singular values keep
        coef, _ = ridge_by_svd(Z, T, alpha)
    else:
        coef = Z.T @ sl.cho_solve((factor, True), T)
    rss = ((T - Z @ coef) ** 2).sum(axis=0)
    return Solution(coef, m.mean_y - m.mean_x @ coef, len(Z), rss)


def _from_augmented_rows(X: Any, Y: np.ndarray, alpha: float, weights: np.ndarray | None, intercept: bool) -> Solution:
    r"""Ill-conditioned: least squares on the centered rows with :math:`\sqrt\alpha I` below them, by QR."""
    dense = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    m = _means(dense, Y, weights, intercept)
    root = 1.0 if weights is None else np.sqrt(weights)[:, None]
    p, q = dense.shape[1], Y.shape[1]
    rows = np.vstack([_center(dense, m, root), np.sqrt(alpha) * np.eye(p)])
    targets = np.vstack([root * (Y - m.mean_y), np.zeros((p, q))])
    coef = least_squares(rows, targets, intercept=False).coef
    rss = ((targets - rows @ coef)[: len(dense)] ** 2).sum(axis=0)
    return Solution(coef, m.mean_y - m.mean_x @ coef, p, rss)


def _center(X: np.ndarray, m: RegressionMoments, root: Any) -> np.ndarray:
    """The rows less their means, times the roots of the weights; columns that do not vary are zero."""
    Z: np.ndarray = root * (X - m.mean_x)
    Z[:, ~varies(np.linalg.norm(Z, axis=0), m.mean_x, m.weight)] = 0.0
    return Z


def _solution(m: RegressionMoments, coef: np.ndarray, rank: int) -> Solution:
    rss = np.maximum(m.yy - (2 * coef * m.xy - coef * (m.xx @ coef)).sum(axis=0), 0.0)
    return Solution(coef, m.mean_y - m.mean_x @ coef, rank, rss)
