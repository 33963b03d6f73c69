"""Sums, products and powers of kernels, which are kernels again."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.array_types import MatrixLike
from margin.core.domains import Nested, Number
from margin.core.parameters import parameter
from margin.kernels.kernel import Floats, Kernel

__all__ = ["Exponentiation", "KernelOperator", "Product", "Sum"]

KERNEL = Nested("diag", "gradient")


class KernelOperator(Kernel):
    """Two kernels joined; ``theta`` is that of the first followed by that of the second."""

    k1: Kernel = parameter(None, KERNEL, "The first kernel.")
    k2: Kernel = parameter(None, KERNEL, "The second kernel.")

    def is_stationary(self) -> bool:
        return self.k1.is_stationary() and self.k2.is_stationary()

    @property
    def theta(self) -> Floats:
        return np.concatenate([self.k1.theta, self.k2.theta])

    @property
    def bounds(self) -> Floats:
        return np.concatenate([self.k1.bounds, self.k2.bounds])

    def clone_with_theta(self, theta: Floats) -> Kernel:
        cut = len(self.k1.theta)
        return type(self)(self.k1.clone_with_theta(theta[:cut]), self.k2.clone_with_theta(theta[cut:]))


class Sum(KernelOperator):
    """:math:`k_1 + k_2`: features side by side, or independent effects added.

    >>> from margin.kernels import ConstantKernel
    >>> (ConstantKernel(2.0) + 3.0)([[1.0]], [[1.0]]).tolist()
    [[5.0]]
    """

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return self.k1(X, Z) + self.k2(X, Z)

    def diag(self, X: MatrixLike) -> Floats:
        return self.k1.diag(X) + self.k2.diag(X)

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.concatenate([self.k1.gradient(X, weights), self.k2.gradient(X, weights)])


class Product(KernelOperator):
    """:math:`k_1 k_2`: all products of a feature of one with a feature of the other.

    >>> from margin.kernels import ConstantKernel
    >>> (4.0 * ConstantKernel(2.0))([[0.0]], [[1.0]]).tolist()
    [[8.0]]
    """

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return self.k1(X, Z) * self.k2(X, Z)

    def diag(self, X: MatrixLike) -> Floats:
        return self.k1.diag(X) * self.k2.diag(X)

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        first = self.k1.gradient(X, weights * self.k2(X))
        return np.concatenate([first, self.k2.gradient(X, weights * self.k1(X))])


class Exponentiation(Kernel):
    """:math:`k^e` of every value; a kernel for integer e, and for any e > 0 of a kernel that is infinitely divisible.

    >>> from margin.kernels import ConstantKernel
    >>> (ConstantKernel(3.0) ** 2)([[0.0]]).tolist()
    [[9.0]]
    """

    kernel: Kernel = parameter(None, KERNEL, "The kernel that is raised.")
    exponent: float = parameter(1.0, Number(above=0), "The power.")

    def is_stationary(self) -> bool:
        return self.kernel.is_stationary()

    @property
    def theta(self) -> Floats:
        return self.kernel.theta

    @property
    def bounds(self) -> Floats:
        return self.kernel.bounds

    def clone_with_theta(self, theta: Floats) -> Kernel:
        return Exponentiation(self.kernel.clone_with_theta(theta), self.exponent)

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return self.kernel(X, Z) ** self.exponent

    def diag(self, X: MatrixLike) -> Floats:
        return self.kernel.diag(X) ** self.exponent

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return self.kernel.gradient(X, weights * (self.exponent * self.kernel(X) ** (self.exponent - 1)))
