r"""Ordinary least squares: minimize :math:`\sum_i w_i \lVert y_i - B^\top x_i - b \rVert^2` over B and b.

Three ways to the same solution, each called where it is both fast and exact enough:
:func:`solve_moments` (Cholesky of the normal equations, one pass over the rows), :func:`solve_rows` (orthogonal
triangularization of the rows themselves, minimum norm when the columns are dependent, exactly or nearly),
:func:`solve_iteratively` (LSQR, when even a p x p matrix would be too large). :func:`least_squares` chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, lsqr

from margin.core.chunks import map_row_chunks
from margin.core.threads import blas_threads
from margin.foundations.linalg.minimum_norm import DEPENDENT, EPS, minimum_norm, minimum_norm_from_gram
from margin.foundations.linalg.scatter_factor import triangle
from margin.linear.moments import CANCELLATION, RegressionMoments, blocks, moments, varies

__all__ = [
    "Solution",
    "TriangularRows",
    "centered_operator",
    "least_squares",
    "solve_dependent_moments",
    "solve_iteratively",
    "solve_moments",
    "solve_rows",
    "triangular_rows",
]

# Cholesky of the normal equations loses a factor 1/rcond of the 16 digits: above this bound ten digits stay.
MIN_RCOND = 1e-6

# Sums of squares outside these bounds have overflowed or lost digits to underflow; the rows are scaled instead.
SAFE_SQUARES = (1e-280, 1e280)

# A residual sum of squares below this part of the total is mostly rounding; it is then summed from the residuals.
RESIDUAL_CANCELLATION = 1e-6

LSQR_LIMIT = 7  # what LSQR calls its limit of iterations
WIDE_SPARSE = 4096  # columns beyond which a sparse problem is not turned into a dense p x p matrix (128 MB)


@dataclass(frozen=True)
class Solution:
    """``coef`` (p, q), ``intercept`` (q,), numerical ``rank`` of the (centered) rows, residual sums ``rss`` (q,)."""

    coef: np.ndarray
    intercept: np.ndarray
    rank: int | None
    rss: np.ndarray


def least_squares(
    X: Any,
    Y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    intercept: bool = True,
    tol: float = 1e-12,
    rank_tol: float = DEPENDENT,
) -> Solution:
    """The (minimum-norm) least-squares solution for finite ``X`` (n, p; dense or CSR) and ``Y`` (n, q).

    A NaN or an infinity in ``X`` raises ``FloatingPointError``, found without a pass of its own, and so does a
    coefficient beyond the range of float64. ``tol`` is the precision of LSQR, for sparse ``X`` of very many columns;
    ``rank_tol`` the relative singular value of the scaled columns below which they count as dependent.

    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> s = least_squares(X, np.array([[1.0], [3.0], [5.0]]))
    >>> s.coef.round(12), s.intercept.round(12), s.rank
    (array([[2.]]), array([1.]), 1)
    """
    n, p = X.shape
    if sp.issparse(X) and p > WIDE_SPARSE:
        return solve_iteratively(X, Y, weights, intercept=intercept, tol=tol)[0]
    if n - intercept < p:  # dependent for certain, and the p x p matrix would be the larger one
        return solve_rows(X, Y, weights, intercept=intercept, tol=rank_tol)
    sums = moments(X, Y, weights, centered=intercept)
    solution = solve_moments(sums) if sums.finite and _safe(sums) else None
    if solution is None:
        return solve_rows(X, Y, weights, intercept=intercept, tol=rank_tol)
    if (solution.rss <= RESIDUAL_CANCELLATION * sums.yy).any():
        rss = _residual_squares(X, Y, weights, solution)
        return Solution(solution.coef, solution.intercept, solution.rank, rss)
    return solution


def solve_moments(m: RegressionMoments) -> Solution | None:
    r"""Normal equations :math:`S_{xx} B = S_{xy}` by Cholesky on unit-diagonal scaling; None if ill-conditioned.

    :math:`b = \bar y - B^\top \bar x`; residual sums :math:`S_{yy} - \mathrm{diag}(B^\top S_{xy})`.
    """
    scale = np.sqrt(np.maximum(m.xx.diagonal(), 0.0))
    if not varies(scale, m.mean_x, m.weight).all():
        return None
    unit = m.xx / np.outer(scale, scale)
    factor, failed = lapack.dpotrf(unit, lower=1)
    if failed:
        return None
    one_norm = np.abs(unit).sum(axis=0).max()
    rcond, _ = lapack.dpocon(factor, one_norm, uplo="L")
    if rcond < MIN_RCOND:
        return None
    coef = sl.cho_solve((factor, True), m.xy / scale[:, None]) / scale[:, None]
    rss = np.maximum(m.yy - (coef * m.xy).sum(axis=0), 0.0)
    return Solution(coef, m.mean_y - m.mean_x @ coef, len(scale), rss)


def solve_dependent_moments(m: RegressionMoments, tol: float = DEPENDENT) -> Solution:
    """Minimum-norm solution from moments alone, for chunks that are gone: the eigenvalues keep half the digits."""
    # A column far from zero has lost as many digits of its scatter as its mean has more than its deviations;
    # `moments` sums a second time before half of them are gone.
    m = m.without_constants()
    scatter = m.xx.diagonal()
    varying = scatter > 0
    far = (m.weight * m.mean_x[varying] ** 2 / scatter[varying]).max(initial=0.0)
    rounding = EPS * (1.0 + min(far, 1.0 / CANCELLATION))
    coef, rank = minimum_norm_from_gram(m.xx, m.xy, tol=tol, rounding=rounding)
    rss = np.maximum(m.yy - (2 * coef * m.xy - coef * (m.xx @ coef)).sum(axis=0), 0.0)
    return Solution(coef, m.mean_y - m.mean_x @ coef, rank, rss)


def solve_rows(
    X: Any,
    Y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    intercept: bool = True,
    tol: float = DEPENDENT,
) -> Solution:
    r"""Least squares from the rows: :math:`[X\,Y] = Q R` block by block, then singular values of the small R.

    Columns are scaled by powers of two (no rounding), so neither huge nor tiny values overflow; those that are
    dependent to ``tol`` in that scale get the minimum norm (:func:`minimum_norm`).
    """
    n, p = X.shape
    Rx, Ry, mean, scale_x, scale_y = triangular_rows(X, Y, weights, intercept=intercept)
    coef, rank = minimum_norm(Rx, Ry, tol=tol, rows=n, unit=scale_x)
    with np.errstate(over="ignore"):
        rss = ((Ry - Rx @ coef) ** 2).sum(axis=0) * scale_y**2
        b = (mean[p:] - mean[:p] @ coef) * scale_y
        coef = coef / scale_x[:, None] * scale_y
    if not np.isfinite(coef).all():
        raise FloatingPointError("a coefficient is too large for float64; scale X or y first.")
    return Solution(coef, b, rank, rss)


class TriangularRows(NamedTuple):
    """The rows turned into a small triangle: ``x`` (m, p) and ``y`` (m, q) have the inner products of the centered rows
    in columns divided by ``scale_x`` and ``scale_y``; ``mean`` (p + q) are the scaled means."""

    x: np.ndarray
    y: np.ndarray
    mean: np.ndarray
    scale_x: np.ndarray
    scale_y: np.ndarray


def triangular_rows(X: Any, Y: np.ndarray, weights: np.ndarray | None = None, *, intercept: bool) -> TriangularRows:
    """[X Y] centered, scaled by powers of two and triangularized block by block; constant columns are zero."""
    p, q = X.shape[1], Y.shape[1]
    scale = np.concatenate([_powers(X), _powers(Y)])
    mean = _scaled_mean(X, Y, weights, scale) if intercept else np.zeros(p + q)
    with blas_threads(1):  # many small factorizations: waking a second thread for each costs more than it gives
        R = triangle((part - root * mean for root, part in _scale_blocks(X, Y, weights, scale)), p + q)
    total = float(X.shape[0] if weights is None else weights.sum())
    known = varies(np.linalg.norm(R[:, :p], axis=0), mean[:p], total)
    return TriangularRows(np.where(known, R[:, :p], 0.0), R[:, p:], mean, scale[:p], scale[p:])


class CenteredRows(NamedTuple):
    """Rows and targets less their weighted means, times the root of the weights, without a copy of the rows."""

    operator: LinearOperator  # (n, p)
    targets: np.ndarray  # (n, q)
    mean_x: np.ndarray
    mean_y: np.ndarray


def centered_operator(X: Any, Y: np.ndarray, weights: np.ndarray | None, *, intercept: bool) -> CenteredRows:
    """``X`` (n, p; dense or sparse) as an operator that is never centered in memory."""
    n, p = X.shape
    if not np.isfinite(X.data if sp.issparse(X) else X).all():
        raise FloatingPointError("X holds a value that is not finite.")
    w = np.ones(n) if weights is None else weights
    root = np.sqrt(w)
    mean_x = np.asarray(X.T @ w) / w.sum() if intercept else np.zeros(p)
    mean_y = w @ Y / w.sum() if intercept else np.zeros(Y.shape[1])
    operator = LinearOperator(
        (n, p),
        dtype=np.float64,
        matvec=lambda v: root * (X @ np.ravel(v) - mean_x @ np.ravel(v)),
        rmatvec=lambda u: X.T @ (root * np.ravel(u)) - mean_x * (root @ np.ravel(u)),
    )
    return CenteredRows(operator, root[:, None] * (Y - mean_y), mean_x, mean_y)


def solve_iteratively(
    X: Any,
    Y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    intercept: bool = True,
    alpha: float = 0.0,
    tol: float = 1e-12,
    max_iter: int | None = None,
) -> tuple[Solution, np.ndarray, bool]:
    """LSQR on the rows, centered implicitly, with penalty ``alpha`` on the squares of the coefficients; also the number
    of iterations (q,) per target, and whether one of them ended at ``max_iter``.

    Without a penalty it converges to the minimum norm. The rank stays unknown.
    """
    rows = centered_operator(X, Y, weights, intercept=intercept)
    limit = 10 * max(X.shape) if max_iter is None else max_iter
    runs = [
        lsqr(rows.operator, target, damp=np.sqrt(alpha), atol=tol, btol=tol, iter_lim=limit)[:3]
        for target in rows.targets.T
    ]
    coef = np.column_stack([coef for coef, *_ in runs])
    unfinished = any(reason == LSQR_LIMIT for _, reason, _ in runs)
    rss = ((rows.targets - rows.operator.matmat(coef)) ** 2).sum(axis=0)
    solution = Solution(coef, rows.mean_y - rows.mean_x @ coef, None, rss)
    return solution, np.array([steps for *_, steps in runs]), unfinished


def _safe(m: RegressionMoments) -> bool:
    squares = m.xx.diagonal()
    return bool(((squares >= SAFE_SQUARES[0]) & (squares <= SAFE_SQUARES[1])).all() and (m.yy <= SAFE_SQUARES[1]).all())


def _residual_squares(X: Any, Y: np.ndarray, weights: np.ndarray | None, solution: Solution) -> np.ndarray:
    def chunk(rows: slice) -> np.ndarray:
        total = np.zeros(Y.shape[1])
        for block in blocks(X, Y, weights, (np.zeros(X.shape[1]), solution.intercept), rows):
            total += ((block.y - block.x @ solution.coef) ** 2).sum(axis=0)
        return total

    return np.asarray(sum(map_row_chunks(chunk, X.shape[0], work=X.shape[0] * X.shape[1])))


def _powers(A: Any) -> np.ndarray:
    """For every column the power of two next above its largest absolute value (1 for a column of zeros)."""
    top = np.zeros(A.shape[1])
    if sp.issparse(A):
        top = np.asarray(abs(A).max(axis=0).todense(), dtype=float).ravel()
    else:
        for low in range(0, len(A), 4096):
            top = np.maximum(top, np.abs(A[low : low + 4096]).max(axis=0))
    if not np.isfinite(top).all():
        raise FloatingPointError("X holds a value that is not finite.")
    return np.where(top > 0, np.ldexp(1.0, np.minimum(np.frexp(top)[1], 1023)), 1.0)


def _scale_blocks(
    X: Any, Y: np.ndarray, weights: np.ndarray | None, scale: np.ndarray
) -> Iterator[tuple[Any, np.ndarray]]:
    """Blocks of [X Y] / scale times the roots of the weights, and these roots."""
    for block in blocks(X, Y, weights, (np.zeros(X.shape[1]), np.zeros(Y.shape[1])), slice(None)):
        yield (1.0 if block.root is None else block.root), np.hstack([block.x, block.y]) / scale


def _scaled_mean(X: Any, Y: np.ndarray, weights: np.ndarray | None, scale: np.ndarray) -> np.ndarray:
    sums = [(root * part).sum(axis=0) for root, part in _scale_blocks(X, Y, weights, scale)]
    return np.asarray(sum(sums)) / (X.shape[0] if weights is None else weights.sum())
