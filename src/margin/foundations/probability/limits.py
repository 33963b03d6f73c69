r"""What many independent variables do together: the law of large numbers and the central limit theorem.

.. math:: \bar X_n \to \mu \ \text{ if } E|X|<\infty, \qquad
          \sqrt n\,\frac{\bar X_n-\mu}{\sigma} \to \mathcal N(0,1) \ \text{ if also } \sigma^2<\infty

Both conditions matter: means of Cauchy variables are Cauchy again, however many are averaged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from margin.foundations.probability.arguments import Array, integer, numbers, observations
from margin.foundations.probability.distribution import Univariate
from margin.foundations.probability.normal import Normal
from margin.foundations.probability.trials import Binomial

__all__ = [
    "BinomialApproximation",
    "binomial_normal_approximation",
    "kolmogorov_distance",
    "kolmogorov_p_value",
    "means_of_samples",
    "running_mean",
    "standardized_means",
]

# Draws held in memory at once while averaging.
BLOCK = 1 << 20


def running_mean(data: ArrayLike) -> Array:
    """The mean of the first 1, 2, ..., n observations (last axis).

    Parameters
    ----------
    data : array-like of shape (..., n)
        Observations.

    Examples
    --------
    >>> running_mean([1, 3, 2]).tolist()
    [1.0, 2.0, 2.0]
    """
    x = numbers("running_mean", "data", data)
    if x.ndim == 0:
        raise ValueError("running_mean: data must have at least one axis; got a number.")
    return np.cumsum(x, axis=-1) / np.arange(1, x.shape[-1] + 1)


def means_of_samples(law: Univariate, m: int, k: int, rng: np.random.Generator) -> Array:
    """k independent means of m draws each, a block of rows at a time.

    Parameters
    ----------
    law : Univariate
        The distribution.
    m : int
        Draws of every mean.
    k : int
        Number of means.
    rng : numpy.random.Generator
        Source of randomness.
    """
    m, k = integer("means_of_samples", "m", m, low=1), integer("means_of_samples", "k", k)
    rows = max(1, BLOCK // m)
    means = [law.sample(min(rows, k - i) * m, rng).reshape(-1, m).mean(axis=1) for i in range(0, k, rows)]
    return np.concatenate(means) if means else np.empty(0)


def standardized_means(law: Univariate, m: int, k: int, rng: np.random.Generator) -> Array:
    r""":math:`\sqrt m(\bar X_m - \mu)/\sigma`, k times; the law must have a finite variance.

    Parameters
    ----------
    law : Univariate
        The distribution.
    m : int
        Draws of every mean.
    k : int
        Number of means.
    rng : numpy.random.Generator
        Source of randomness.
    """
    if not np.isfinite(law.variance):
        name = type(law).__name__
        raise ValueError(f"standardized_means: the law must have a finite variance; {name} has {law.variance}.")
    return (means_of_samples(law, m, k, rng) - law.mean) * np.sqrt(m / law.variance)


def kolmogorov_distance(data: ArrayLike, cdf: Callable[[Array], Array]) -> float:
    r""":math:`\sup_x |F_n(x) - F(x)|` between a sample and a continuous law.

    Parameters
    ----------
    data : array-like of shape (n,)
        Observations.
    cdf : callable
        The cumulative distribution function.

    Examples
    --------
    >>> round(kolmogorov_distance([0.25, 0.75], lambda x: x), 12)
    0.25
    """
    x = np.sort(observations("kolmogorov_distance", data))
    F, n = cdf(x), x.size
    return float(max(np.max(np.arange(1, n + 1) / n - F), np.max(F - np.arange(n) / n)))


def kolmogorov_p_value(data: ArrayLike, cdf: Callable[[Array], Array]) -> float:
    """How often a sample of this size from the law itself would be at least as far from it (large-n formula).

    Parameters
    ----------
    data : array-like of shape (n,)
        Observations.
    cdf : callable
        The cumulative distribution function.
    """
    n = np.size(data)
    # Stephens' correction makes the limit law accurate from n of about ten on.
    return float(special.kolmogorov((np.sqrt(n) + 0.12 + 0.11 / np.sqrt(n)) * kolmogorov_distance(data, cdf)))


class BinomialApproximation(NamedTuple):
    """Probability that a binomial count lies in a range: exact, and by the normal law without and with correction."""

    exact: float
    plain: float
    corrected: float


def binomial_normal_approximation(n: int, p: float, low: int, high: int) -> BinomialApproximation:
    """Pr(low <= X <= high); the continuity correction widens the range by one half on both sides.

    Parameters
    ----------
    n : int
        Number of trials.
    p : float in [0, 1]
        Probability of success.
    low : int
        Least number of successes.
    high : int
        Largest number of successes.

    Examples
    --------
    >>> print(*(round(v, 5) for v in binomial_normal_approximation(6000, 1 / 6, 990, 1020)))
    0.4025 0.39127 0.40316
    """
    law = Binomial(n, p)
    if law.variance == 0:
        raise ValueError(f"binomial_normal_approximation: n and p must leave something to chance; got {n} and {p}.")
    normal = Normal(law.mean, float(np.sqrt(law.variance)))
    widened = normal.probability(low - 0.5, high + 0.5)
    return BinomialApproximation(law.probability(low, high), normal.probability(low, high), widened)
