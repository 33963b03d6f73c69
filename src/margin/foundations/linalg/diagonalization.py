r"""Diagonalization, :math:`P^{-1}AP = D`, and the matrices that have none.

In floating point "defective" is a matter of degree: rounding splits a repeated eigenvalue by about the square root of
the machine precision, and a basis of eigenvectors always comes back, but nearly parallel. The condition number of
that basis is therefore what decides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from margin.foundations.linalg.arguments import Array, as_square
from margin.foundations.linalg.spectra import Eigen, eig

__all__ = ["Eigendecomposition", "diagonalize", "eigendecompose", "is_diagonalizable"]

# Rounding leaves the eigenvectors of a defective matrix at a condition number of at least about eps^(-1/2) = 7e7.
DEFECTIVE_CONDITION = 1e7


class Eigendecomposition(NamedTuple):
    r""":math:`A = Q\Lambda Q^{-1}`, with :math:`\Lambda` as a full diagonal matrix."""

    Q: Array
    Lambda: Array


def eigendecompose(A: Any) -> Eigendecomposition:
    r"""The factors of :math:`A = Q\Lambda Q^{-1}`, the eigenvectors being the columns of Q.

    >>> Q, Lambda = eigendecompose([[3, 1], [1, 3]])
    >>> np.diag(Lambda).round(12)
    array([2., 4.])
    """
    return Eigendecomposition(*_eigenbasis("eigendecompose", A))


def diagonalize(A: Any) -> tuple[Array, Array]:
    r"""P and diagonal D with :math:`P^{-1}AP = D`."""
    return _eigenbasis("diagonalize", A)


def is_diagonalizable(A: Any) -> bool:
    """Whether A has n linearly independent eigenvectors (complex ones allowed), judged in floating point.

    >>> is_diagonalizable([[2, 1], [0, 1]]), is_diagonalizable([[1, 1], [0, 1]])
    (True, False)
    """
    return not _is_defective(eig(as_square("is_diagonalizable", "A", A)))


def _eigenbasis(function: str, A: Any) -> tuple[Array, Array]:
    pairs = eig(as_square(function, "A", A))
    if _is_defective(pairs):
        rank = np.linalg.matrix_rank(pairs.vectors, tol=1 / DEFECTIVE_CONDITION)
        raise np.linalg.LinAlgError(
            f"{function}: A is defective; its eigenvectors span {rank} of {len(pairs.values)} dimensions."
        )
    return pairs.vectors, np.diag(pairs.values)


def _is_defective(pairs: Eigen) -> bool:
    return bool(np.linalg.cond(pairs.vectors) > DEFECTIVE_CONDITION)
