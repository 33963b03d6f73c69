"""Factorizations in place, in the lower triangle of C-ordered arrays.

LAPACK reads columns first, so the lower triangle of a C-ordered array is the upper one of its transpose, which needs
no copy. Positive semi-definite matrices of smooth kernels are often singular to working precision; then the smallest of
a ladder of jitters that helps is added to the diagonal, and reported.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from margin.foundations.statistics.gaussian_process import JITTERS

__all__ = [
    "cholesky_in_place",
    "copy_lower",
    "factorize",
    "inverse_in_place",
    "log_determinant",
    "mirror",
    "solve_factored",
    "symmetric_product",
]

Floats = NDArray[np.float64]

ROWS = 256  # of a block that is copied


def cholesky_in_place(A: Floats) -> bool:
    """L of L L^T = A into the lower triangle; False if A is not positive definite."""
    return dpotrf(A.T, lower=0, overwrite_a=1, clean=0)[1] == 0


def inverse_in_place(L: Floats) -> None:
    """The inverse of L L^T over its factor."""
    dpotri(L.T, lower=0, overwrite_c=1)


def solve_factored(L: Floats, b: Floats) -> Floats:
    """The x with L L^T x = b."""
    return np.asarray(dpotrs(L.T, b, lower=0)[0])


def symmetric_product(A: Floats, v: Floats) -> Floats:
    """A v from the lower triangle of A."""
    return np.asarray(dsymv(1.0, A.T, v, lower=0))


def log_determinant(L: Floats) -> float:
    return 2 * float(np.log(L.diagonal()).sum())


def copy_lower(source: Floats, target: Floats) -> None:
    """The lower triangle of ``source``; what is above the diagonal of ``target`` stays."""
    for start in range(0, len(source), ROWS):
        stop = min(start + ROWS, len(source))
        target[start:stop, :start] = source[start:stop, :start]
        np.copyto(
            target[start:stop, start:stop],
            source[start:stop, start:stop],
            where=np.tri(stop - start, dtype=bool),
        )


def mirror(A: Floats) -> Floats:
    """The symmetric matrix whose lower triangle is that of A."""
    lower = np.tril(A)
    return lower + np.tril(A, -1).T


def factorize(gram: Floats, factor: Floats, noise: Floats | float) -> float | None:
    """Cholesky of (lower triangle of ``gram``) + diag(noise) into ``factor``, which already holds a copy of it.

    Returns the jitter, relative to the mean of the diagonal, that was needed; None if none of the ladder helps.
    """
    diagonal = gram.diagonal() + noise
    for rung, jitter in enumerate(JITTERS):
        if rung:
            copy_lower(gram, factor)
        np.fill_diagonal(factor, diagonal + jitter * float(diagonal.mean()))
        if np.isfinite(diagonal).all() and cholesky_in_place(factor):
            return float(jitter)
    return None
