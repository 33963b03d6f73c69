r"""The shortest least-squares solution when columns are dependent, exactly or nearly.

A direction in which the columns, each of norm one, hardly move the fit, :math:`\sigma_i \le \mathrm{tol}\,\sigma_1`,
is not learned from the rows but from their rounding: its coefficient is :math:`u_i^\top b/\sigma_i`, and a new row that
leaves the dependence by as little as :math:`\sigma_i` is predicted anywhere. Such directions get no coefficient.

Whether a column depends on others must not hang on its unit, so singular values are those of the scaled columns. Of the
solutions that differ only in those directions the one that is shortest in the given units is taken: exactly dependent
columns have the pseudo-inverse's solution, and a column of tiny numbers that repeats another gets no huge coefficient.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg as sl

__all__ = ["DEPENDENT", "MinimumNorm", "minimum_norm", "minimum_norm_from_gram", "row_space"]

#: Relative singular values of unit columns below which they count as dependent. Data seldom have more than six digits;
#: scikit-learn's LinearRegression (from 1.9 on) takes the same number, R's lm takes 1e-7 of a column's own norm.
DEPENDENT = 1e-6
ALIKE = 1e-3  # sizes of columns, relative to the largest, that need no pivots
# Sizes below count as this: what rounding leaves of large columns must stay small beside small ones.
SMALLEST = 1e-8
EPS = float(np.finfo(float).eps)


class MinimumNorm(NamedTuple):
    """The solution (p, q), and how many directions it has a part in."""

    solution: np.ndarray
    rank: int


def minimum_norm(
    A: np.ndarray, B: np.ndarray, *, tol: float = DEPENDENT, rows: int = 0, unit: np.ndarray | None = None
) -> MinimumNorm:
    """The X (p, q) with the least ||A X - B|| for ``A`` (m, p) and ``B`` (m, q), as above.

    ``rows`` is the number of rows that ``A`` stands for, if it is a triangle made of more than its own; ``unit`` (p,)
    is what the columns were divided by before, and then the length that counts is that of ``X / unit``.

    >>> A = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    >>> minimum_norm(A, A @ [[5.0], [0.0]])
    MinimumNorm(solution=array([[1.],
           [2.]]), rank=1)
    """
    norms = np.linalg.norm(A, axis=0)
    if not norms.all():  # exactly no coefficient, not one of rounding, for a column of zeros
        live = norms > 0
        part = minimum_norm(A[:, live], B, tol=tol, rows=max(rows, *A.shape), unit=None if unit is None else unit[live])
        return MinimumNorm(_in_place(part.solution, live), part.rank)
    size = _powers(norms)
    U, s, Vt = np.linalg.svd(A / size, full_matrices=False)
    kept = s > max(tol, max(rows, *A.shape) * EPS) * s.max(initial=0.0)
    scaled = Vt[kept].T @ ((U[:, kept].T @ B) / s[kept][:, None])
    if kept.sum() < A.shape[1]:
        scaled = _shortest(scaled, Vt[kept].T, size if unit is None else size * (unit / unit.max(initial=0.0)))
    return MinimumNorm(scaled / size[:, None], int(kept.sum()))


def row_space(A: np.ndarray, *, tol: float = DEPENDENT) -> np.ndarray:
    """An orthonormal basis (p, r) of the coefficients that such a solution for ``A`` (m, p) may have.

    >>> row_space(np.array([[1.0, 2.0], [2.0, 4.0]])).shape
    (2, 1)
    """
    size = _powers(np.linalg.norm(A, axis=0))
    _, s, Vt = np.linalg.svd(A / size, full_matrices=False)
    kept = s > max(tol, max(A.shape) * EPS) * s.max(initial=0.0)
    return _orthonormal(Vt[kept].T, size)


def minimum_norm_from_gram(
    S: np.ndarray, C: np.ndarray, *, tol: float = DEPENDENT, rounding: float = EPS
) -> MinimumNorm:
    r"""The same from :math:`S = A^\top A` (p, p) and :math:`C = A^\top B` (p, q), where only these are left.

    Eigenvalues are squares of singular values: of those, half the digits are lost. ``rounding`` is the relative error
    of the entries of S; eigenvalues below p times that are noise.

    >>> minimum_norm_from_gram(np.array([[14.0, 28.0], [28.0, 56.0]]), np.array([[70.0], [140.0]])).solution.round(9)
    array([[1.],
           [2.]])
    """
    live = S.diagonal() > 0
    if not live.all():
        part = minimum_norm_from_gram(S[np.ix_(live, live)], C[live], tol=tol, rounding=rounding)
        return MinimumNorm(_in_place(part.solution, live), part.rank)
    size = _powers(np.sqrt(S.diagonal()))
    values, axes = np.linalg.eigh(S / size / size[:, None])
    kept = values > max(tol**2, len(S) * rounding) * values.max(initial=0.0)
    scaled = axes[:, kept] @ ((axes[:, kept].T @ (C / size[:, None])) / values[kept][:, None])
    if kept.sum() < len(S):
        scaled = _shortest(scaled, axes[:, kept], size)
    return MinimumNorm(scaled / size[:, None], int(kept.sum()))


def _in_place(part: np.ndarray, live: np.ndarray) -> np.ndarray:
    """The rows of ``part`` where ``live``, zeros elsewhere."""
    whole = np.zeros((len(live), part.shape[1]))
    whole[live] = part
    return whole


def _powers(norms: np.ndarray) -> np.ndarray:
    """The power of two next above each norm, by which columns are divided without rounding; 1 where it is zero."""
    return np.where(norms > 0, np.ldexp(1.0, np.clip(np.frexp(norms)[1], -1021, 1023)), 1.0)


def _shortest(scaled: np.ndarray, kept: np.ndarray, size: np.ndarray) -> np.ndarray:
    """``scaled`` (p, q) plus the part in directions left out that makes ``scaled / size`` shortest.

    What is orthogonal to these directions in those units is spanned by the ``kept`` ones (p, r) times ``size``.
    """
    size = np.maximum(size / size.max(initial=0.0), SMALLEST)
    if (size == 1.0).all() or not kept.shape[1]:
        return scaled
    Q = _orthonormal(kept, size)
    with np.errstate(over="ignore", invalid="ignore"):
        return Q @ (Q.T @ (scaled / size[:, None])) * size[:, None]


def _orthonormal(kept: np.ndarray, size: np.ndarray) -> np.ndarray:
    """A basis (p, r) of the ``kept`` directions times ``size``."""
    size = np.maximum(size / size.max(initial=0.0), SMALLEST)
    # Rows from large to small, and columns by pivots: then each row keeps digits of its own, however small its size.
    # Pivots take longer, and where sizes differ by a few powers of two the digits are there without them.
    order = np.argsort(-size, kind="stable")
    pivoting = bool(size.min(initial=1.0) < ALIKE)
    Q = np.empty_like(kept)
    Q[order] = sl.qr((kept * size[:, None])[order], mode="economic", pivoting=pivoting, check_finite=False)[0]
    return Q
