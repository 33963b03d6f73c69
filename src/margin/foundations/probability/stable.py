r"""The alpha-stable family: laws that keep their shape when independent copies are added.

Four parameters: stability :math:`\alpha \in (0, 2]`, skewness :math:`\beta \in [-1, 1]`, scale :math:`\gamma > 0`,
location :math:`\delta`, in the form S1 of the characteristic function

.. math:: \log\varphi(t) = -|\gamma t|^\alpha\bigl(1 - i\beta\,\mathrm{sign}(t)\tan\tfrac{\pi\alpha}2\bigr) + i\delta t
          \quad(\alpha\ne1), \qquad
          -|\gamma t|\bigl(1 + i\beta\tfrac2\pi\,\mathrm{sign}(t)\log|t|\bigr) + i\delta t \quad(\alpha=1).

Only :math:`\beta = 0` is symmetric. :math:`\alpha = 2` is normal with variance :math:`2\gamma^2`,
:math:`(1, 0)` is Cauchy and :math:`(\tfrac12, 1)` is Lévy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import interpolate, optimize, special

from margin.foundations.probability.arguments import Array, observations, positive, real
from margin.foundations.probability.distribution import Continuous, Support
from margin.foundations.probability.heavy import Cauchy
from margin.foundations.probability.normal import Normal
from margin.foundations.probability.stable_integral import stable_integral

__all__ = ["AlphaStable"]

# Search box and table of the likelihood: alpha below 0.2 spreads over hundreds of decades.
SMALLEST_FITTED_ALPHA = 0.2
# tan(pi alpha / 2) has its pole at alpha = 1; closer than this the law at alpha = 1 +- GAP is the same to 1e-4.
GAP = 1e-4
TABLE_POINTS = 400


@dataclass(frozen=True)
class AlphaStable(Continuous):
    """An alpha-stable law in the form S1 (SciPy's default).

    >>> law = AlphaStable(alpha=2.0, beta=0.0, gamma=1.0, delta=3.0)
    >>> law.mean, round(law.variance, 12)
    (3.0, 2.0)
    """

    alpha: float
    beta: float = 0.0
    gamma: float = 1.0
    delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", positive("AlphaStable", "alpha", self.alpha))
        object.__setattr__(self, "beta", real("AlphaStable", "beta", self.beta))
        object.__setattr__(self, "gamma", positive("AlphaStable", "gamma", self.gamma))
        object.__setattr__(self, "delta", real("AlphaStable", "delta", self.delta))
        if self.alpha > 2:
            raise ValueError(f"AlphaStable: alpha must lie in (0, 2]; got {self.alpha!r}.")
        if abs(self.beta) > 1:
            raise ValueError(f"AlphaStable: beta must lie in [-1, 1]; got {self.beta!r}.")

    @property
    def support(self) -> Support:
        half_line = self.alpha < 1 and abs(self.beta) == 1
        low = self.delta if half_line and self.beta == 1 else -np.inf
        return Support(low, self.delta if half_line and self.beta == -1 else np.inf)

    @property
    def mean(self) -> float:
        """delta above alpha = 1; for smaller alpha infinite on a half line and undefined otherwise."""
        if self.alpha > 1:
            return self.delta
        return self.beta * np.inf if self.alpha < 1 and abs(self.beta) == 1 else np.nan

    @property
    def variance(self) -> float:
        if self.alpha == 2:
            return 2 * self.gamma**2
        return np.nan if np.isnan(self.mean) else np.inf

    def _log_prob(self, x: Array) -> Array:
        named = self._closed_form()
        if named is not None:
            return named.log_prob(x)
        z = self._standard(x).ravel()
        density = np.empty_like(z)
        for side, beta, distance, _ in self._sides(z):
            density[side] = stable_integral(self.alpha, beta).density(distance)
        if self.alpha != 1:
            density[z == 0] = self._density_at_zero()
        return np.log(density.reshape(x.shape)) - np.log(self.gamma)

    def _cdf(self, x: Array) -> Array:
        return self._tail(x, right=False)

    def _survival(self, x: Array) -> Array:
        return self._tail(x, right=True)

    def _tail(self, x: Array, right: bool) -> Array:
        """Pr(X > x) or Pr(X <= x), each without cancellation on its own side."""
        named = self._closed_form()
        if named is not None:
            return named.survival(x) if right else named.cdf(x)
        z = self._standard(x).ravel()
        out = np.full_like(z, 0.5 + (1 if right else -1) * self._theta0() / np.pi)
        for side, beta, distance, mirrored in self._sides(z):
            integral = stable_integral(self.alpha, beta)
            same_side = right != mirrored
            if self.alpha == 1:
                out[side] = integral.tail(distance) if same_side else integral.head(distance)
            else:
                out[side] = integral.tail(distance) if same_side else 1 - integral.tail(distance)
        return out.reshape(x.shape)

    def _closed_form(self) -> Continuous | None:
        """The members with closed forms that the integrals do not cover."""
        if self.alpha == 2:
            return Normal(self.delta, float(np.sqrt(2)) * self.gamma)
        return Cauchy(self.delta, self.gamma) if self.alpha == 1 and self.beta == 0 else None

    def _standard(self, x: Array) -> Array:
        z = (x - self.delta) / self.gamma
        return z - self.beta * 2 / np.pi * np.log(self.gamma) if self.alpha == 1 else z

    def _sides(self, z: Array) -> list[tuple[np.ndarray, float, Array, bool]]:
        """Which points, the skewness and distance under which the integral sees them, and whether they are mirrored:
        minus a law of skewness beta is one of skewness -beta."""
        if self.alpha == 1:
            sign = 1.0 if self.beta > 0 else -1.0
            return [(np.ones(z.shape, dtype=bool), sign * self.beta, sign * z, sign < 0)]
        return [(z > 0, self.beta, z[z > 0], False), (z < 0, -self.beta, -z[z < 0], True)]

    def _theta0(self) -> float:
        return float(np.arctan(self.beta * np.tan(np.pi * self.alpha / 2)) / self.alpha)

    def _density_at_zero(self) -> float:
        slope = (self.beta * np.tan(np.pi * self.alpha / 2)) ** 2
        at_zero = special.gamma(1 + 1 / self.alpha) * np.cos(self._theta0()) / np.pi
        return float(at_zero * (1 + slope) ** (-0.5 / self.alpha))

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        """Chambers, Mallows and Stuck (1976): one uniform angle and one exponential per draw."""
        angle = rng.uniform(-np.pi / 2, np.pi / 2, n)
        waiting = rng.standard_exponential(n)
        a, b = self.alpha, self.beta
        if a == 1:
            bend = np.pi / 2 + b * angle
            z = 2 / np.pi * (bend * np.tan(angle) - b * np.log(np.pi / 2 * waiting * np.cos(angle) / bend))
            return self.gamma * z + self.delta + b * 2 / np.pi * self.gamma * np.log(self.gamma)
        theta0 = self._theta0() if a < 2 else 0.0
        scale = (1 + (b * np.tan(np.pi * a / 2)) ** 2) ** (0.5 / a) if a < 2 else 1.0
        turned = a * (angle + theta0)
        z = np.sin(turned) / np.cos(angle) ** (1 / a) * (np.cos(angle - turned) / waiting) ** ((1 - a) / a)
        return self.gamma * scale * z + self.delta

    @classmethod
    def fit(cls, data: ArrayLike) -> AlphaStable:
        """Maximum likelihood by L-BFGS (tolerance 1e-8) on a tabulated log-density, alpha at least 0.2.

        The search runs in the form S0, whose location moves smoothly through alpha = 1; the interpolation
        error of the table is below 1e-4 in the log-density.
        """
        data = observations("AlphaStable.fit", data)
        quarter, median, three_quarters = np.quantile(data, [0.25, 0.5, 0.75])
        unit = (three_quarters - quarter) / 2
        if unit == 0:
            raise ValueError("AlphaStable.fit: data must have a positive interquartile range; half of them are equal.")
        x = (data - median) / unit
        starts = [(alpha, beta, 0.0, 0.0) for alpha in (0.7, 1.2, 1.7) for beta in (-0.5, 0.0, 0.5)]
        start = min(starts, key=lambda p: _negative_log_likelihood(np.array(p), x))
        box = [(SMALLEST_FITTED_ALPHA, 2.0), (-1.0, 1.0), (-5.0, 5.0), (-20.0, 20.0)]
        options = {"ftol": 1e-8, "gtol": 1e-5, "eps": 1e-5}
        optimum = optimize.minimize(
            _negative_log_likelihood, start, args=(x,), method="L-BFGS-B", bounds=box, options=options
        )
        law = _from_continuous_form(optimum.x)
        # alpha is never exactly 1 here, so the location scales like the variable.
        return cls(law.alpha, law.beta, law.gamma * unit, law.delta * unit + float(median))


def _from_continuous_form(parameters: Array) -> AlphaStable:
    """(alpha, beta, log gamma, delta_0) of the form S0 as a law in the form S1."""
    alpha, beta, log_gamma, delta = (float(p) for p in parameters)
    if abs(alpha - 1) < GAP:
        alpha = 1 + GAP if alpha >= 1 else 1 - GAP
    gamma = float(np.exp(log_gamma))
    return AlphaStable(alpha, beta, gamma, delta - beta * gamma * float(np.tan(np.pi * alpha / 2)))


def _negative_log_likelihood(parameters: Array, x: Array) -> float:
    law = _from_continuous_form(parameters)
    # Points dense in the bulk and geometric in the tails, around the center of the form S0.
    center, scale = parameters[3], law.gamma
    z = np.arcsinh((x - center) / scale)
    knots = np.linspace(z.min() - 0.1, z.max() + 0.1, TABLE_POINTS)
    table = np.maximum(law.log_prob(center + scale * np.sinh(knots)), -700.0)
    return -float(interpolate.PchipInterpolator(knots, table)(z).mean())
