"""Eigenvalues, eigenvectors and singular values.

Each decomposition has two methods: "lapack", the fast one, and an algorithm of our own that can be read
(:mod:`~margin.foundations.linalg.jacobi`, :mod:`~margin.foundations.linalg.qr_algorithm`). Both cost O(n^3); LAPACK's
constant is about a hundred times smaller.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from margin.foundations.linalg.arguments import Array, as_array, as_matrix, as_square, as_symmetric
from margin.foundations.linalg.jacobi import jacobi_eigh, jacobi_svd
from margin.foundations.linalg.qr_algorithm import qr_eig

__all__ = ["SVD", "Eigen", "characteristic_polynomial", "eig", "eigh", "is_eigenpair", "svd"]

# Imaginary parts below this many rounding errors of the matrix's size are rounding errors themselves.
REAL_WITHIN_ROUNDINGS = 1000


class Eigen(NamedTuple):
    """``A @ vectors[:, i] = values[i] * vectors[:, i]``."""

    values: Array  # (n,)
    vectors: Array  # (n, n), unit columns


class SVD(NamedTuple):
    r""":math:`A = U\,\mathrm{diag}(s)\,V^\top`; note that V is returned, not its transpose."""

    U: Array
    s: Array  # descending, non-negative
    V: Array


def eig(A: Any, method: str = "lapack") -> Eigen:
    r"""All pairs :math:`Ax = \lambda x`, :math:`x \ne 0`, of a square matrix; ``method`` is "lapack" or "qr".

    Sorted by real, then imaginary part of the eigenvalue; real arrays when all eigenvalues are real.

    >>> values, vectors = eig([[3, 1], [1, 3]])
    >>> values.round(12)
    array([2., 4.])
    """
    A = as_square("eig", "A", A)
    if _choose_method("eig", method, "qr") == "lapack":
        values, vectors = np.linalg.eig(A)
    else:
        size = _power_of_two_near(A)
        values, vectors = qr_eig(A / size)
        values = values * size
    negligible = REAL_WITHIN_ROUNDINGS * np.finfo(float).eps * len(A) * np.abs(A).max()
    if np.isrealobj(A) and np.iscomplexobj(values) and np.abs(values.imag).max() <= negligible:
        values, vectors = values.real, _without_phase(vectors)
    # Conjugate pairs have equal real parts only up to rounding.
    size = max(float(np.abs(values).max()), np.finfo(float).tiny)
    order = np.lexsort((values.imag, np.round(values.real / size, 10)))
    return Eigen(values[order], vectors[:, order])


def eigh(A: Any, method: str = "lapack") -> Eigen:
    r""":math:`A = Q\Lambda Q^\top` of a real symmetric matrix; ``method`` is "lapack" or "jacobi".

    The eigenvalues are real, ascending; the eigenvectors are chosen orthonormal, also for repeated eigenvalues.

    >>> eigh([[3, 1], [1, 3]]).values.round(12)
    array([2., 4.])
    """
    A = as_symmetric("eigh", "A", A)
    if _choose_method("eigh", method, "jacobi") == "lapack":
        return Eigen(*np.linalg.eigh(A))
    size = _power_of_two_near(A)
    values, vectors = jacobi_eigh(A / size)
    return Eigen(values * size, vectors)


def svd(A: Any, method: str = "lapack", *, full: bool = False) -> SVD:
    r""":math:`A = U\Sigma V^\top` of any real (m, n) matrix; ``method`` is "lapack" or "jacobi".

    Thin by default: U is (m, r), V is (n, r) with r = min(m, n). With ``full`` they are square and orthogonal.

    >>> svd([[3, 0], [0, -4], [0, 0]]).s
    array([4., 3.])
    """
    A = as_matrix("svd", "A", A, real=True)
    if _choose_method("svd", method, "jacobi") == "lapack":
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        V = Vt.T
    else:
        size = _power_of_two_near(A)
        U, s, V = jacobi_svd(A / size)
        s = s * size
    return SVD(_complete(U), s, _complete(V)) if full else SVD(U, s, V)


def characteristic_polynomial(A: Any) -> Array:
    r"""Coefficients, highest power first, of :math:`\det(\lambda I - A)`, by Faddeev and LeVerrier's recursion.

    :math:`M_1 = I,\; c_k = -\mathrm{Tr}(AM_k)/k,\; M_{k+1} = AM_k + c_k I`; n matrix products.

    >>> characteristic_polynomial([[2, 1], [1, 2]])
    array([ 1., -4.,  3.])
    """
    A = as_square("characteristic_polynomial", "A", A)
    n = len(A)
    coefficients = np.ones(n + 1, dtype=A.dtype)
    M = np.eye(n, dtype=A.dtype)
    for k in range(1, n + 1):
        AM = A @ M
        coefficients[k] = -np.trace(AM) / k
        M = AM + coefficients[k] * np.eye(n)
    return coefficients


def is_eigenpair(A: Any, value: complex, vector: Any, tol: float = 1e-10) -> bool:
    r"""Whether ``vector`` is non-zero and :math:`\|Ax - \lambda x\| \le \mathrm{tol}\,\|A\|\|x\|`.

    >>> is_eigenpair([[1, 1], [0, 1]], 1.0, [1, 0]), is_eigenpair([[1, 1], [0, 1]], 1.0, [0, 0])
    (True, False)
    """
    A, x = as_square("is_eigenpair", "A", A), as_array("is_eigenpair", "vector", vector)
    if np.ndim(value) != 0:
        raise ValueError(f"is_eigenpair: value must be one number, the eigenvalue; got shape {np.shape(value)}.")
    if x.shape != (len(A),):
        raise ValueError(f"is_eigenpair: vector must have {len(A)} numbers; got shape {x.shape}.")
    length = np.linalg.norm(x)
    return bool(length > 0 and np.linalg.norm(A @ x - value * x) <= tol * np.linalg.norm(A) * length)


def _choose_method(function: str, method: str, own: str) -> str:
    if method not in ("lapack", own):
        raise ValueError(f"{function}: method must be 'lapack' or {own!r}; got {method!r}.")
    return method


def _power_of_two_near(A: Array) -> float:
    """A power of two of the size of A's largest entry: dividing by it is exact, and squares then stay in range."""
    return float(np.ldexp(1.0, np.frexp(np.abs(A).max())[1] - 1))


def _without_phase(vectors: Array) -> Array:
    """Turn every complex column by the phase of its largest entry, which makes a real eigenvector real."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    real = (vectors * (np.abs(largest) / largest)).real
    return real / np.linalg.norm(real, axis=0)


def _complete(thin: Array) -> Array:
    """Orthonormal columns extended to a basis of the whole space."""
    rows, columns = thin.shape
    return np.hstack([thin, np.linalg.qr(thin, mode="complete")[0][:, columns:]]) if columns < rows else thin
