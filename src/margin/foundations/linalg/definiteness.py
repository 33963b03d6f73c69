"""Positive definiteness."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from margin.core.arguments import integer
from margin.foundations.linalg.arguments import Array, as_square, as_symmetric
from margin.foundations.linalg.factorizations import cholesky

__all__ = ["is_positive_definite", "principal_submatrices", "random_positive_definite"]


def is_positive_definite(A: Any) -> bool:
    r"""Whether the symmetric matrix A has :math:`x^\top Ax > 0` for all :math:`x \ne 0`: whether Cholesky succeeds.

    A matrix that is only semidefinite (or indistinguishable from it in floating point) is not.

    >>> is_positive_definite([[2, 1], [1, 2]]), is_positive_definite([[1, 2], [2, 1]])
    (True, False)
    """
    A = as_symmetric("is_positive_definite", "A", A)
    try:
        cholesky(A)
    except np.linalg.LinAlgError:
        return False
    return True


def principal_submatrices(A: Any) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Every non-empty set of indices with the rows and columns of A it selects: 2^n - 1 submatrices."""
    A = as_square("principal_submatrices", "A", A)
    for size in range(1, len(A) + 1):
        for kept in combinations(range(len(A)), size):
            yield kept, A[np.ix_(kept, kept)]


def random_positive_definite(n: int, rng: np.random.Generator, *, smallest: float = 1.0) -> Array:
    r"""A random symmetric matrix :math:`M^\top M + cI` whose eigenvalues are at least ``smallest`` = c."""
    n = integer("random_positive_definite", "n", n, low=1)
    if not smallest > 0:
        raise ValueError(f"random_positive_definite: smallest must be positive; got {smallest}.")
    M = rng.standard_normal((n, n))
    return M.T @ M + smallest * np.eye(n)
