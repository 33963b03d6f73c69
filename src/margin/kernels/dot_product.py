r"""Kernels of the inner product: lines and polynomials of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.domains import Integer, Number
from margin.foundations.probability.kernels import linear_kernel, polynomial_kernel
from margin.kernels.kernel import BOUNDS, POSITIVE, WIDE, Bounds, Floats, Kernel, rows_of

__all__ = ["LinearKernel", "PolynomialKernel"]


class LinearKernel(Kernel):
    """The inner product of the rows themselves; ``LinearKernel() + 1.0`` lets lines miss the origin.

    >>> (LinearKernel() + 1.0)([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[12.0]]
    """

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return linear_kernel(X, Z)

    def diagonal(self, X: Any) -> Floats:
        rows = rows_of(X)
        return np.einsum("ij,ij->i", rows, rows)

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.zeros(0)


class PolynomialKernel(Kernel):
    r""":math:`(s\,x^\top z + c)^d`: monomials up to ``degree`` d if ``offset`` c > 0, only those of degree d if c = 0.

    >>> PolynomialKernel(degree=2, offset=1.0)([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[144.0]]
    """

    domains = {
        "degree": Integer(low=1),
        "scale": POSITIVE,
        "offset": Number(low=0),
        "scale_bounds": BOUNDS,
        "offset_bounds": BOUNDS,
    }
    hyper = ("scale", "offset")

    def __init__(
        self,
        degree: int = 2,
        scale: float = 1.0,
        offset: float = 1.0,
        scale_bounds: Bounds = WIDE,
        offset_bounds: Bounds = WIDE,
    ):
        self.degree = degree
        self.scale = scale
        self.offset = offset
        self.scale_bounds = scale_bounds
        self.offset_bounds = offset_bounds

    def _matrix(self, X: Any, Z: Any) -> Floats:
        root = float(np.sqrt(self.scale))
        return polynomial_kernel(root * rows_of(X), None if Z is None else root * rows_of(Z), self.degree, self.offset)

    def diagonal(self, X: Any) -> Floats:
        rows = rows_of(X)
        return (self.scale * np.einsum("ij,ij->i", rows, rows) + self.offset) ** self.degree

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        inner = self.scale * linear_kernel(X)
        slope = weights * (self.degree * (inner + self.offset) ** (self.degree - 1))
        parts = {"scale": np.vdot(slope, inner), "offset": self.offset * slope.sum()}
        return np.array([parts[name] for name in self.free])
