r"""Stationary kernels: the value depends only on the difference of two rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from margin.core.array_types import MatrixLike
from margin.core.domains import Either, Sequence
from margin.core.parameters import parameter
from margin.foundations.probability.kernels import length_scale_from_gamma, squared_distances
from margin.foundations.probability.radial import EXPONENTIAL, GAUSSIAN, Radial
from margin.kernels.kernel import BOUNDS, BOUNDS_SENTENCE, POSITIVE, WIDE, Bounds, Floats, Kernel, rows_of

__all__ = ["LENGTH_SCALES", "RBF", "LaplaceKernel", "RadialKernel", "RationalQuadratic", "WhiteKernel", "log_values"]

LENGTH_SCALES = Either(POSITIVE, Sequence(POSITIVE, min_length=1))


class RadialKernel(Kernel):
    """A function of the Euclidean distance between rows divided by ``length_scale``."""

    hyperparameters = ("length_scale",)
    stationary = True

    length_scale: Any = parameter(1.0, LENGTH_SCALES, "Distance over which values change: one, or one per column.")
    length_scale_bounds: Bounds = parameter(WIDE, BOUNDS, BOUNDS_SENTENCE)

    def diag(self, X: Any) -> Floats:
        return np.ones(len(X))

    def scaled(self, X: MatrixLike) -> Floats:
        """Rows divided by the length scale, so that distances are pure numbers."""
        rows = rows_of(X)
        scale = np.asarray(self.length_scale, dtype=rows.dtype)
        if scale.ndim and len(scale) != rows.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: length_scale must have one number per column, {rows.shape[1]}; "
                f"got {len(scale)}."
            )
        return rows / scale

    def _contract(self, X: Floats, weights: Floats) -> Floats:
        r""":math:`\sum_{ab} M_{ab}(x_{aj}-x_{bj})^2/\ell_j^2` per column, or their sum for one length scale.

        With M symmetric it is :math:`2\sum_a (\sum_b M_{ab}) x_{aj}^2 - 2x_j^\top M x_j`: one matrix product.
        """
        if "length_scale" not in self.free:
            return np.zeros(0)
        rows = self.scaled(X)
        rows = rows - rows.mean(axis=0)  # a common offset would cost digits in the difference
        per_column = 2 * (weights.sum(axis=1) @ rows**2 - np.einsum("ij,ij->j", rows, weights @ rows))
        return per_column if np.ndim(self.length_scale) else np.array([per_column.sum()])


def log_values(gram: Floats) -> Floats:
    """Logarithms of kernel values, zero where the value has underflowed (its product with the value is zero)."""
    return np.log(gram, out=np.zeros_like(gram), where=gram > 0)


class DistanceKernel(RadialKernel):
    """A function of the scaled distance alone, made of one product."""

    radial: ClassVar[Radial]

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return self.radial(self.scaled(X), None if Z is None else self.scaled(Z), 1.0)

    def of_known(self, Z: Any) -> Callable[[Any], Floats]:
        """The values of rows X of Z's type with Z, to the bits of the matrix; what concerns Z alone is done once."""
        values = self.radial.of_known(self.scaled(Z), 1.0)
        return lambda X: values(self.scaled(X))


class RBF(DistanceKernel):
    r"""The Gaussian kernel :math:`\exp(-\tfrac12\sum_j (x_j-z_j)^2/\ell_j^2)`: very smooth functions.

    >>> RBF(length_scale=[1.0, 2.0])([[0.0, 0.0]], [[1.0, 2.0]]).round(6).tolist()
    [[0.367879]]
    """

    radial = GAUSSIAN

    @classmethod
    def from_gamma(cls, gamma: float) -> RBF:
        r"""The kernel written :math:`\exp(-\gamma\|x-z\|^2)`: :math:`\ell = 1/\sqrt{2\gamma}`."""
        return cls(length_scale_from_gamma(gamma))

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return self._contract(X, weights * self(X))


class LaplaceKernel(DistanceKernel):
    r""":math:`\exp(-r)` of the scaled Euclidean distance r: continuous functions without derivatives."""

    radial = EXPONENTIAL

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        gram = self(X)
        distance = -log_values(gram)
        # At distance zero (x_j - z_j)^2 / r is zero, whatever the direction.
        factor = np.divide(gram, distance, out=np.zeros_like(gram), where=distance > 0)
        return self._contract(X, weights * factor)


class RationalQuadratic(Kernel):
    r""":math:`(1 + \|x-z\|^2/2\alpha\ell^2)^{-\alpha}`: Gaussian kernels of many length scales, averaged.

    >>> RationalQuadratic(length_scale=1.0, alpha=0.5)([[0.0]], [[1.0]]).round(6).tolist()
    [[0.707107]]
    """

    hyperparameters = ("alpha", "length_scale")
    stationary = True

    length_scale: float = parameter(1.0, POSITIVE, "Distance over which values change.")
    alpha: float = parameter(1.0, POSITIVE, "How alike the length scales are; the limit of large ones is RBF.")
    length_scale_bounds: Bounds = parameter(WIDE, BOUNDS, BOUNDS_SENTENCE)
    alpha_bounds: Bounds = parameter(WIDE, BOUNDS, BOUNDS_SENTENCE)

    def diag(self, X: Any) -> Floats:
        return np.ones(len(X))

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return (1 + self._squares(X, Z) / (2 * self.alpha)) ** -self.alpha

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        squares = self._squares(X, None)
        base = 1 + squares / (2 * self.alpha)
        slope = weights * base**-self.alpha
        parts = {
            "alpha": np.vdot(slope, 0.5 * squares / base - self.alpha * np.log(base)),
            "length_scale": np.vdot(slope, squares / base),
        }
        return np.array([parts[name] for name in self.free])

    def _squares(self, X: Any, Z: Any) -> Floats:
        scale = self.length_scale
        return squared_distances(rows_of(X) / scale, None if Z is None else rows_of(Z) / scale)


class WhiteKernel(Kernel):
    """Independent noise: each row is only like itself, so X against another Z is zero."""

    hyperparameters = ("noise_level",)
    stationary = True

    noise_level: float = parameter(1.0, POSITIVE, "Variance of the noise.")
    noise_level_bounds: Bounds = parameter(WIDE, BOUNDS, BOUNDS_SENTENCE)

    def _matrix(self, X: Any, Z: Any) -> Floats:
        n = len(X)
        return self.noise_level * np.eye(n) if Z is None else np.zeros((n, len(Z)))

    def diag(self, X: Any) -> Floats:
        return np.full(len(X), float(self.noise_level))

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.array([self.noise_level * np.trace(weights) for _ in self.free])
