r"""Kernels of the inner product: lines and polynomials of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.array_types import MatrixLike
from margin.core.domains import Integer, Number
from margin.core.parameters import parameter
from margin.foundations.probability.kernels import linear_kernel, polynomial_kernel
from margin.kernels.kernel import BOUNDS, BOUNDS_SENTENCE, POSITIVE, WIDE, Bounds, Floats, Kernel, rows_of

__all__ = ["DotProduct", "LinearKernel", "PolynomialKernel"]


def squared_norms(X: MatrixLike) -> Floats:
    rows = rows_of(X)
    return np.einsum("ij,ij->i", rows, rows)


class LinearKernel(Kernel):
    """The inner product of the rows themselves; ``LinearKernel() + 1.0`` lets lines miss the origin.

    >>> (LinearKernel() + 1.0)([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[12.0]]
    """

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return linear_kernel(X, Z)

    def diag(self, X: MatrixLike) -> Floats:
        return squared_norms(X)

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.zeros(0)


class DotProduct(Kernel):
    r""":math:`\sigma_0^2 + x^\top z`: lines, with a prior of variance :math:`\sigma_0^2` on their offset.

    >>> DotProduct(2.0)([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[15.0]]
    """

    hyperparameters = ("sigma_0",)

    sigma_0: float = parameter(1.0, Number(low=0), "Standard deviation of the offset.")
    sigma_0_bounds: Bounds = parameter(WIDE, BOUNDS, BOUNDS_SENTENCE)

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return linear_kernel(X, Z) + self.sigma_0**2

    def diag(self, X: MatrixLike) -> Floats:
        return squared_norms(X) + self.sigma_0**2

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.array([2 * self.sigma_0**2 * weights.sum() for _ in self.free])


class PolynomialKernel(Kernel):
    r""":math:`(\gamma\,x^\top z + c)^d`: monomials up to degree d if c > 0, only those of degree d if c = 0.

    >>> PolynomialKernel(degree=2, coef0=1.0)([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[144.0]]
    """

    hyperparameters = ("gamma", "coef0")

    degree: int = parameter(2, Integer(low=1), "The degree d.")
    gamma: float = parameter(1.0, POSITIVE, "Factor of the inner product.")
    coef0: float = parameter(1.0, Number(low=0), "The constant c; a negative one would be no kernel.")
    gamma_bounds: Bounds = parameter(WIDE, BOUNDS, BOUNDS_SENTENCE)
    coef0_bounds: Bounds = parameter(WIDE, BOUNDS, BOUNDS_SENTENCE)

    def _matrix(self, X: Any, Z: Any) -> Floats:
        root = float(np.sqrt(self.gamma))
        return polynomial_kernel(root * rows_of(X), None if Z is None else root * rows_of(Z), self.degree, self.coef0)

    def diag(self, X: MatrixLike) -> Floats:
        return (self.gamma * squared_norms(X) + self.coef0) ** self.degree

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        inner = self.gamma * linear_kernel(X)
        slope = weights * (self.degree * (inner + self.coef0) ** (self.degree - 1))
        parts = {"gamma": np.vdot(slope, inner), "coef0": self.coef0 * slope.sum()}
        return np.array([parts[name] for name in self.free])
