r"""Kernels of functions that repeat."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.array_types import MatrixLike
from margin.core.parameters import parameter
from margin.foundations.probability.kernels import periodic_kernel
from margin.kernels.kernel import BOUNDS, BOUNDS_SENTENCE, POSITIVE, WIDE, Bounds, Floats, Kernel, rows_of
from margin.kernels.stationary import log_values

__all__ = ["ExpSineSquared", "PeriodicKernel"]


class _Repeating(Kernel):
    """What both kernels declare."""

    hyperparameters = ("length_scale", "periodicity")
    stationary = True

    length_scale: float = parameter(1.0, POSITIVE, "How much values change within a period.")
    periodicity: float = parameter(1.0, POSITIVE, "The period p.")
    length_scale_bounds: Bounds = parameter(WIDE, BOUNDS, BOUNDS_SENTENCE)
    periodicity_bounds: Bounds = parameter(WIDE, BOUNDS, BOUNDS_SENTENCE)

    def diag(self, X: MatrixLike) -> Floats:
        return np.ones(len(rows_of(X)))


class PeriodicKernel(_Repeating):
    r""":math:`\exp(-\tfrac2{\ell^2}\sum_j\sin^2(\pi(x_j-z_j)/p))`: functions that repeat after p in every column.

    Positive semi-definite in every dimension.
    """

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return periodic_kernel(X, Z, self.periodicity, self.length_scale)

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        gram = self(X)
        slope = weights * gram
        parts = {"length_scale": -2 * np.vdot(slope, log_values(gram)), "periodicity": self._period_gradient(X, slope)}
        return np.array([parts[name] for name in self.free])

    def _period_gradient(self, X: Floats, slope: Floats) -> float:
        r""":math:`\frac1{\ell^2}\sum_{ab}M_{ab}\sum_j\sin(u_{aj}-u_{bj})(u_{aj}-u_{bj})` with :math:`u=2\pi x/p`."""
        angle = 2 * np.pi * (X - X.mean(axis=0)) / self.periodicity
        sine, cosine = np.sin(angle), np.cos(angle)
        return (
            2
            * float(np.vdot(sine * angle, slope @ cosine) - np.vdot(cosine * angle, slope @ sine))
            / (self.length_scale**2)
        )


class ExpSineSquared(_Repeating):
    r""":math:`\exp(-\tfrac2{\ell^2}\sin^2(\pi\|x-z\|/p))` of the Euclidean distance.

    On one column it is :class:`PeriodicKernel`; on several it need not be positive semi-definite, and is here because
    it is scikit-learn's.
    """

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return np.exp(-2 * (np.sin(self._angles(X, Z)) / self.length_scale) ** 2)

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        angles = self._angles(X, None)
        sine = np.sin(angles)
        slope = weights * np.exp(-2 * (sine / self.length_scale) ** 2) * (4 / self.length_scale**2)
        parts = {
            "length_scale": np.vdot(slope, sine**2),
            "periodicity": np.vdot(slope, angles * np.cos(angles) * sine),
        }
        return np.array([parts[name] for name in self.free])

    def _angles(self, X: Any, Z: Any) -> Floats:
        from scipy.spatial.distance import cdist

        rows = rows_of(X)
        # Differences, not a product: near the diagonal the root would show half of the digits.
        return np.pi * cdist(rows, rows if Z is None else rows_of(Z)) / self.periodicity
