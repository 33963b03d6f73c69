"""The inverse, and the many ways in which a square matrix can tell that it has none."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from margin.foundations.linalg.arguments import Array, as_square
from margin.foundations.linalg.determinants import determinant
from margin.foundations.linalg.factorizations import lu
from margin.foundations.linalg.solving import lu_solve
from margin.foundations.linalg.spectra import svd

__all__ = ["SingularityReport", "inverse", "singularity_report"]

# A matrix of unit rows and columns nearer than this to a singular one, relative to its size, counts as singular:
# rounding a product of random factors rarely leaves more.
SINGULAR_WITHIN = 1e-12
# How far Q^T Q x may be from x, relative to x, for Q to pass as orthogonal.
ORTHOGONAL_WITHIN = 1e-8


class SingularityReport(NamedTuple):
    """The conditions of (non)singularity, each computed on its own."""

    determinant: float
    determinant_is_zero: bool
    rank: int
    null_vector: Array | None
    invertible: bool
    dependent_columns: Array  # (n,) whether column j is a combination of the other columns

    @property
    def agree(self) -> bool:
        """Whether all conditions give the same answer."""
        n = len(self.dependent_columns)
        verdicts = {
            self.determinant_is_zero,
            self.rank < n,
            self.null_vector is not None,
            not self.invertible,
            bool(self.dependent_columns.any()),
        }
        return len(verdicts) == 1


def inverse(A: Any, structure: str = "general") -> Array:
    r""":math:`A^{-1}`, for the rare case in which the inverse itself is wanted; otherwise :func:`solve`.

    "general" eliminates (2n^3 operations). "orthogonal" returns the transpose, at no cost; that A is orthogonal is
    verified on one vector, :math:`A^\top Ax = x`, in n^2 operations.

    >>> inverse([[1, 2], [3, 4]])
    array([[-2. ,  1. ],
           [ 1.5, -0.5]])
    """
    A = as_square("inverse", "A", A, real=True)
    if structure == "general":
        return lu_solve(A, np.eye(len(A))).x
    if structure != "orthogonal":
        raise ValueError(f"inverse: structure must be 'general' or 'orthogonal'; got {structure!r}.")
    probe = np.random.default_rng(0).standard_normal(len(A))
    if np.linalg.norm(A.T @ (A @ probe) - probe) > ORTHOGONAL_WITHIN * np.linalg.norm(probe):
        raise ValueError("inverse: A is not orthogonal; A^T A x differs from x.")
    return A.T


def singularity_report(A: Any) -> SingularityReport:
    """Determinant, rank, null vector, inverse and dependence of the columns of a square matrix.

    Rows and columns are first brought to unit size, which changes none of the conditions, so that a matrix is not
    called singular for its units of measurement. Each condition is then computed in its own way: pivots, singular
    values, an inverse, and the rank without each column.

    >>> report = singularity_report([[1, 2], [2, 4]])
    >>> report.rank, report.invertible, report.agree
    (1, False, True)
    """
    A = as_square("singularity_report", "A", A, real=True)
    scaled = A / _sizes(A, axis=1)
    column_sizes = _sizes(scaled, axis=0)
    scaled = scaled / column_sizes
    decomposed = svd(scaled)
    rank = _rank(decomposed.s)
    null_vector = decomposed.V[:, -1] / column_sizes[0] if rank < len(A) else None
    return SingularityReport(
        determinant=determinant(A),
        determinant_is_zero=bool(np.abs(np.diag(lu(scaled).U)).min() <= SINGULAR_WITHIN),
        rank=rank,
        null_vector=None if null_vector is None else null_vector / np.linalg.norm(null_vector),
        invertible=_has_inverse(scaled),
        dependent_columns=np.array([_rank_without(scaled, j) == rank for j in range(len(A))]),
    )


def _sizes(A: Array, axis: int) -> Array:
    sizes = np.abs(A).max(axis=axis, keepdims=True)
    return np.where(sizes > 0, sizes, 1.0)


def _rank(s: Array) -> int:
    return int(np.sum(s > SINGULAR_WITHIN * s[0]))


def _rank_without(A: Array, column: int) -> int:
    rest = np.delete(A, column, axis=1)
    return _rank(svd(rest).s) if rest.size else 0


def _has_inverse(A: Array) -> bool:
    try:
        condition = np.linalg.norm(A) * np.linalg.norm(inverse(A))
    except np.linalg.LinAlgError:
        return False
    return bool(condition < 1 / SINGULAR_WITHIN)
