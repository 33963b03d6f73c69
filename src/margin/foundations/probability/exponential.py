"""Waiting times with exponential tails: exponential and gamma."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from margin.foundations.probability.arguments import Array, observations, positive
from margin.foundations.probability.distribution import Continuous, Support

__all__ = ["Exponential", "Gamma"]


@dataclass(frozen=True)
class Exponential(Continuous):
    r"""Waiting time at a constant rate: :math:`f(x) = \lambda e^{-\lambda x}`, x ≥ 0; mean :math:`1/\lambda`.

    >>> Exponential(rate=0.5).mean
    2.0
    """

    rate: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", positive("Exponential", "rate", self.rate))

    @property
    def support(self) -> Support:
        return Support(0, np.inf)

    @property
    def mean(self) -> float:
        return 1 / self.rate

    @property
    def variance(self) -> float:
        return 1 / self.rate**2

    def _log_prob(self, x: Array) -> Array:
        return np.log(self.rate) - self.rate * x

    def _cdf(self, x: Array) -> Array:
        return -np.expm1(-self.rate * x)

    def _survival(self, x: Array) -> Array:
        return np.exp(-self.rate * x)

    def _log_survival(self, x: Array) -> Array:
        return -self.rate * x

    def _quantile(self, q: Array) -> Array:
        with np.errstate(divide="ignore"):
            return -np.log1p(-q) / self.rate

    def entropy(self) -> float:
        return 1 - float(np.log(self.rate))

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return rng.exponential(1 / self.rate, n)

    @classmethod
    def fit(cls, data: ArrayLike) -> Exponential:
        """One over the sample mean."""
        data = observations("Exponential.fit", data, low=0)
        if data.max() == 0:
            raise ValueError("Exponential.fit: data must contain a positive value; got only zeros.")
        return cls(float(1 / data.mean()))


@dataclass(frozen=True)
class Gamma(Continuous):
    r"""Sum of waiting times: :math:`f(x) = \frac{\lambda^k}{\Gamma(k)} x^{k-1} e^{-\lambda x}`, x > 0, shape k > 0.

    >>> Gamma(3, rate=2).mean
    1.5
    """

    shape: float
    rate: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", positive("Gamma", "shape", self.shape))
        object.__setattr__(self, "rate", positive("Gamma", "rate", self.rate))

    @property
    def support(self) -> Support:
        return Support(0, np.inf)

    @property
    def mean(self) -> float:
        return self.shape / self.rate

    @property
    def variance(self) -> float:
        return self.shape / self.rate**2

    def _log_prob(self, x: Array) -> Array:
        constant = self.shape * np.log(self.rate) - special.gammaln(self.shape)
        return constant + special.xlogy(self.shape - 1, x) - self.rate * x

    def _cdf(self, x: Array) -> Array:
        return special.gammainc(self.shape, self.rate * x)

    def _survival(self, x: Array) -> Array:
        return special.gammaincc(self.shape, self.rate * x)

    def _quantile(self, q: Array) -> Array:
        return special.gammaincinv(self.shape, q) / self.rate

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return rng.gamma(self.shape, 1 / self.rate, n)

    @classmethod
    def fit(cls, data: ArrayLike) -> Gamma:
        r"""The shape solves :math:`\log k - \psi(k) = \log\bar x - \overline{\log x}` (SciPy's Brent search,
        tolerance 1e-12 in log k); the rate is shape over mean."""
        data = observations("Gamma.fit", data, low=0)
        if data.min() <= 0 or data.min() == data.max():
            raise ValueError("Gamma.fit: data must be positive and not all equal.")
        gap = float(np.log(data.mean()) - np.log(data).mean())

        def score(log_k: float) -> float:
            return log_k - float(special.digamma(np.exp(log_k))) - gap

        # log k - psi(k) lies between 1/(2k) and 1/k, which brackets the root.
        shape = float(np.exp(optimize.brentq(score, np.log(0.5 / gap) - 1e-3, np.log(1 / gap) + 1e-3, xtol=1e-12)))
        return cls(shape, shape / float(data.mean()))
