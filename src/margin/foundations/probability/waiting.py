"""Waiting for successes (geometric, negative binomial) and counting rare events (Poisson)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from margin.foundations.probability.arguments import Array, fraction, observations, positive
from margin.foundations.probability.distribution import Discrete, Support
from margin.foundations.probability.trials import log_binomial_coefficient

__all__ = ["Geometric", "NegativeBinomial", "Poisson"]

# Above this many successes a negative binomial cannot be told from a Poisson law in double precision.
LARGEST_R = 1e8


@dataclass(frozen=True)
class Geometric(Discrete):
    r"""Failures before the first success, :math:`p(1-p)^k` on k = 0, 1, ...; with ``start=1`` the number of
    trials, :math:`p(1-p)^{k-1}` on k = 1, 2, ... The mean is (1-p)/p from 0 and 1/p from 1.

    >>> Geometric(0.5).mean, Geometric(0.5, start=1).mean
    (1.0, 2.0)
    """

    p: float
    start: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", fraction("Geometric", "p", self.p, zero=False))
        if self.start not in (0, 1):
            raise ValueError(f"Geometric: start must be 0 or 1; got {self.start!r}.")

    @property
    def support(self) -> Support:
        return Support(self.start, np.inf, integers=True)

    @property
    def mean(self) -> float:
        return (1 - self.p) / self.p + self.start

    @property
    def variance(self) -> float:
        return (1 - self.p) / self.p**2

    def _log_prob(self, x: Array) -> Array:
        return np.log(self.p) + special.xlog1py(x - self.start, -self.p)

    def _log_survival(self, x: Array) -> Array:
        return special.xlog1py(x - self.start + 1, -self.p)

    def _survival(self, x: Array) -> Array:
        return np.exp(self._log_survival(x))

    def _cdf(self, x: Array) -> Array:
        return -np.expm1(self._log_survival(x))

    def entropy(self) -> float:
        return float(special.entr(self.p) + special.entr(1 - self.p)) / self.p

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return rng.geometric(self.p, n).astype(np.float64) - 1 + self.start

    @classmethod
    def fit(cls, data: ArrayLike, start: int = 0) -> Geometric:
        """Successes over trials: 1 / (mean number of trials)."""
        data = observations("Geometric.fit", data, integers=True, low=start)
        return cls(float(1 / (data.mean() - start + 1)), start)


@dataclass(frozen=True)
class NegativeBinomial(Discrete):
    r"""Failures k before the r-th success: :math:`\Pr(X=k) = \binom{k+r-1}{r-1} p^r (1-p)^k`.

    Any r > 0 is allowed (the coefficient is then a ratio of gamma functions), which makes it the law of counts
    with more spread than Poisson's.

    >>> NegativeBinomial(1, 0.5).pmf([0, 1, 2]).round(12).tolist()
    [0.5, 0.25, 0.125]
    """

    r: float
    p: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "r", positive("NegativeBinomial", "r", self.r))
        object.__setattr__(self, "p", fraction("NegativeBinomial", "p", self.p, zero=False))

    @property
    def support(self) -> Support:
        return Support(0, np.inf, integers=True)

    @property
    def mean(self) -> float:
        return self.r * (1 - self.p) / self.p

    @property
    def variance(self) -> float:
        return self.r * (1 - self.p) / self.p**2

    def _log_prob(self, x: Array) -> Array:
        powers = self.r * np.log(self.p) + special.xlog1py(x, -self.p)
        return log_binomial_coefficient(x + self.r - 1, x) + powers

    def _cdf(self, x: Array) -> Array:
        return special.betainc(self.r, x + 1, self.p)

    def _survival(self, x: Array) -> Array:
        return special.betaincc(self.r, x + 1, self.p)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return rng.negative_binomial(self.r, self.p, n).astype(np.float64)

    @classmethod
    def fit(cls, data: ArrayLike, r: float | None = None) -> NegativeBinomial:
        r"""p = r / (r + mean); an unknown r solves the profile score
        :math:`\sum_i \psi(k_i + r) - n\psi(r) + n\log\frac{r}{r + \bar k} = 0`, which has a root exactly when the
        sample variance exceeds the mean (SciPy's Brent search, relative tolerance 1e-12)."""
        data = observations("NegativeBinomial.fit", data, integers=True, low=0)
        r = _profile_r(data) if r is None else positive("NegativeBinomial.fit", "r", r)
        return cls(r, r / (r + float(data.mean())))


@dataclass(frozen=True)
class Poisson(Discrete):
    r"""Number of rare events at rate :math:`\lambda`: :math:`\Pr(X=k) = e^{-\lambda}\lambda^k/k!`, k = 0, 1, ...

    >>> law = Poisson(2.5)
    >>> law.mean == law.variance == 2.5
    True
    """

    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", positive("Poisson", "rate", self.rate))

    @property
    def support(self) -> Support:
        return Support(0, np.inf, integers=True)

    @property
    def mean(self) -> float:
        return self.rate

    @property
    def variance(self) -> float:
        return self.rate

    def _log_prob(self, x: Array) -> Array:
        return special.xlogy(x, self.rate) - self.rate - special.gammaln(x + 1)

    def _cdf(self, x: Array) -> Array:
        return special.pdtr(x, self.rate)

    def _survival(self, x: Array) -> Array:
        return special.pdtrc(x, self.rate)

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return rng.poisson(self.rate, n).astype(np.float64)

    @classmethod
    def fit(cls, data: ArrayLike) -> Poisson:
        """The sample mean."""
        data = observations("Poisson.fit", data, integers=True, low=0)
        if data.max() == 0:
            raise ValueError("Poisson.fit: data must contain a positive count; got only zeros.")
        return cls(float(data.mean()))


def _digamma_difference(r: float, k: Array) -> Array:
    r""":math:`\psi(k+r)-\psi(r)`; for large r by the asymptotic series, whose terms subtract without loss."""
    if r < 100:
        return special.digamma(k + r) - special.digamma(r)
    inverse, shifted = 1 / r, 1 / (k + r)
    return (
        np.log1p(k / r) + k * inverse * shifted / 2 + (inverse**2 - shifted**2) / 12 - (inverse**4 - shifted**4) / 120
    )


def _profile_r(k: Array) -> float:
    mean = k.mean()
    if k.var() <= mean:
        raise ValueError(
            f"NegativeBinomial.fit: data must have a variance above their mean; got {k.var():.6g} and {mean:.6g}. "
            "A Poisson law has the larger likelihood."
        )
    values, counts = np.unique(k, return_counts=True)

    def score(log_r: float) -> float:
        r = np.exp(log_r)
        return float(counts @ _digamma_difference(r, values) / k.size - np.log1p(mean / r))

    low, high = np.log(1e-8), np.log(LARGEST_R)
    if score(high) >= 0:
        raise ValueError(f"NegativeBinomial.fit: the best r exceeds {LARGEST_R:g}; fit a Poisson law instead.")
    return float(np.exp(optimize.brentq(score, low, high, xtol=1e-12)))
