r"""Kernels as objects: parameters with bounds, an algebra, and gradients for learning the parameters.

==================  ==================================================================================
``LinearKernel``          :math:`x^\top z`
``PolynomialKernel``      :math:`(s\,x^\top z + c)^d`
``RBF``             :math:`\exp(-\tfrac12\sum_j (x_j-z_j)^2/\ell_j^2)`
``LaplaceKernel``         :math:`\exp(-\sqrt{\sum_j (x_j-z_j)^2/\ell_j^2})`
``PeriodicKernel``        :math:`\exp(-\tfrac{2}{\ell^2}\sum_j\sin^2(\pi(x_j-z_j)/p))`
``ConstantKernel``        :math:`v`
``WhiteKernel``           :math:`v` for a row with itself, else 0
``a + b``, ``a*b``  sum and product, kernels again; a number stands for ``ConstantKernel``
==================  ==================================================================================

A kernel is called on rows X (n, d) and Z (m, d) and gives the (n, m) matrix, or the symmetric (n, n) one without Z.
The positive parameters in ``hyper`` are learned by Gaussian processes as their logarithms ``theta``: each has bounds in
``<name>_bounds`` or "fixed" there, and :meth:`Kernel.gradient` contracts :math:`\partial K/\partial\theta` with a
matrix, so that no (n, n, p) array is ever made.
"""

from __future__ import annotations

import numbers
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from margin.core.domains import Choice, Domain, Either, Nested, Number, Sequence
from margin.core.parameters import check_parameters

__all__ = ["BOUNDS", "POSITIVE", "WIDE", "Bounds", "ConstantKernel", "Floats", "Kernel", "Product", "Sum", "rows_of"]

Floats = NDArray[np.float64]
Bounds = tuple[float, float] | str

WIDE: tuple[float, float] = (1e-5, 1e5)
BOUNDS = Either(Choice("fixed"), Sequence(Number(above=0), min_length=2))
POSITIVE = Number(above=0)


def rows_of(X: Any) -> NDArray[Any]:
    """Rows as float32 or float64; a vector is read as points on a line."""
    array = np.asarray(X)
    array = array if array.dtype == np.float32 else array.astype(np.float64, copy=False)
    return array[:, None] if array.ndim == 1 else array


class Kernel(BaseEstimator):
    """A positive semi-definite function of two rows; ``hyper`` names its positive parameters."""

    domains: ClassVar[dict[str, Domain]] = {}
    hyper: ClassVar[tuple[str, ...]] = ()
    stationary: bool = False

    def __call__(self, X: Any, Z: Any = None) -> Floats:
        """k(x, z) for all pairs of rows, (n, m); of X with itself without Z."""
        check_parameters(self)
        return self._matrix(X, Z)

    @abstractmethod
    def _matrix(self, X: Any, Z: Any) -> Floats: ...

    @abstractmethod
    def diagonal(self, X: Any) -> Floats:
        """k(x, x) for every row, (n,), without the matrix."""

    @abstractmethod
    def gradient(self, X: Floats, weights: Floats) -> Floats:
        r""":math:`\sum_{ij} W_{ij}\,\partial k(x_i, x_j)/\partial\theta_k` for symmetric W (n, n): (len(theta),)."""

    @property
    def free(self) -> list[str]:
        """Parameters that are learned: not fixed, and positive, since zero has no logarithm."""
        return [
            name
            for name in self.hyper
            if not isinstance(getattr(self, f"{name}_bounds"), str) and np.all(np.asarray(getattr(self, name)) > 0)
        ]

    @property
    def theta(self) -> Floats:
        """Logarithms of the free parameters, one after another (a vector of length scales gives several)."""
        parts = [np.log(np.atleast_1d(np.asarray(getattr(self, name), dtype=np.float64))) for name in self.free]
        return np.concatenate([np.zeros(0), *parts])

    @property
    def bounds(self) -> Floats:
        """Lowest and highest ``theta``, (len(theta), 2)."""
        rows = [np.tile(np.log(getattr(self, f"{name}_bounds")), (self._size(name), 1)) for name in self.free]
        return np.concatenate([np.zeros((0, 2)), *rows])

    def with_theta(self, theta: Floats) -> Kernel:
        """The same kernel with other free parameters.

        >>> ConstantKernel(1.0).with_theta(np.log([2.0])).value
        2.0
        """
        changed, start = {}, 0
        for name in self.free:
            stop = start + self._size(name)
            values = np.exp(np.asarray(theta, dtype=np.float64)[start:stop])
            changed[name] = values if np.ndim(getattr(self, name)) else float(values[0])
            start = stop
        return clone(self).set_params(**changed)

    def __add__(self, other: Kernel | float) -> Sum:
        return Sum(self, as_kernel(other))

    def __radd__(self, other: float) -> Sum:
        return Sum(as_kernel(other), self)

    def __mul__(self, other: Kernel | float) -> Product:
        return Product(self, as_kernel(other))

    def __rmul__(self, other: float) -> Product:
        return Product(as_kernel(other), self)

    def _size(self, name: str) -> int:
        return int(np.size(getattr(self, name)))


class ConstantKernel(Kernel):
    """The same number for every pair: the variance of an unknown offset, or the amplitude of a product."""

    domains = {"value": POSITIVE, "value_bounds": BOUNDS}
    hyper = ("value",)
    stationary = True

    def __init__(self, value: float = 1.0, value_bounds: Bounds = WIDE):
        self.value = value
        self.value_bounds = value_bounds

    def _matrix(self, X: Any, Z: Any) -> Floats:
        n = len(rows_of(X))
        return np.full((n, n if Z is None else len(rows_of(Z))), float(self.value))

    def diagonal(self, X: Any) -> Floats:
        return np.full(len(rows_of(X)), float(self.value))

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.array([self.value * weights.sum() for _ in self.free])


class KernelOperator(Kernel):
    """Two kernels joined; ``theta`` is that of the first followed by that of the second."""

    domains = {"left": Nested("diagonal", "gradient"), "right": Nested("diagonal", "gradient")}

    def __init__(self, left: Kernel, right: Kernel):
        self.left = left
        self.right = right

    @property
    def stationary(self) -> bool:  # type: ignore[override]
        return self.left.stationary and self.right.stationary

    @property
    def theta(self) -> Floats:
        return np.concatenate([self.left.theta, self.right.theta])

    @property
    def bounds(self) -> Floats:
        return np.concatenate([self.left.bounds, self.right.bounds])

    def with_theta(self, theta: Floats) -> Kernel:
        cut = len(self.left.theta)
        return type(self)(self.left.with_theta(theta[:cut]), self.right.with_theta(theta[cut:]))


class Sum(KernelOperator):
    """:math:`k_1 + k_2`: features side by side, or independent effects added.

    >>> (ConstantKernel(2.0) + 3.0)([[1.0]], [[1.0]]).tolist()
    [[5.0]]
    """

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return self.left(X, Z) + self.right(X, Z)

    def diagonal(self, X: Any) -> Floats:
        return self.left.diagonal(X) + self.right.diagonal(X)

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.concatenate([self.left.gradient(X, weights), self.right.gradient(X, weights)])


class Product(KernelOperator):
    """:math:`k_1 k_2`: all products of a feature of one with a feature of the other.

    >>> (4.0 * ConstantKernel(2.0))([[0.0]], [[1.0]]).tolist()
    [[8.0]]
    """

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return self.left(X, Z) * self.right(X, Z)

    def diagonal(self, X: Any) -> Floats:
        return self.left.diagonal(X) * self.right.diagonal(X)

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        first = self.left.gradient(X, weights * self.right(X))
        return np.concatenate([first, self.right.gradient(X, weights * self.left(X))])


def as_kernel(value: Kernel | float) -> Kernel:
    if isinstance(value, Kernel):
        return value
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return ConstantKernel(float(value))
    raise TypeError(f"Kernel: a kernel is combined with kernels and positive numbers; got {value!r}.")
