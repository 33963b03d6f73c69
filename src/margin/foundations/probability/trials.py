"""Coins: one toss (Bernoulli) and the number of heads in n tosses (binomial)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from margin.foundations.probability.arguments import Array, fraction, integer, observations
from margin.foundations.probability.distribution import Discrete, Support

__all__ = ["Bernoulli", "Binomial", "log_binomial_coefficient"]


def log_binomial_coefficient(n: ArrayLike, k: ArrayLike) -> Array:
    r""":math:`\log\binom nk`, the log-number of ways to choose k of n; n may be any real above k - 1."""
    return special.gammaln(np.add(n, 1)) - special.gammaln(np.add(k, 1)) - special.gammaln(np.subtract(n, k) + 1)


@dataclass(frozen=True)
class Bernoulli(Discrete):
    r"""One trial with success probability p: :math:`\Pr(X=x) = p^x (1-p)^{1-x}` for x in {0, 1}.

    >>> Bernoulli(0.3).pmf([0, 1]).round(12).tolist()
    [0.7, 0.3]
    """

    p: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", fraction("Bernoulli", "p", self.p))

    @property
    def support(self) -> Support:
        return Support(0, 1, integers=True)

    @property
    def mean(self) -> float:
        return self.p

    @property
    def variance(self) -> float:
        return self.p * (1 - self.p)

    def _log_prob(self, x: Array) -> Array:
        return special.xlogy(x, self.p) + special.xlog1py(1 - x, -self.p)

    def _cdf(self, x: Array) -> Array:
        return np.where(x < 1, 1 - self.p, 1.0)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return (rng.random(n) < self.p).astype(np.float64)

    @classmethod
    def fit(cls, data: ArrayLike) -> Bernoulli:
        """The relative frequency of ones."""
        data = observations("Bernoulli.fit", data, integers=True, low=0)
        if data.max() > 1:
            raise ValueError(f"Bernoulli.fit: data must be 0 or 1; got {data.max():g}.")
        return cls(float(data.mean()))


@dataclass(frozen=True)
class Binomial(Discrete):
    r"""Successes in n independent trials: :math:`\Pr(X=k) = \binom nk p^k (1-p)^{n-k}`, k = 0, ..., n.

    The binomial coefficient is a multiplicity: it counts the arrangements of k ones among n places, and
    k = n is one of them.

    >>> Binomial(3, 0.5).pmf([0, 1, 2, 3]).round(12).tolist()
    [0.125, 0.375, 0.375, 0.125]
    """

    n: int
    p: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", integer("Binomial", "n", self.n))
        object.__setattr__(self, "p", fraction("Binomial", "p", self.p))

    @property
    def support(self) -> Support:
        return Support(0, self.n, integers=True)

    @property
    def mean(self) -> float:
        return self.n * self.p

    @property
    def variance(self) -> float:
        return self.n * self.p * (1 - self.p)

    def _log_prob(self, x: Array) -> Array:
        powers = special.xlogy(x, self.p) + special.xlog1py(self.n - x, -self.p)
        return log_binomial_coefficient(self.n, x) + powers

    def _cdf(self, x: Array) -> Array:
        return special.bdtr(x, self.n, self.p)

    def _survival(self, x: Array) -> Array:
        return special.bdtrc(x, self.n, self.p)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return rng.binomial(self.n, self.p, n).astype(np.float64)

    @classmethod
    def fit(cls, data: ArrayLike, n: int) -> Binomial:
        """The pooled frequency of successes, the number of trials ``n`` being known."""
        data = observations("Binomial.fit", data, integers=True, low=0)
        n = integer("Binomial.fit", "n", n, low=1)
        if data.max() > n:
            raise ValueError(f"Binomial.fit: data must not exceed n={n}; got {data.max():g}.")
        return cls(n, float(data.mean() / n))
