"""A few largest eigenpairs of a symmetric matrix that is known by its products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

__all__ = ["largest_eigenpairs"]

# Up to this many rows a dense decomposition is faster than iterating, and it never fails to converge.
DENSE_ROWS = 500


def largest_eigenpairs(
    product: Callable[[np.ndarray], np.ndarray],
    dense: Callable[[], np.ndarray],
    n: int,
    k: int,
    *,
    solver: str = "auto",
    tol: float = 0.0,
    max_iter: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The ``k`` largest eigenvalues (falling) and their vectors (n, k); the largest entry of each vector is positive.

    ``product(v)`` multiplies columns by the matrix, ``dense()`` writes it out; only one of them is called. ``solver``
    "arpack" iterates to a relative accuracy ``tol`` (0: 1e-9) in at most ``max_iter`` restarts, "dense" decomposes.
    """
    if solver == "dense" or (solver == "auto" and (n <= DENSE_ROWS or k > n // 4)) or k >= n - 1:
        values, vectors = eigh(dense(), subset_by_index=[n - k, n - 1])
    else:
        start = np.random.default_rng(0).normal(size=n)  # fixed: the result is a function of the matrix
        operator = LinearOperator((n, n), matvec=product, matmat=product, dtype=np.float64)
        values, vectors = eigsh(operator, k=k, which="LA", v0=start, tol=tol or 1e-9, maxiter=max_iter)
        order = np.argsort(values)
        values, vectors = values[order], vectors[:, order]
    values, vectors = values[::-1], vectors[:, ::-1]
    largest = np.abs(vectors).argmax(axis=0)
    return values, vectors * np.where(vectors[largest, np.arange(k)] < 0, -1.0, 1.0)
