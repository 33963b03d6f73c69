"""Cholesky and LU: a matrix as a product of triangular ones.

Both take their columns in blocks: the columns of a block are reduced one at a time, the influence of a finished
block on the rest is one matrix product. That product is where nearly all of the n^3/3 (Cholesky) or 2n^3/3 (LU)
operations happen: at n = 1000 they take about two (Cholesky) and four (LU) times as long as LAPACK's.
See :mod:`~margin.foundations.linalg.triangular` for the block size.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from margin.foundations.linalg.arguments import Array, as_square, as_symmetric
from margin.foundations.linalg.triangular import BLOCK, forward_substitution

__all__ = ["LU", "cholesky", "is_diagonally_dominant", "lu", "rounding_level"]


# Elimination adds up n rounding errors of the size of a column's entries, and entries may grow a little on the way.
PIVOT_ROUNDINGS = 10


class LU(NamedTuple):
    r"""``A[order] = L @ U``; ``sign`` is the parity of ``order``, so :math:`\det A = \mathrm{sign}\prod_i U_{ii}`."""

    order: Array  # (n,) row of A that became row i
    L: Array  # (n, n) lower triangular, ones on the diagonal
    U: Array  # (n, n) upper triangular
    sign: int


def cholesky(A: Any) -> Array:
    r"""The lower-triangular L with positive diagonal and :math:`LL^\top = A`, for symmetric positive-definite A.

    .. math::
        L_{jj} = \sqrt{A_{jj} - \sum_{k<j} L_{jk}^2}, \qquad
        L_{ij} = \Bigl(A_{ij} - \sum_{k<j} L_{ik}L_{jk}\Bigr) / L_{jj} \quad (i > j)

    The square root is taken of what is left of :math:`A_{jj}`. Nothing left beyond rounding means that A is not
    positive definite, and a ``LinAlgError`` says at which column.

    >>> cholesky([[4, 2], [2, 5]])
    array([[2., 0.],
           [1., 2.]])
    """
    A = as_symmetric("cholesky", "A", A)
    n = len(A)
    L = np.tril(A)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        L[start:, start:stop] -= L[start:, :start] @ L[start:stop, :start].T
        for j in range(start, stop):
            L[j:, j] -= L[j:, start:j] @ L[j, start:j]
            if L[j, j] <= n * np.finfo(float).eps * abs(A[j, j]):
                raise np.linalg.LinAlgError(
                    f"cholesky: A is not positive definite; column {j} leaves the pivot {L[j, j]:.3g}."
                )
            L[j:, j] /= np.sqrt(L[j, j])
    return np.tril(L)


def lu(A: Any, *, pivot: bool = True) -> LU:
    r"""Gaussian elimination as a factorization: :math:`A_{\mathrm{order}} = LU`.

    With ``pivot`` the largest entry left in a column is moved up before it divides; every square matrix then has a
    factorization and the multipliers in L are at most 1. Without, ``order`` is the identity and an invertible A has a
    factorization exactly when its leading principal minors are non-zero; a ``LinAlgError`` names the first that is.

    >>> order, L, U, sign = lu([[1, 2], [3, 4]], pivot=False)
    >>> L
    array([[1., 0.],
           [3., 1.]])
    >>> U
    array([[ 1.,  2.],
           [ 0., -2.]])
    """
    W = as_square("lu", "A", A, real=True)  # holds U above and the multipliers of L below the diagonal
    n = len(W)
    negligible = rounding_level(W)
    order, sign = np.arange(n), 1
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        for k in range(start, stop):
            if pivot:
                best = k + int(np.argmax(np.abs(W[k:, k])))
                if best != k:
                    W[[k, best]], order[[k, best]], sign = W[[best, k]], order[[best, k]], -sign
            _eliminate(W, k, stop, negligible[k])
        L_block = W[start:stop, start:stop]
        W[start:stop, stop:] = _trailing_rows(L_block, W[start:stop, stop:])
        W[stop:, stop:] -= W[stop:, start:stop] @ W[start:stop, stop:]
    return LU(order, np.tril(W, -1) + np.eye(n), np.triu(W), sign)


def rounding_level(A: Array) -> Array:
    """Per column of A, the size up to which a pivot is indistinguishable from zero: a few n eps max|A|."""
    return PIVOT_ROUNDINGS * len(A) * np.finfo(float).eps * np.abs(A).max(axis=0)


def is_diagonally_dominant(A: Any, *, strict: bool = False) -> bool:
    r"""Whether :math:`|A_{ii}| \ge \sum_{j\ne i}|A_{ij}|` (``>`` if ``strict``) in every row.

    >>> is_diagonally_dominant([[2, -1], [1, 1]]), is_diagonally_dominant([[2, -1], [1, 1]], strict=True)
    (True, False)
    """
    sizes = np.abs(as_square("is_diagonally_dominant", "A", A))
    diagonal = np.diag(sizes)
    others = (sizes - np.diag(diagonal)).sum(axis=1)
    return bool(np.all(diagonal > others if strict else diagonal >= others))


def _eliminate(W: Array, k: int, stop: int, negligible: float) -> None:
    """Subtract multiples of row k so that column k vanishes below it, in the columns k..stop."""
    if abs(W[k, k]) <= negligible:
        if np.abs(W[k + 1 :, k]).max(initial=0.0) > negligible:
            raise np.linalg.LinAlgError(
                f"lu: the leading principal minor of order {k + 1} is zero, so A = LU needs row exchanges (pivot=True)."
            )
        W[k + 1 :, k] = 0.0
        return
    W[k + 1 :, k] /= W[k, k]
    W[k + 1 :, k + 1 : stop] -= np.outer(W[k + 1 :, k], W[k, k + 1 : stop])


def _trailing_rows(L_block: Array, rows: Array) -> Array:
    return forward_substitution(L_block, rows, unit_diagonal=True) if rows.size else rows
