r"""A few of the largest eigenvalues of a large symmetric matrix, with their vectors.

Lanczos iterations from one vector need products with the matrix only and find them in a tenth of the time of a
tridiagonal form, but may miss copies of an eigenvalue that is there several times. So what is left after taking the
found ones out, :math:`A - U \Lambda U^\top`, is asked for its largest eigenvalue by a few powers of random columns:
where this exceeds the smallest found one, the whole matrix is decomposed.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

__all__ = ["few_largest"]

# Iterations pay for matrices of at least so many rows, and at least so many per eigenvalue wanted (measured).
LEAST_SIZE, ROWS_PER_VALUE = 400, 20
ACCURACY = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}  # of an eigenvector's product, relative
PROBES, POWERS = 8, 3  # random columns and how often they are multiplied to look for what was missed


def few_largest(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``k`` largest eigenvalues, rising, and their vectors as columns, in the precision of ``matrix``.

    >>> few_largest(np.diag([1.0, 5.0, 3.0]), 2)[0]
    array([3., 5.])
    """
    size = len(matrix)
    if size >= LEAST_SIZE and k * ROWS_PER_VALUE <= size:
        rng = np.random.default_rng(0)  # fixed: the result is a function of the matrix
        start = rng.normal(size=size).astype(matrix.dtype)
        try:
            values, vectors = eigsh(matrix, k=k, which="LA", v0=start, tol=ACCURACY[matrix.dtype])
        except ArpackNoConvergence:
            values = np.full(k, -np.inf)
        order = np.argsort(values)
        if np.isfinite(values).all() and not _misses(matrix, values, vectors, rng):
            return values[order], vectors[:, order]
    return eigh(matrix, subset_by_index=[size - k, size - 1], check_finite=False)


def _misses(matrix: np.ndarray, values: np.ndarray, vectors: np.ndarray, rng: np.random.Generator) -> bool:
    """Whether an eigenvalue larger than the smallest of ``values`` is left besides them."""
    columns = rng.normal(size=(len(matrix), PROBES)).astype(matrix.dtype)
    for _ in range(POWERS):
        columns, _ = np.linalg.qr(columns - vectors @ (vectors.T @ columns))
        products = matrix @ columns
        left, columns = columns.T @ products, products
    return bool(np.linalg.eigvalsh(left)[-1] > values.min() + 1e-5 * np.abs(values).max())
