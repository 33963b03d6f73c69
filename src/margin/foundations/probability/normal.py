r"""The normal distribution on the line.

.. math:: f(x) = \frac{1}{\sqrt{2\pi\sigma^2}}\, e^{-(x-\mu)^2/2\sigma^2},
          \qquad F(x) = \int_{-\infty}^x f(t)\,dt = \Phi\!\left(\frac{x-\mu}{\sigma}\right)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from margin.foundations.probability.arguments import Array, observations, positive, real
from margin.foundations.probability.distribution import Continuous, Support

__all__ = ["LOG_SQRT_2PI", "Normal"]

LOG_SQRT_2PI = 0.5 * float(np.log(2 * np.pi))


@dataclass(frozen=True)
class Normal(Continuous):
    r"""Mean ``mu`` and standard deviation ``sigma``. Affine maps and sums of *independent* normals are normal:

    >>> 2 * Normal(1, 3) + 5
    Normal(mu=7.0, sigma=6.0)
    >>> Normal(0, 3).add(Normal(1, 4))
    Normal(mu=1.0, sigma=5.0)
    """

    mu: float = 0.0
    sigma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", real("Normal", "mu", self.mu))
        object.__setattr__(self, "sigma", positive("Normal", "sigma", self.sigma))

    @property
    def support(self) -> Support:
        return Support(-np.inf, np.inf)

    @property
    def mean(self) -> float:
        return self.mu

    @property
    def variance(self) -> float:
        return self.sigma**2

    def _log_prob(self, x: Array) -> Array:
        return -0.5 * ((x - self.mu) / self.sigma) ** 2 - np.log(self.sigma) - LOG_SQRT_2PI

    def _cdf(self, x: Array) -> Array:
        return special.ndtr((x - self.mu) / self.sigma)

    def _survival(self, x: Array) -> Array:
        return special.ndtr((self.mu - x) / self.sigma)

    def _log_survival(self, x: Array) -> Array:
        return special.log_ndtr((self.mu - x) / self.sigma)

    def _quantile(self, q: Array) -> Array:
        return self.mu + self.sigma * special.ndtri(q)

    def entropy(self) -> float:
        return 0.5 + LOG_SQRT_2PI + float(np.log(self.sigma))

    def score(self, x: ArrayLike) -> Array:
        r""":math:`\frac{d}{dx}\log f(x) = (\mu - x)/\sigma^2`."""
        return (self.mu - np.asarray(x, dtype=np.float64)) / self.variance

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return rng.normal(self.mu, self.sigma, n)

    def __mul__(self, a: float) -> Normal:
        r""":math:`aX \sim \mathcal N(a\mu, (a\sigma)^2)`, a nonzero."""
        return Normal(a * self.mu, abs(a) * self.sigma)

    __rmul__ = __mul__

    def __add__(self, b: float) -> Normal:
        r""":math:`X + b`, b a number. For a sum of two laws say so: :meth:`add`, which assumes independence."""
        return Normal(self.mu + real("Normal", "the shift", b), self.sigma)

    __radd__ = __add__

    def add(self, other: Normal, correlation: float = 0.0) -> Normal:
        r"""Law of X + Y for jointly normal X, Y:
        :math:`\mathcal N(\mu_X+\mu_Y,\ \sigma_X^2+\sigma_Y^2+2\rho\sigma_X\sigma_Y)`; independent when
        :math:`\rho = 0`."""
        if not -1 <= correlation <= 1:
            raise ValueError(f"Normal.add: correlation must lie in [-1, 1]; got {correlation!r}.")
        variance = self.variance + other.variance + 2 * correlation * self.sigma * other.sigma
        if variance <= 0:
            raise ValueError("Normal.add: the sum is a constant (correlation -1 and equal deviations).")
        return Normal(self.mu + other.mu, float(np.sqrt(variance)))

    def subtract(self, other: Normal, correlation: float = 0.0) -> Normal:
        """Law of X - Y: means subtract, variances of independent variables still add."""
        return self.add(-1 * other, -correlation)

    @classmethod
    def fit(cls, data: ArrayLike) -> Normal:
        """Sample mean and root mean squared deviation (divided by n: the maximum of the likelihood)."""
        data = observations("Normal.fit", data)
        if data.min() == data.max():
            raise ValueError(f"Normal.fit: data must not all be equal; got {data.size} times {data[0]:g}.")
        return cls(float(data.mean()), float(data.std()))
