r"""Columns of a kernel matrix into memory that is already there: the inner loop of every solver in this package.

``KernelColumns`` knows n rows and writes :math:`k(x_i, x_j)` for all i and a few chosen j into lines of an array.
Linear, polynomial, Gaussian, Laplace and periodic kernels are all one matrix product, whose factors are prepared once,
followed by elementwise work that is done while a block is in cache:

.. math:: -\tfrac12\|x-z\|^2 = \bigl(x,\,-\tfrac12\|x\|^2,\,1\bigr)^\top\bigl(z,\,1,\,-\tfrac12\|z\|^2\bigr).

Sums and products combine the columns of two kernels; any other kernel is simply called.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from margin.core.chunks import map_row_chunks
from margin.foundations.probability.kernels import raise_in_place
from margin.foundations.probability.pair_matrices import longest_row
from margin.kernels.algebra import Product, Sum
from margin.kernels.dot_product import LinearKernel, PolynomialKernel
from margin.kernels.function_kernel import FunctionKernel
from margin.kernels.kernel import Kernel
from margin.kernels.periodic import PeriodicKernel
from margin.kernels.sparse_rows import check_sparse_form, kernel_values, write_out
from margin.kernels.stationary import RBF, LaplaceKernel, WhiteKernel

__all__ = ["KernelColumns", "columns_of", "columns_of_matrix", "full_matrix"]

Array = NDArray[Any]
Finish = Callable[[Array], None]

BLOCK_BYTES = 1 << 20  # of one block of results: product, exponential and the rest happen while it is in cache
COMBINED = 256  # chosen rows whose values are combined at a time
FAR_APART = 1e3  # half the squared distance to the center: in float32 its rounding is then a few thousandths
EXPONENTIAL_COST = 30  # multiplications that an exponential is worth when threads are counted


class KernelColumns(ABC):
    """Values k(x_i, x_j) of its ``n`` rows i against any chosen rows j of the data, in floats of type ``dtype``."""

    n: int
    dtype: np.dtype[Any]

    @abstractmethod
    def block(self, chosen: Array) -> Callable[[slice, Array], None]:
        """A function that writes k(x_j, x_i), chosen j by rows i of a slice, into a contiguous array."""

    @abstractmethod
    def of_rows(self, rows: Array) -> KernelColumns:
        """The columns of some of the rows; chosen ones keep their numbers."""

    def fill(self, chosen: Array, out: Array, lines: Array | slice = slice(None)) -> None:
        """Write k(x_j, x_i) into the ``lines`` of ``out`` (many, n), one for each chosen j."""
        self._visit(chosen, lambda rows, values: _assign(out, lines, rows, values))

    def combine(self, chosen: Array, coef: Array) -> NDArray[np.float64]:
        r""":math:`\sum_j c_j k(x_i, x_j)` over the chosen j for every row i; only one block is ever in memory."""
        total = np.zeros(self.n)
        for start in range(0, len(chosen), COMBINED):
            weights = coef[start : start + COMBINED].astype(self.dtype)

            def add(rows: slice, values: Array, weights: Array = weights) -> None:
                total[rows] += weights @ values

            self._visit(chosen[start : start + COMBINED], add)
        return total

    def _visit(self, chosen: Array, use: Callable[[slice, Array], None]) -> None:
        if len(chosen) == 0:
            return
        write = self.block(chosen)
        width = max(1, BLOCK_BYTES // (len(chosen) * self.dtype.itemsize))

        def chunk(part: slice) -> None:
            memory = np.empty(len(chosen) * min(width, part.stop - part.start), dtype=self.dtype)
            for start in range(part.start, part.stop, width):
                rows = slice(start, min(start + width, part.stop))
                values = memory[: len(chosen) * (rows.stop - rows.start)].reshape(len(chosen), -1)
                write(rows, values)
                use(rows, values)

        map_row_chunks(chunk, self.n, work=self.n * len(chosen) * EXPONENTIAL_COST)


def _assign(out: Array, lines: Array | slice, rows: slice, values: Array) -> None:
    out[lines, rows] = values


class ProductColumns(KernelColumns):
    """``finish`` of left right^T."""

    def __init__(self, left: Array, right: Array, finish: Finish, dtype: np.dtype[Any]):
        self.left, self.right = (np.ascontiguousarray(side, dtype=dtype) for side in (left, right))
        self.finish, self.n, self.dtype = finish, len(left), dtype

    def block(self, chosen: Array) -> Callable[[slice, Array], None]:
        picked = self.right[chosen]

        def write(rows: slice, out: Array) -> None:
            self.finish(np.matmul(picked, self.left[rows].T, out=out))

        return write

    def of_rows(self, rows: Array) -> KernelColumns:
        return ProductColumns(self.left[rows], self.right, self.finish, self.dtype)


class CombinedColumns(KernelColumns):
    """The columns of two kernels, combined by ``np.add`` or ``np.multiply``."""

    def __init__(self, first: KernelColumns, second: KernelColumns, join: np.ufunc):
        self.first, self.second, self.join = first, second, join
        self.n, self.dtype = first.n, first.dtype

    def block(self, chosen: Array) -> Callable[[slice, Array], None]:
        first, second = self.first.block(chosen), self.second.block(chosen)

        def write(rows: slice, out: Array) -> None:
            other = np.empty_like(out)
            first(rows, out)
            second(rows, other)
            self.join(out, other, out=out)

        return write

    def of_rows(self, rows: Array) -> KernelColumns:
        return CombinedColumns(self.first.of_rows(rows), self.second.of_rows(rows), self.join)


class CalledColumns(KernelColumns):
    """Any kernel, and any of sparse rows, called block by block."""

    def __init__(self, kernel: Kernel, X: Array, dtype: np.dtype[Any], rows: Array | None = None):
        self.kernel, self.X, self.dtype = kernel, X, dtype
        self.own = X if rows is None else X[rows]
        self.n = self.own.shape[0]

    def block(self, chosen: Array) -> Callable[[slice, Array], None]:
        picked = self.X[chosen]

        def write(rows: slice, out: Array) -> None:
            out[:] = kernel_values(self.kernel, picked, self.own[rows])

        return write

    def of_rows(self, rows: Array) -> KernelColumns:
        return CalledColumns(self.kernel, self.X, self.dtype, rows)


class NoiseColumns(KernelColumns):
    """Noise: a row is only like itself."""

    def __init__(self, value: float, rows: Array, dtype: np.dtype[Any]):
        self.value, self.rows, self.n, self.dtype = value, rows, len(rows), dtype

    def block(self, chosen: Array) -> Callable[[slice, Array], None]:
        def write(rows: slice, out: Array) -> None:
            out[:] = self.value * (chosen[:, None] == self.rows[rows])

        return write

    def of_rows(self, rows: Array) -> KernelColumns:
        return NoiseColumns(self.value, self.rows[rows], self.dtype)


class PrecomputedColumns(KernelColumns):
    """Columns of a matrix that was computed elsewhere."""

    def __init__(self, matrix: Array):
        self.matrix, self.n, self.dtype = matrix, len(matrix), matrix.dtype

    def block(self, chosen: Array) -> Callable[[slice, Array], None]:
        def write(rows: slice, out: Array) -> None:
            out[:] = self.matrix[rows][:, chosen].T

        return write

    def of_rows(self, rows: Array) -> KernelColumns:
        return PrecomputedColumns(self.matrix[rows])


def columns_of(kernel: Kernel, X: Array, dtype: Any = np.float64) -> KernelColumns:
    """The columns of ``kernel`` on the rows of ``X``, computing in ``dtype``."""
    dtype = np.dtype(dtype)
    if sp.issparse(X):
        check_sparse_form(kernel)
        X = X if isinstance(kernel, FunctionKernel) else write_out(X)
    if sp.issparse(X):
        return CalledColumns(kernel, X.astype(dtype), dtype)
    if isinstance(kernel, Sum | Product):
        join = np.add if isinstance(kernel, Sum) else np.multiply
        return CombinedColumns(columns_of(kernel.k1, X, dtype), columns_of(kernel.k2, X, dtype), join)
    if isinstance(kernel, WhiteKernel):
        return NoiseColumns(kernel.noise_level, np.arange(len(X)), dtype)
    if isinstance(kernel, LinearKernel):
        return ProductColumns(X, X, _nothing, dtype)
    if isinstance(kernel, PolynomialKernel):
        return ProductColumns(kernel.gamma * X, X, _power(kernel.degree, dtype.type(kernel.coef0)), dtype)
    if isinstance(kernel, RBF | LaplaceKernel):
        left, right = _half_distances(kernel.scaled(X))
        if not -2 * right[:, -1].min() <= longest_row(dtype):
            return CalledColumns(kernel, X, dtype)
        finish = _exponential_of_distances(left) if isinstance(kernel, RBF) else _exponential_of_root
        return ProductColumns(left, right, finish, dtype)
    if isinstance(kernel, PeriodicKernel):
        # On circles of radius 1/l the squared distance is (4/l^2) sin^2: half of it is the exponent.
        angle = 2 * np.pi * X / kernel.periodicity
        circles = np.concatenate([np.cos(angle), np.sin(angle)], axis=1) / kernel.length_scale
        return ProductColumns(*_half_distances(circles), _exponential, dtype)
    return CalledColumns(kernel, X, dtype)


def columns_of_matrix(matrix: Array) -> KernelColumns:
    """The columns of a precomputed kernel matrix."""
    return PrecomputedColumns(matrix)


def full_matrix(columns: KernelColumns) -> Array:
    """All columns: the (n, n) kernel matrix."""
    if isinstance(columns, PrecomputedColumns) and columns.matrix.shape == (columns.n, columns.n):
        return columns.matrix
    out = np.empty((columns.n, columns.n), dtype=columns.dtype)
    rows = max(1, BLOCK_BYTES // max(1, columns.n * columns.dtype.itemsize))
    for start in range(0, columns.n, rows):
        chosen = np.arange(start, min(start + rows, columns.n))
        columns.block(chosen)(slice(0, columns.n), out[chosen[0] : chosen[-1] + 1])
    return out


def _half_distances(X: Array) -> tuple[Array, Array]:
    """Factors whose product is minus half the squared distance; centered, so that a common offset costs no digits."""
    X = X - X.mean(axis=0)
    half = -0.5 * np.einsum("ij,ij->i", X, X)[:, None]
    one = np.ones_like(half)
    return np.concatenate([X, half, one], axis=1), np.concatenate([X, one, half], axis=1)


def _nothing(block: Array) -> None:
    pass


def _power(degree: int, offset: Any) -> Finish:
    def finish(block: Array) -> None:
        block += offset
        raise_in_place(block, degree)

    return finish


def _exponential(block: Array) -> None:
    # Rounding may leave an exponent just above zero; the exponential is then one up to rounding, as it should be.
    np.exp(block, out=block)


def _exponential_of_distances(half_distances: Array) -> Finish:
    """Where rows are so far apart that rounding of their distances is no longer small, exponents are cut at zero."""
    largest = float(np.max(-half_distances[:, -2], initial=0.0))
    return _exponential if largest < FAR_APART else _exponential_of_negative


def _exponential_of_negative(block: Array) -> None:
    np.minimum(block, 0, out=block)
    np.exp(block, out=block)


def _exponential_of_root(block: Array) -> None:
    np.minimum(block, 0, out=block)
    block *= -2
    np.sqrt(block, out=block)
    np.negative(block, out=block)
    np.exp(block, out=block)
