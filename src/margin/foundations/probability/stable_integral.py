r"""Density and tail of a standard alpha-stable law (scale 1, location 0, characteristic-function form S1).

No closed form exists in general. Zolotarev and Nolan's integrals are, for x > 0 and :math:`\alpha \ne 1`,

.. math:: f(x) = \frac{\alpha}{\pi|\alpha-1|\,x}\int g e^{-g}\,d\theta, \qquad
          \Pr(X > x) = \frac1\pi\int e^{-g}\,d\theta\ (\alpha>1), \quad \frac1\pi\int (1-e^{-g})\,d\theta\ (\alpha<1),

where, with :math:`t` and :math:`s` the distances of :math:`\theta` from the ends of its interval of length W,

.. math:: \log g = \tfrac{\alpha}{\alpha-1}\bigl(\log x + \log\sin s - \log\sin\alpha t\bigr)
          + \tfrac{\log\cos\alpha\theta_0}{\alpha-1} + \log\sin(\alpha t + s) - \log\sin s.

g runs monotonically from 0 to infinity, often within a sliver at one end. Writing :math:`t = W\sigma(y)`,
:math:`s = W\sigma(-y)` keeps both distances exact and makes log g nearly linear in y; Gauss-Legendre panels
between fixed levels of log g then give about ten digits at any x. Since x only adds a constant to log g, the
panel edges come from one table per law.

Reference: J. P. Nolan, Numerical calculation of stable densities and distribution functions, 1997.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy import special

from margin.foundations.probability.arguments import Array

__all__ = ["StableIntegral", "stable_integral"]

# Panel edges in log g. Below the first g is zero, above the last exp(-g) is zero, both to double precision.
LEVELS = np.array([-90, -60, -40, -25, -16, -11, -8, -5.5, -3.5, -2, -0.8, 0.4, 1.4, 2.2, 2.8, 3.3, 3.75, 5, 6.6])
# Further edges in y, for laws of extreme skewness, where g has a plateau at one end and levels alone are too coarse.
FIXED_EDGES = np.array([-38, -24, -15, -9.5, -6, -3.5, -1.7, 0, 1.7, 3.5, 6, 9.5, 15, 24, 38])
NODES, WEIGHTS = np.polynomial.legendre.leggauss(14)
FARTHEST_Y = 300.0
TABLE = np.linspace(-FARTHEST_Y, FARTHEST_Y, 6001)
# Within this distance of alpha = 1 log g bends too sharply for linear interpolation in the table.
SHARP = 0.02
# For alpha = 1 log g is a difference of terms of size x; from here on the power law is the more accurate form.
FAR = 1e8
# Points evaluated at once: 33 panels x 14 nodes x 512 points stay within a few megabytes.
BLOCK = 512


@lru_cache(maxsize=64)
def stable_integral(alpha: float, beta: float) -> StableIntegral:
    """The integrals of one law, kept with their table for the next call."""
    return StableIntegral(alpha, beta)


@dataclass(frozen=True)
class StableIntegral:
    """The integrals for one (alpha, beta), 0 < alpha < 2, beta in [-1, 1]; alpha = 1 needs beta > 0."""

    alpha: float
    beta: float

    @property
    def _theta0_alpha(self) -> float:
        """alpha * theta_0."""
        return float(np.arctan(self.beta * np.tan(np.pi * self.alpha / 2)))

    @property
    def width(self) -> float:
        """W, the length of the interval of theta."""
        return np.pi if self.alpha == 1 else np.pi / 2 + self._theta0_alpha / self.alpha

    def density(self, x: Array) -> Array:
        r"""f(x), x > 0 (any x when alpha = 1)."""
        if self.alpha == 1:
            near = np.clip(x, -FAR, FAR)
            mass = self._integrate(lambda u: np.exp(u - np.exp(u)), near) / (2 * self.beta)
            return np.where(x == near, mass, mass * (FAR / np.maximum(np.abs(x), FAR)) ** 2)
        mass = self._integrate(lambda u: np.exp(u - np.exp(u)), x)
        return self.alpha / (np.pi * abs(self.alpha - 1) * x) * mass

    def tail(self, x: Array) -> Array:
        """Pr(X > x), x > 0 (any x when alpha = 1), accurate however small."""
        if self.alpha > 1:
            return self._integrate(lambda u: np.exp(-np.exp(u)), x, before=True) / np.pi
        near = np.minimum(x, FAR) if self.alpha == 1 else x
        mass = self._integrate(lambda u: -np.expm1(-np.exp(u)), near, after=True) / np.pi
        return np.where(x == near, mass, mass * FAR / np.maximum(np.abs(x), FAR))

    def head(self, x: Array) -> Array:
        """Pr(X <= x) for alpha = 1, accurate however small."""
        near = np.maximum(x, -FAR)
        mass = self._integrate(lambda u: np.exp(-np.exp(u)), near, before=True) / np.pi
        return np.where(x == near, mass, mass * FAR / np.maximum(np.abs(x), FAR))

    def _integrate(
        self, weight: Callable[[Array], Array], x: Array, before: bool = False, after: bool = False
    ) -> Array:
        """The integral of ``weight(log g)`` over theta; ``before`` and ``after`` say on which side of the panels,
        where g is 0 or infinite, the weight is one, so that the length of that side is added."""
        parts = [self._block(weight, x[i : i + BLOCK], before, after) for i in range(0, x.size, BLOCK)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _block(self, weight: Callable[[Array], Array], x: Array, before: bool, after: bool) -> Array:
        shift = self._shift(x)[:, None]
        levels = self._invert(LEVELS - shift)  # (n, levels)
        fixed = np.clip(FIXED_EDGES, levels[:, :1], levels[:, -1:])
        edges = np.sort(np.concatenate([levels, fixed], axis=1), axis=1)
        half = np.diff(edges, axis=1)[..., None] / 2
        y = (edges[:, :-1, None] + half) + half * NODES  # (n, panels, nodes)
        slope = self.width * special.expit(y) * special.expit(-y)
        total = np.sum(half * WEIGHTS * weight(shift[..., None] + self._log_v(y)) * slope, axis=(1, 2))
        total += self.width * special.expit(edges[:, 0]) if before else 0.0
        total += self.width * special.expit(-edges[:, -1]) if after else 0.0
        return total

    def _invert(self, v: Array) -> Array:
        """Where ``_log_v`` passes v, from a table; near alpha = 1 it bends too sharply and the cell is bisected."""
        table = self._table
        if abs(self.alpha - 1) > SHARP:
            return np.interp(v, table, TABLE)
        cell = np.clip(np.searchsorted(table, v), 1, TABLE.size - 1)
        low, high = TABLE[cell - 1], TABLE[cell]
        for _ in range(40):
            middle = (low + high) / 2
            below = self._log_v(middle) < v
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2

    @cached_property
    def _table(self) -> Array:
        return self._log_v(TABLE)

    def _shift(self, x: Array) -> Array:
        """The part of log g that depends on x."""
        if self.alpha == 1:
            return -np.pi * x / (2 * self.beta)
        return self.alpha / (self.alpha - 1) * np.log(x)

    def _log_v(self, y: Array) -> Array:
        """The rest of log g, increasing in y."""
        near, far = self.width * special.expit(y), self.width * special.expit(-y)
        if self.alpha == 1:
            return self._log_v_one(near, far)
        # g falls with theta for alpha > 1 and rises for alpha < 1: measure from the end where it is 0.
        t, s = (near, far) if self.alpha < 1 else (far, near)
        a, W = self.alpha, self.width
        rest, rest_a = max(np.pi - W, 0.0), max(np.pi - a * W, 0.0)
        # sin(z) = sin(pi - z): of two forms of the same angle the smaller one has not lost digits.
        log_sin_s = np.log(np.sin(np.minimum(s, rest + t)))
        log_sin_at = np.log(np.sin(np.minimum(a * t, rest_a + a * s)))
        other = rest + (1 - a) * t if a < 1 else rest_a + (a - 1) * s
        log_sin_mix = np.log(np.sin(np.minimum(a * t + s, other)))
        log_cos = -0.5 * np.log1p((self.beta * np.tan(np.pi * a / 2)) ** 2)
        return (a * (log_sin_s - log_sin_at) + log_cos) / (a - 1) + log_sin_mix - log_sin_s

    def _log_v_one(self, t: Array, s: Array) -> Array:
        base = np.pi / 2 * (1 - self.beta) + self.beta * t  # pi/2 + beta theta
        sine = np.sin(np.minimum(s, t))
        tangent = np.where(s < t, np.cos(s), -np.cos(t)) / sine
        return np.log(2 / np.pi) + np.log(base) - np.log(sine) + base * tangent / self.beta
