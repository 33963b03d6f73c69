r"""Covariance functions (kernels) of Gaussian processes: call one on (n, d) and (m, d) and get the (n, m) matrix.

The equations are those of :mod:`margin.foundations.probability.kernels`; here they carry their parameters.

Textbook form of the kernels that :mod:`margin.kernels` composes, differentiates and fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from margin.foundations.probability.kernels import laplace_kernel, linear_kernel, periodic_kernel, rbf_kernel
from margin.foundations.statistics.arguments import Floats, finite

__all__ = [
    "CovarianceFunction",
    "LaplaceCovariance",
    "LinearCovariance",
    "PeriodicCovariance",
    "RBFCovariance",
    "points",
]

CovarianceFunction = Callable[[Floats, Floats], Floats]


def points(values: ArrayLike) -> Floats:
    """Inputs as (n, d): a vector is n points on a line."""
    array = finite("points", "values", values)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"points: values must be (n,) or (n, d) with n and d at least 1; got shape {array.shape}.")
    return array


@dataclass(frozen=True)
class LinearCovariance:
    r""":math:`k(x, x') = x^\top x'`: straight lines through the origin; not stationary."""

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        return linear_kernel(x, y)


@dataclass(frozen=True)
class RBFCovariance:
    r""":math:`k(x, x') = \exp(-\lVert x - x' \rVert^2 / 2\gamma^2)`: infinitely smooth functions.

    >>> RBFCovariance(1.0)([0.0], [0.0, 1.0]).round(4).tolist()
    [[1.0, 0.6065]]
    """

    gamma: float = 1.0

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        return rbf_kernel(x, y, self.gamma)


@dataclass(frozen=True)
class LaplaceCovariance:
    r""":math:`k(x, x') = \exp(-\lVert x - x' \rVert / \gamma)`: continuous functions with no derivative anywhere."""

    gamma: float = 1.0

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        return laplace_kernel(x, y, self.gamma)


@dataclass(frozen=True)
class PeriodicCovariance:
    r""":math:`k(x, x') = \exp\big(-2 \sum_j \sin^2(\pi (x_j - x_j')/p) / \ell^2\big)`: repeats after p."""

    period: float = 1.0
    length: float = 1.0

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        return periodic_kernel(x, y, self.period, self.length)
