r"""Kernels of the difference of two rows: a row is as like another as it is near, wherever both are."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.domains import Either, Sequence
from margin.foundations.probability.kernels import laplace_kernel, length_scale_from_gamma, rbf_kernel
from margin.kernels.kernel import BOUNDS, POSITIVE, WIDE, Bounds, Floats, Kernel, rows_of

__all__ = ["LENGTH_SCALES", "RBF", "LaplaceKernel", "Scaled", "WhiteKernel", "log_values"]

LENGTH_SCALES = Either(POSITIVE, Sequence(POSITIVE, min_length=1))


class Scaled(Kernel):
    """A function of the distance between rows divided by ``length_scale`` (one number, or one per column)."""

    domains = {"length_scale": LENGTH_SCALES, "length_scale_bounds": BOUNDS}
    hyper = ("length_scale",)
    stationary = True

    def __init__(self, length_scale: Any = 1.0, length_scale_bounds: Bounds = WIDE):
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds

    def diagonal(self, X: Any) -> Floats:
        return np.ones(len(rows_of(X)))

    def scaled(self, X: Any) -> Floats:
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
        if not self.free:
            return np.zeros(0)
        rows = self.scaled(X)
        rows = rows - rows.mean(axis=0)  # a common offset would cost digits in the difference
        per_column = 2 * (weights.sum(axis=1) @ rows**2 - np.einsum("ij,ij->j", rows, weights @ rows))
        return per_column if np.ndim(self.length_scale) else np.array([per_column.sum()])


def log_values(gram: Floats) -> Floats:
    """Logarithms of kernel values, zero where the value has underflowed (its product with the value is zero)."""
    return np.log(gram, out=np.zeros_like(gram), where=gram > 0)


class RBF(Scaled):
    r"""The Gaussian kernel :math:`\exp(-\tfrac12\sum_j (x_j-z_j)^2/\ell_j^2)`: very smooth functions.

    >>> RBF(length_scale=[1.0, 2.0])([[0.0, 0.0]], [[1.0, 2.0]]).round(6).tolist()
    [[0.367879]]
    """

    @classmethod
    def from_gamma(cls, gamma: float) -> RBF:
        r"""The kernel written :math:`\exp(-\gamma\|x-z\|^2)`: :math:`\ell = 1/\sqrt{2\gamma}`."""
        return cls(length_scale_from_gamma(gamma))

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return rbf_kernel(self.scaled(X), None if Z is None else self.scaled(Z))

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return self._contract(X, weights * self(X))


class LaplaceKernel(Scaled):
    r""":math:`\exp(-r)` of the scaled Euclidean distance r: continuous functions without derivatives."""

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return laplace_kernel(self.scaled(X), None if Z is None else self.scaled(Z))

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        gram = self(X)
        distance = -log_values(gram)
        # At distance zero (x_j - z_j)^2 / r is zero, whatever the direction.
        factor = np.divide(gram, distance, out=np.zeros_like(gram), where=distance > 0)
        return self._contract(X, weights * factor)


class WhiteKernel(Kernel):
    """Independent noise of variance ``value``: each row is only like itself, so X against another Z is zero."""

    domains = {"value": POSITIVE, "value_bounds": BOUNDS}
    hyper = ("value",)
    stationary = True

    def __init__(self, value: float = 1.0, value_bounds: Bounds = WIDE):
        self.value = value
        self.value_bounds = value_bounds

    def _matrix(self, X: Any, Z: Any) -> Floats:
        n = len(rows_of(X))
        return self.value * np.eye(n) if Z is None else np.zeros((n, len(rows_of(Z))))

    def diagonal(self, X: Any) -> Floats:
        return np.full(len(rows_of(X)), float(self.value))

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.array([self.value * np.trace(weights) for _ in self.free])
