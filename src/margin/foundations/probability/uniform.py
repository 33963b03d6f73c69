"""Uniform laws: every point of an interval, or every integer between two ends, equally likely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.probability.arguments import Array, integer, observations, real
from margin.foundations.probability.distribution import Continuous, Discrete, Support

__all__ = ["DiscreteUniform", "Uniform"]


@dataclass(frozen=True)
class Uniform(Continuous):
    r"""Density :math:`1/(b-a)` on [a, b]; mean (a+b)/2, variance :math:`(b-a)^2/12`.

    A bacterium that dies at a uniform time between 4 and 6 hours dies at exactly 5 hours with probability zero:

    >>> lifetime = Uniform(4, 6)
    >>> lifetime.probability(5, 5), round(lifetime.probability(5, 5.01), 12)
    (0.0, 0.005)
    """

    a: float = 0.0
    b: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", real("Uniform", "a", self.a))
        object.__setattr__(self, "b", real("Uniform", "b", self.b))
        if not self.a < self.b:
            raise ValueError(f"Uniform: a must be below b; got {self.a:g} and {self.b:g}.")

    @property
    def support(self) -> Support:
        return Support(self.a, self.b)

    @property
    def mean(self) -> float:
        return (self.a + self.b) / 2

    @property
    def variance(self) -> float:
        return (self.b - self.a) ** 2 / 12

    def _log_prob(self, x: Array) -> Array:
        return np.full(x.shape, -np.log(self.b - self.a))

    def _cdf(self, x: Array) -> Array:
        return (x - self.a) / (self.b - self.a)

    def _quantile(self, q: Array) -> Array:
        return self.a + q * (self.b - self.a)

    def entropy(self) -> float:
        return float(np.log(self.b - self.a))

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return rng.uniform(self.a, self.b, n)

    @classmethod
    def fit(cls, data: ArrayLike) -> Uniform:
        """The tightest interval around the data."""
        data = observations("Uniform.fit", data)
        return cls(float(data.min()), float(data.max()))


@dataclass(frozen=True)
class DiscreteUniform(Discrete):
    """Each integer from ``low`` to ``high``, both included, with the same probability: a fair die is (1, 6).

    >>> DiscreteUniform(1, 6).mean
    3.5
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", integer("DiscreteUniform", "low", self.low, low=-(2**53)))
        object.__setattr__(self, "high", integer("DiscreteUniform", "high", self.high, low=-(2**53)))
        if self.low > self.high:
            raise ValueError(f"DiscreteUniform: low must not exceed high; got {self.low} and {self.high}.")

    @property
    def support(self) -> Support:
        return Support(self.low, self.high, integers=True)

    @property
    def mean(self) -> float:
        return (self.low + self.high) / 2

    @property
    def variance(self) -> float:
        return ((self.high - self.low + 1) ** 2 - 1) / 12

    def _log_prob(self, x: Array) -> Array:
        return np.full(x.shape, -np.log(self.high - self.low + 1))

    def _cdf(self, x: Array) -> Array:
        return (x - self.low + 1) / (self.high - self.low + 1)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return rng.integers(self.low, self.high + 1, n).astype(np.float64)

    @classmethod
    def fit(cls, data: ArrayLike) -> DiscreteUniform:
        """The tightest range around the data."""
        data = observations("DiscreteUniform.fit", data, integers=True)
        return cls(int(data.min()), int(data.max()))
