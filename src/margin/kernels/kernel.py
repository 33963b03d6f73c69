r"""Kernels as objects: parameters with bounds, an algebra, and gradients for learning the parameters.

======================  ==================================================================================
``LinearKernel``        :math:`x^\top z`
``DotProduct``          :math:`\sigma_0^2 + x^\top z`
``PolynomialKernel``    :math:`(\gamma\,x^\top z + c)^d`
``RBF``                 :math:`\exp(-\tfrac12\sum_j (x_j-z_j)^2/\ell_j^2)`
``LaplaceKernel``       :math:`\exp(-\sqrt{\sum_j (x_j-z_j)^2/\ell_j^2})`
``Matern``              smoothness :math:`\nu` between the two above
``RationalQuadratic``   :math:`(1 + \|x-z\|^2/2\alpha\ell^2)^{-\alpha}`
``ExpSineSquared``      :math:`\exp(-\tfrac{2}{\ell^2}\sin^2(\pi\|x-z\|/p))`
``PeriodicKernel``      :math:`\exp(-\tfrac{2}{\ell^2}\sum_j\sin^2(\pi(x_j-z_j)/p))`
``ConstantKernel``      :math:`v`
``WhiteKernel``         :math:`\sigma^2` for a row with itself, else 0
``a + b``, ``a * b``    sum and product, kernels again; a number stands for ``ConstantKernel``
``a ** e``              power
======================  ==================================================================================

A kernel is called on rows X (n, d) and Z (m, d) and gives the (n, m) matrix, or the symmetric (n, n) one without Z.
The positive parameters in ``hyperparameters`` are learned by Gaussian processes as their logarithms ``theta``: each has
bounds in ``<name>_bounds`` or "fixed" there, and :meth:`Kernel.gradient` contracts :math:`\partial K/\partial\theta`
with a matrix, so that no (n, n, p) array is ever made. Names and parameters are scikit-learn's where it has the kernel.
"""

from __future__ import annotations

import numbers
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from margin.core.arguments import shown
from margin.core.array_types import MatrixLike
from margin.core.domains import Array, Choice, Either, Number, Sequence
from margin.core.parameters import Declared, InvalidParameter, check_parameters, parameter

__all__ = ["BOUNDS", "BOUNDS_SENTENCE", "POSITIVE", "WIDE", "Bounds", "ConstantKernel", "Floats", "Kernel", "rows_of"]

Floats = NDArray[np.float64]
Bounds = Any  # a pair, one pair per number, or "fixed"

WIDE: tuple[float, float] = (1e-5, 1e5)
BOUNDS = Either(Choice("fixed"), Sequence(Number(above=0), min_length=2), Array(ndim=2))
BOUNDS_SENTENCE = "Lowest and highest value in a search (one pair, or one per number), or 'fixed'."
POSITIVE = Number(above=0)


def rows_of(X: MatrixLike) -> NDArray[Any]:
    """Rows as float32 or float64; a vector is read as points on a line."""
    array = np.asarray(X)
    array = array if array.dtype == np.float32 else array.astype(np.float64, copy=False)
    return array[:, None] if array.ndim == 1 else array


class Kernel(Declared, BaseEstimator):
    """A positive semi-definite function of two rows; ``hyperparameters`` names its positive parameters."""

    hyperparameters: ClassVar[tuple[str, ...]] = ()
    stationary: ClassVar[bool] = False

    def __call__(self, X: Any, Z: Any = None) -> Floats:
        """k(x, z) for all pairs of rows, (n, m); of X with itself without Z."""
        check_parameters(self)
        return self._matrix(X, Z)

    @abstractmethod
    def _matrix(self, X: Any, Z: Any) -> Floats: ...

    @abstractmethod
    def diag(self, X: MatrixLike) -> Floats:
        """k(x, x) for every row, (n,), without the matrix."""

    @abstractmethod
    def gradient(self, X: Floats, weights: Floats) -> Floats:
        r""":math:`\sum_{ij} W_{ij}\,\partial k(x_i, x_j)/\partial\theta_k` for symmetric W (n, n): (len(theta),)."""

    def is_stationary(self) -> bool:
        """Whether the kernel depends only on the difference of two rows."""
        return self.stationary

    @property
    def free(self) -> list[str]:
        """Parameters that are learned: not fixed, and positive, since zero has no logarithm."""
        return [
            name
            for name in self.hyperparameters
            if not isinstance(getattr(self, f"{name}_bounds"), str) and np.all(np.asarray(getattr(self, name)) > 0)
        ]

    @property
    def n_dims(self) -> int:
        """How many numbers are learned."""
        return len(self.theta)

    @property
    def theta(self) -> Floats:
        """Logarithms of the free parameters, one after another (a vector of length scales gives several)."""
        parts = [np.log(np.atleast_1d(np.asarray(getattr(self, name), dtype=np.float64))) for name in self.free]
        return np.concatenate([np.zeros(0), *parts])

    @property
    def bounds(self) -> Floats:
        """Lowest and highest ``theta``, (len(theta), 2)."""
        return np.concatenate([np.zeros((0, 2)), *(np.log(self._bounds_of(name)) for name in self.free)])

    def clone_with_theta(self, theta: Floats) -> Kernel:
        """The same kernel with other free parameters.

        >>> ConstantKernel(1.0).clone_with_theta(np.log([2.0])).constant_value
        2.0
        """
        changed, start = {}, 0
        for name in self.free:
            stop = start + self._size(name)
            values = np.exp(np.asarray(theta, dtype=np.float64)[start:stop])
            changed[name] = values if np.ndim(getattr(self, name)) else float(values[0])
            start = stop
        return clone(self).set_params(**changed)

    def __add__(self, other: Kernel | float) -> Kernel:
        from margin.kernels.algebra import Sum

        return Sum(self, as_kernel(other))

    def __radd__(self, other: float) -> Kernel:
        return as_kernel(other) + self

    def __mul__(self, other: Kernel | float) -> Kernel:
        from margin.kernels.algebra import Product

        return Product(self, as_kernel(other))

    def __rmul__(self, other: float) -> Kernel:
        return as_kernel(other) * self

    def __pow__(self, exponent: float) -> Kernel:
        from margin.kernels.algebra import Exponentiation

        return Exponentiation(self, exponent)

    def _size(self, name: str) -> int:
        return int(np.size(getattr(self, name)))

    def _bounds_of(self, name: str) -> Floats:
        """The bounds of a parameter, one pair for each of its numbers."""
        given, size = getattr(self, f"{name}_bounds"), self._size(name)
        pairs = np.atleast_2d(np.asarray(given, dtype=np.float64))
        if pairs.shape not in ((1, 2), (size, 2)) or not (pairs > 0).all() or (pairs[:, 0] > pairs[:, 1]).any():
            many = f" or one pair for each of its {size} numbers" if size > 1 else ""
            allowed = f"'fixed' or a lowest and a highest positive number{many}"
            raise InvalidParameter(f"{type(self).__name__}: {name}_bounds must be {allowed}; got {shown(given)}.")
        return np.broadcast_to(pairs, (size, 2))


class ConstantKernel(Kernel):
    """The same number for every pair: the variance of an unknown offset, or the amplitude of a product."""

    hyperparameters = ("constant_value",)
    stationary = True

    constant_value: float = parameter(1.0, POSITIVE, "The value of every pair.")
    constant_value_bounds: Bounds = parameter(WIDE, BOUNDS, BOUNDS_SENTENCE)

    def _matrix(self, X: Any, Z: Any) -> Floats:
        n = len(X)
        return np.full((n, n if Z is None else len(Z)), float(self.constant_value))

    def diag(self, X: Any) -> Floats:
        return np.full(len(X), float(self.constant_value))

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.array([self.constant_value * weights.sum() for _ in self.free])


def as_kernel(value: Kernel | float) -> Kernel:
    if isinstance(value, Kernel):
        return value
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return ConstantKernel(float(value))
    raise TypeError(f"Kernel: a kernel is combined with kernels and positive numbers; got {value!r}.")
