r"""Covariance functions (kernels) of Gaussian processes: call one on (n, d) and (m, d) and get the (n, m) matrix.

A function is *stationary* when it depends on the two inputs only through their difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from margin.foundations.statistics.arguments import Floats, finite, positive

__all__ = ["RBF", "Kernel", "Laplace", "Linear", "Periodic", "is_stationary", "points"]

Kernel = Callable[[Floats, Floats], Floats]


def points(values: ArrayLike) -> Floats:
    """Inputs as (n, d): a vector is n points on a line."""
    array = finite("points", "values", values)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"points: values must be (n,) or (n, d) with n and d at least 1; got shape {array.shape}.")
    return array


def _both(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    a, b = points(x), points(y)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"kernel: x and y must have one number of coordinates; got {a.shape[1]} and {b.shape[1]}.")
    return a, b


@dataclass(frozen=True)
class Linear:
    r""":math:`k(x, x') = x^\top x'`: straight lines through the origin; not stationary."""

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        a, b = _both(x, y)
        return a @ b.T


@dataclass(frozen=True)
class RBF:
    r""":math:`k(x, x') = \exp(-\lVert x - x' \rVert^2 / 2\gamma^2)`: infinitely smooth functions.

    >>> RBF(1.0)([0.0], [0.0, 1.0]).round(4).tolist()
    [[1.0, 0.6065]]
    """

    gamma: float = 1.0

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        scale = positive("RBF", "gamma", self.gamma)
        return np.exp(-0.5 * cdist(*_both(x, y), "sqeuclidean") / scale**2)


@dataclass(frozen=True)
class Laplace:
    r""":math:`k(x, x') = \exp(-\lVert x - x' \rVert / \gamma)`: continuous functions with no derivative anywhere."""

    gamma: float = 1.0

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        return np.exp(-cdist(*_both(x, y)) / positive("Laplace", "gamma", self.gamma))


@dataclass(frozen=True)
class Periodic:
    r""":math:`k(x, x') = \exp\big(-2 \sum_j \sin^2(\pi (x_j - x_j')/p) / \ell^2\big)`: repeats after p."""

    period: float = 1.0
    length: float = 1.0

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Floats:
        period, length = positive("Periodic", "period", self.period), positive("Periodic", "length", self.length)
        a, b = _both(x, y)
        squares = np.zeros((len(a), len(b)))
        for j in range(a.shape[1]):
            squares += np.sin(np.pi * (a[:, None, j] - b[None, :, j]) / period) ** 2
        return np.exp(-2 * squares / length**2)


def is_stationary(kernel: Kernel, rng: np.random.Generator, d: int = 1, n_shifts: int = 20) -> bool:
    """Whether :math:`k(x + c, y + c) = k(x, y)` on random points and shifts.

    >>> is_stationary(RBF(), np.random.default_rng(0)), is_stationary(Linear(), np.random.default_rng(0))
    (True, False)
    """
    x, y = rng.normal(size=(2, 8, d))
    reference = kernel(x, y)
    shifts = rng.normal(scale=3.0, size=(n_shifts, d))
    return all(np.allclose(kernel(x + c, y + c), reference, rtol=0, atol=1e-10) for c in shifts)
