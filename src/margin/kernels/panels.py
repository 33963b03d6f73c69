r"""Columns of a kernel matrix into memory that is already there: the inner loop of every solver in this room.

A panel knows n rows and writes :math:`k(x_i, x_j)` for all i and a few chosen j into an (n, q) array. Linear,
polynomial, Gaussian, Laplace and periodic kernels are all one matrix product, whose factors are prepared once, followed
by elementwise work that is done while a block is in cache:

.. math:: -\tfrac12\|x-z\|^2 = \bigl(x,\,-\tfrac12\|x\|^2,\,1\bigr)^\top\bigl(z,\,1,\,-\tfrac12\|z\|^2\bigr).

Sums and products join two panels; any other kernel is simply called.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margin.core.stripes import over_stripes
from margin.kernels.functions import RBF, Kernel, Laplace, Linear, Periodic, Polynomial, Product, Sum, White

__all__ = ["Panel", "full_matrix", "panel_of", "panel_of_matrix"]

Array = NDArray[Any]
Finish = Callable[[Array], None]

BLOCK_BYTES = 1 << 20  # of one block of results: product, exponential and the rest happen while it is in cache
EXPONENTIAL_COST = 30  # multiplications that an exponential is worth when threads are counted


class Panel(ABC):
    """Columns of the kernel matrix of ``n`` rows, in floats of type ``dtype``."""

    n: int
    dtype: np.dtype[Any]

    def columns(self, chosen: Array, out: Array) -> None:
        """Write k(x_i, x_j) for all i and the ``chosen`` j into ``out`` (n, len(chosen))."""
        block = self.block(chosen)
        rows = max(1, BLOCK_BYTES // (max(1, len(chosen)) * self.dtype.itemsize))

        def stripe(part: slice) -> None:
            for start in range(part.start, part.stop, rows):
                stop = min(start + rows, part.stop)
                block(slice(start, stop), out[start:stop])

        over_stripes(stripe, self.n, work=self.n * len(chosen) * EXPONENTIAL_COST)

    @abstractmethod
    def block(self, chosen: Array) -> Callable[[slice, Array], None]:
        """A function that writes the rows of a slice against the chosen ones."""


class FactoredPanel(Panel):
    """``finish`` of left right^T."""

    def __init__(self, left: Array, right: Array, finish: Finish, dtype: np.dtype[Any]):
        self.left, self.right = (np.ascontiguousarray(side, dtype=dtype) for side in (left, right))
        self.finish, self.n, self.dtype = finish, len(left), dtype

    def block(self, chosen: Array) -> Callable[[slice, Array], None]:
        picked = np.ascontiguousarray(self.right[chosen].T)

        def write(rows: slice, out: Array) -> None:
            self.finish(np.matmul(self.left[rows], picked, out=out))

        return write


class JoinedPanel(Panel):
    """Two panels joined by ``np.add`` or ``np.multiply``."""

    def __init__(self, first: Panel, second: Panel, join: np.ufunc):
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


class CalledPanel(Panel):
    """Any kernel, called block by block."""

    def __init__(self, kernel: Kernel, X: Array, dtype: np.dtype[Any]):
        self.kernel, self.X, self.n, self.dtype = kernel, X, len(X), dtype

    def block(self, chosen: Array) -> Callable[[slice, Array], None]:
        picked = self.X[chosen]

        def write(rows: slice, out: Array) -> None:
            out[:] = self.kernel(self.X[rows], picked)

        return write


class WhitePanel(Panel):
    """Noise: a row is only like itself."""

    def __init__(self, value: float, n: int, dtype: np.dtype[Any]):
        self.value, self.n, self.dtype = value, n, dtype

    def block(self, chosen: Array) -> Callable[[slice, Array], None]:
        def write(rows: slice, out: Array) -> None:
            out[:] = self.value * (np.arange(rows.start, rows.stop)[:, None] == chosen[None, :])

        return write


class MatrixPanel(Panel):
    """Columns of a matrix that was computed elsewhere."""

    def __init__(self, matrix: Array):
        self.matrix, self.n, self.dtype = matrix, len(matrix), matrix.dtype

    def block(self, chosen: Array) -> Callable[[slice, Array], None]:
        def write(rows: slice, out: Array) -> None:
            np.take(self.matrix[rows], chosen, axis=1, out=out)

        return write


def panel_of(kernel: Kernel, X: Array, dtype: Any = np.float64) -> Panel:
    """The panel of ``kernel`` on the rows of ``X``, computing in ``dtype``."""
    dtype = np.dtype(dtype)
    if isinstance(kernel, Sum | Product):
        join = np.add if isinstance(kernel, Sum) else np.multiply
        return JoinedPanel(panel_of(kernel.left, X, dtype), panel_of(kernel.right, X, dtype), join)
    if isinstance(kernel, White):
        return WhitePanel(kernel.value, len(X), dtype)
    if isinstance(kernel, Linear):
        return FactoredPanel(X, X, _nothing, dtype)
    if isinstance(kernel, Polynomial):
        return FactoredPanel(kernel.scale * X, X, _power(kernel.degree, dtype.type(kernel.offset)), dtype)
    if isinstance(kernel, RBF):
        return FactoredPanel(*_half_distances(kernel.scaled(X)), _exponential, dtype)
    if isinstance(kernel, Laplace):
        return FactoredPanel(*_half_distances(kernel.scaled(X)), _exponential_of_root, dtype)
    if isinstance(kernel, Periodic):
        # On circles of radius 1/l the squared distance is (4/l^2) sin^2: half of it is the exponent.
        angle = 2 * np.pi * X / kernel.period
        circles = np.concatenate([np.cos(angle), np.sin(angle)], axis=1) / kernel.length_scale
        return FactoredPanel(*_half_distances(circles), _exponential, dtype)
    return CalledPanel(kernel, X, dtype)


def panel_of_matrix(matrix: Array) -> Panel:
    """The panel of a kernel matrix given as a whole."""
    return MatrixPanel(matrix)


def full_matrix(panel: Panel) -> Array:
    """All columns: the (n, n) kernel matrix."""
    out = np.empty((panel.n, panel.n), dtype=panel.dtype)
    panel.columns(np.arange(panel.n), out)
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
        base = block.copy()
        for _ in range(degree - 1):
            block *= base

    return finish


def _exponential(block: Array) -> None:
    # Rounding may leave an exponent just above zero; the exponential is then one up to rounding, as it should be.
    np.exp(block, out=block)


def _exponential_of_root(block: Array) -> None:
    np.minimum(block, 0, out=block)
    block *= -2
    np.sqrt(block, out=block)
    np.negative(block, out=block)
    np.exp(block, out=block)
