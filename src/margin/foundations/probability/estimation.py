r"""Likelihood, and the parameters that make it (times a prior) largest.

.. math:: \hat\theta_{\mathrm{ML}} = \arg\max_\theta \sum_i\log p_\theta(x_i), \qquad
          \hat\theta_{\mathrm{MAP}} = \arg\max_\theta \sum_i\log p_\theta(x_i) + \log p(\theta)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.probability.arguments import Array, numbers
from margin.foundations.probability.distribution import Distribution

__all__ = ["DistributionEstimate", "likelihood", "log_likelihood", "maximum_a_posteriori", "maximum_likelihood"]

GRADIENT_TOLERANCE = 1e-8


class DistributionEstimate(NamedTuple):
    """The maximizing parameters, the law they give and the value reached (log-likelihood, plus log-prior if any)."""

    parameters: Array
    law: Distribution
    value: float


def log_likelihood(law: Distribution, data: ArrayLike) -> float:
    """The sum of log-probabilities of independent observations.

    Parameters
    ----------
    law : Distribution
        The distribution.
    data : array-like of shape (n, ...)
        Observations.

    Examples
    --------
    >>> from margin.foundations.probability import Bernoulli
    >>> round(log_likelihood(Bernoulli(0.5), [1, 0, 1]), 6)
    -2.079442
    """
    return float(np.sum(law.log_prob(data)))


def likelihood(law: Distribution, data: ArrayLike) -> float:
    """The product of probabilities or densities; it underflows for long samples, its logarithm does not.

    Parameters
    ----------
    law : Distribution
        The distribution.
    data : array-like of shape (n, ...)
        Observations.
    """
    return float(np.exp(log_likelihood(law, data)))


def maximum_likelihood(
    family: Callable[[Array], Distribution], start: ArrayLike, data: ArrayLike
) -> DistributionEstimate:
    """Maximize numerically over unconstrained parameters: ``family`` maps a parameter vector to a law.

    The closed forms of the ``fit`` methods are faster; this one needs no calculus and checks them.

    Parameters
    ----------
    family : callable
        Maps a parameter vector to a distribution.
    start : array-like of shape (k,)
        Parameters where the search begins.
    data : array-like of shape (n, ...)
        Observations.

    Examples
    --------
    >>> from margin.foundations.probability import Poisson
    >>> found = maximum_likelihood(lambda p: Poisson(np.exp(p[0])), [0.0], [2, 4, 3])
    >>> round(found.law.rate, 6)
    3.0
    """
    return maximum_a_posteriori(family, start, data, lambda _: 0.0)


def maximum_a_posteriori(
    family: Callable[[Array], Distribution],
    start: ArrayLike,
    data: ArrayLike,
    log_prior: Callable[[Array], float],
) -> DistributionEstimate:
    """The same with a log-prior on the parameter vector: BFGS, gradient tolerance 1e-8 per observation.

    Parameters
    ----------
    family : callable
        Maps a parameter vector to a distribution.
    start : array-like of shape (k,)
        Parameters where the search begins.
    data : array-like of shape (n, ...)
        Observations.
    log_prior : callable
        Log-density of the prior at a parameter vector.
    """
    from scipy import optimize

    x = numbers("maximum_a_posteriori", "data", data)
    if x.size == 0:
        raise ValueError("maximum_a_posteriori: data must not be empty.")
    point = np.atleast_1d(numbers("maximum_a_posteriori", "start", start))

    def loss(parameters: Array) -> float:
        return -(log_likelihood(family(parameters), x) + log_prior(parameters)) / len(x)

    if not np.isfinite(loss(point)):
        raise ValueError(f"maximum_a_posteriori: start must give the data a positive probability; got {start!r}.")
    optimum = optimize.minimize(loss, point, method="BFGS", jac="3-point", options={"gtol": GRADIENT_TOLERANCE})
    return DistributionEstimate(optimum.x, family(optimum.x), float(-optimum.fun * len(x)))
