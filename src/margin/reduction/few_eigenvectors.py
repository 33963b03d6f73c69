r"""A few of the largest eigenvalues of a large symmetric matrix, with their vectors.

Lanczos iterations from one vector need products with the matrix only and find them in a tenth of the time of a
tridiagonal form, but may miss copies of an eigenvalue that is there several times. So what is left after taking the
found ones out, :math:`A - U \Lambda U^\top`, is asked for its largest eigenvalue by a few powers of random columns:
where this exceeds the smallest found one, the whole matrix is decomposed.

A matrix that is itself a product, :math:`B B^\top`, need not be made where its spectrum falls: block Lanczos iterations
(Golub and Underwood 1977) multiply a block of columns by both factors, and stop early where they would be many.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

__all__ = ["few_largest", "few_largest_of_product"]

# Iterations pay for matrices of at least so many rows, and at least so many per eigenvalue wanted (measured).
LEAST_SIZE, ROWS_PER_VALUE = 400, 20
ACCURACY = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}  # of an eigenvector's product, relative
# Of a product with fewer rows, or less of them per eigenvalue, making the matrix is no slower. Blocks have as many
# columns as values are wanted, within limits.
LEAST_ROWS, ROWS_PER_BLOCK, BLOCK_COLUMNS = 1000, 50, (8, 24)
RESIDUAL = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-11}  # relative to the largest eigenvalue
# In the first steps the residual falls to a tenth, relative to the spread of the spectrum, then by half with every one;
# where it does not, the spectrum is flat, or flat below its first values, and the iterations would be many.
FIRST_CHECK, FIRST_FALL, FALL = 3, 0.1, 0.6
PROBED_ROWS = 4  # one row in so many tells it
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


def few_largest_of_product(B: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray] | None:
    r"""The ``k`` largest eigenvalues of :math:`B B^\top`, rising, and their vectors, from products with ``B`` (n, p).

    None where making the matrix is the faster way: for few rows or many values, and for a flat spectrum, on which
    iterations are slow. A few of them with every fourth row tell.
    """
    n = len(B)
    if n < LEAST_ROWS or k * ROWS_PER_BLOCK > n or B.shape[1] < n:
        return None
    width = min(max(k, BLOCK_COLUMNS[0]), BLOCK_COLUMNS[1])
    if not all(quick for quick, _ in islice(_block_lanczos(B[::PROBED_ROWS], k, width), 2)):
        return None
    steps = n // (8 * width)  # that take as long as making the matrix: it is symmetric, and the product thick
    for quick, eigenpairs in islice(_block_lanczos(B, k, width), steps):
        if eigenpairs is not None or not quick:
            return eigenpairs
    return None


def _block_lanczos(B: np.ndarray, k: int, width: int) -> Iterator[tuple[bool, tuple[np.ndarray, np.ndarray] | None]]:
    """After every step, the first few left out: whether the residual falls quickly, and the answer once it is there."""
    first, slow, bases, inner = max(FIRST_CHECK, -(-2 * k // width)), 0.0, [], np.zeros((0, 0))
    mean = float(np.einsum("ij,ij->i", B, B).mean(dtype=np.float64))  # of all eigenvalues
    block, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(len(B), width)).astype(B.dtype))
    for step in count(1):
        bases.append(block)
        basis = np.concatenate(bases, axis=1)
        coefficients, block, rest = _orthogonal(B @ (B.T @ block), basis)
        m = basis.shape[1]
        inner = np.pad(inner, (0, width))
        inner[:, m - width :], inner[m - width :] = coefficients, coefficients.T
        if step < first:
            continue
        values, vectors = np.linalg.eigh(inner)
        values, vectors = values[m - k :], vectors[:, m - k :]
        residual = float(np.linalg.norm(rest @ vectors[m - width :], axis=0).max())
        done = residual <= RESIDUAL[B.dtype] * values[-1]
        quick = done or residual <= (slow if step > first else FIRST_FALL * (values[-1] - mean))
        yield quick, (values, basis @ vectors.astype(B.dtype)) if done else None
        slow = FALL * residual


def _orthogonal(columns: np.ndarray, basis: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``columns`` as ``basis @ coefficients + block @ rest`` with an orthonormal block that is orthogonal to the basis.

    Where columns lie almost in the span, rounding is most of what is left of them: it is taken out once more.
    """
    coefficients = basis.T @ columns
    block, rest = np.linalg.qr(columns - basis @ coefficients)
    again = basis.T @ block
    block, once_more = np.linalg.qr(block - basis @ again)
    return coefficients + again @ rest, block, once_more @ rest
