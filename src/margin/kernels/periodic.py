r"""The kernel of functions that repeat."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.foundations.probability.kernels import periodic_kernel
from margin.kernels.kernel import BOUNDS, POSITIVE, WIDE, Bounds, Floats, Kernel, rows_of
from margin.kernels.stationary import log_values

__all__ = ["PeriodicKernel"]


class PeriodicKernel(Kernel):
    r""":math:`\exp(-\tfrac2{\ell^2}\sum_j\sin^2(\pi(x_j-z_j)/p))`: functions that repeat after ``period`` p."""

    domains = {
        "length_scale": POSITIVE,
        "period": POSITIVE,
        "length_scale_bounds": BOUNDS,
        "period_bounds": BOUNDS,
    }
    hyper = ("length_scale", "period")
    stationary = True

    def __init__(
        self,
        length_scale: float = 1.0,
        period: float = 1.0,
        length_scale_bounds: Bounds = WIDE,
        period_bounds: Bounds = WIDE,
    ):
        self.length_scale = length_scale
        self.period = period
        self.length_scale_bounds = length_scale_bounds
        self.period_bounds = period_bounds

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return periodic_kernel(X, Z, self.period, self.length_scale)

    def diagonal(self, X: Any) -> Floats:
        return np.ones(len(rows_of(X)))

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        gram = self(X)
        slope = weights * gram
        parts = {"length_scale": -2 * np.vdot(slope, log_values(gram)), "period": self._period_gradient(X, slope)}
        return np.array([parts[name] for name in self.free])

    def _period_gradient(self, X: Floats, slope: Floats) -> float:
        r""":math:`\frac1{\ell^2}\sum_{ab}M_{ab}\sum_j\sin(u_{aj}-u_{bj})(u_{aj}-u_{bj})` with :math:`u=2\pi x/p`."""
        angle = 2 * np.pi * (X - X.mean(axis=0)) / self.period
        sine, cosine = np.sin(angle), np.cos(angle)
        return (
            2
            * float(np.vdot(sine * angle, slope @ cosine) - np.vdot(cosine * angle, slope @ sine))
            / (self.length_scale**2)
        )
