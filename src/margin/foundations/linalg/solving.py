"""Linear systems Ax = b, by each factorization. Nothing is inverted.

"cholesky" needs A symmetric positive definite (n^3/3 operations), "lu" needs it invertible (2n^3/3), "svd" takes any
matrix (about 20n^3) and returns the shortest of the best solutions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from margin.foundations.linalg.arguments import Array, as_array, as_matrix, as_square
from margin.foundations.linalg.factorizations import cholesky, lu, rounding_level
from margin.foundations.linalg.spectra import svd
from margin.foundations.linalg.triangular import backward_substitution, forward_substitution

__all__ = ["TwoStepSolution", "cholesky_solve", "lu_solve", "solve", "svd_solve"]


class TwoStepSolution(NamedTuple):
    """The solution x and the intermediate z of the forward substitution."""

    x: Array
    z: Array


def solve(A: Any, b: Any, method: str = "lu") -> Array:
    """x with Ax = b; b is (n,) or (n, k). ``method`` is "cholesky", "lu" or "svd".

    >>> solve([[4, 2], [2, 5]], [8, 8], method="cholesky")
    array([1.5, 1. ])
    """
    if method == "cholesky":
        return cholesky_solve(A, b).x
    if method == "lu":
        return lu_solve(A, b).x
    if method == "svd":
        return svd_solve(A, b)
    raise ValueError(f"solve: method must be 'cholesky', 'lu' or 'svd'; got {method!r}.")


def cholesky_solve(A: Any, b: Any) -> TwoStepSolution:
    r""":math:`A = LL^\top`: solve :math:`Lz = b` forwards, then :math:`L^\top x = z` backwards."""
    L = cholesky(A)
    z = forward_substitution(L, b)
    return TwoStepSolution(backward_substitution(L.T, z), z)


def lu_solve(A: Any, b: Any) -> TwoStepSolution:
    r""":math:`A_{\mathrm{order}} = LU`: solve :math:`Lz = b_{\mathrm{order}}` forwards, then :math:`Ux = z`."""
    A = as_square("solve", "A", A, real=True)
    b = as_array("solve", "b", b)
    if b.ndim not in (1, 2) or len(b) != len(A):
        raise ValueError(f"solve: b must have {len(A)} rows; got shape {b.shape}.")
    factors = lu(A)
    pivots = np.abs(np.diag(factors.U))
    lost = np.flatnonzero(pivots <= rounding_level(A))
    if lost.size:
        k = lost[0]
        raise np.linalg.LinAlgError(f"solve: A is singular to working precision; pivot {k} is {pivots[k]:.3g}.")
    z = forward_substitution(factors.L, b[factors.order], unit_diagonal=True)
    return TwoStepSolution(backward_substitution(factors.U, z), z)


def svd_solve(A: Any, b: Any, rcond: float | None = None) -> Array:
    r""":math:`x = V\Sigma^+U^\top b`, where :math:`\Sigma^+` inverts only the singular values that are not zero.

    For invertible A this is the solution; otherwise the least-squares solution of smallest norm. Singular values
    below ``rcond`` times the largest count as zero; the default is the rounding level, eps times max(m, n).
    """
    A = as_matrix("svd_solve", "A", A, real=True)
    b = as_array("svd_solve", "b", b)
    if b.ndim not in (1, 2) or len(b) != len(A):
        raise ValueError(f"svd_solve: b must have {len(A)} rows; got shape {b.shape}.")
    if rcond is not None and not 0 <= rcond < 1:
        raise ValueError(f"svd_solve: rcond must be in [0, 1); got {rcond}.")
    U, s, V = svd(A)
    cutoff = (max(A.shape) * np.finfo(float).eps if rcond is None else rcond) * s[0]
    kept = s > cutoff
    coordinates = U[:, kept].T @ b  # (rank,) or (rank, k)
    return V[:, kept] @ (coordinates.T / s[kept]).T
