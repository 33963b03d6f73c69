"""Determinant and adjugate."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.foundations.linalg.arguments import Array, as_square
from margin.foundations.linalg.factorizations import lu

__all__ = ["adjugate", "determinant"]


def determinant(A: Any) -> float:
    r"""The determinant from the pivots of elimination: :math:`\det A = \pm\prod_i U_{ii}`.

    Costs 2n^3/3 operations, against n! for the definition.

    >>> determinant([[1, 2], [3, 4]])
    -2.0
    """
    factors = lu(as_square("determinant", "A", A, real=True))
    return float(factors.sign * np.prod(np.diag(factors.U)))


def adjugate(A: Any) -> Array:
    r"""The transposed matrix of cofactors, :math:`\mathrm{adj}(A)_{ij} = (-1)^{i+j}\det A_{(j,i)}`.

    :math:`A_{(j,i)}` is A without row j and column i. It exists for every square matrix, satisfies
    :math:`A\,\mathrm{adj}(A) = \det(A) I`, and is not the adjoint. Costs n^2 determinants.

    >>> adjugate([[1, 2], [3, 4]])
    array([[ 4., -2.],
           [-3.,  1.]])
    """
    A = as_square("adjugate", "A", A, real=True)
    n = len(A)
    if n == 1:
        return np.ones((1, 1))  # the empty determinant
    adj = np.empty_like(A)
    for i in range(n):
        for j in range(n):
            minor = np.delete(np.delete(A, j, axis=0), i, axis=1)
            adj[i, j] = (-1) ** (i + j) * determinant(minor)
    return adj
