"""Links and response families of generalized linear models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from margin.foundations.statistics.arguments import Floats

__all__ = ["GLM_FAMILIES", "LINKS", "GLMFamily", "Link"]


@dataclass(frozen=True)
class Link:
    """The map from mean to linear predictor, its inverse, and the derivative of the inverse."""

    link: Callable[[Floats], Floats]
    inverse: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]


@dataclass(frozen=True)
class GLMFamily:
    """A natural exponential family seen through its mean.

    ``variance`` is :math:`A''` as a function of the mean, ``start`` a first guess of the means from the data,
    ``free_dispersion`` whether a scale is estimated beside the coefficients.
    """

    variance: Callable[[Floats], Floats]
    log_likelihood: Callable[[Floats, Floats], float]
    canonical: str
    start: Callable[[Floats], Floats]
    allowed: Callable[[Floats], bool]
    support: str
    free_dispersion: bool = False


def _normal_density(z: Floats) -> Floats:
    return np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)


def _gaussian_log_likelihood(y: Floats, mu: Floats) -> float:
    """With the variance at its own maximum, the mean squared residual."""
    return float(-0.5 * len(y) * (np.log(2 * np.pi * np.mean((y - mu) ** 2)) + 1))


def _bernoulli_log_likelihood(y: Floats, mu: Floats) -> float:
    return float(np.sum(special.xlogy(y, mu) + special.xlog1py(1 - y, -mu)))


def _poisson_log_likelihood(y: Floats, mu: Floats) -> float:
    return float(np.sum(special.xlogy(y, mu) - mu - special.gammaln(y + 1)))


LINKS = {
    "identity": Link(lambda mu: mu, lambda eta: eta, np.ones_like),
    "log": Link(np.log, np.exp, np.exp),
    "logit": Link(special.logit, special.expit, lambda eta: special.expit(eta) * special.expit(-eta)),
    "probit": Link(special.ndtri, special.ndtr, _normal_density),
}

GLM_FAMILIES = {
    "gaussian": GLMFamily(
        variance=np.ones_like,
        log_likelihood=_gaussian_log_likelihood,
        canonical="identity",
        start=lambda y: y,
        allowed=lambda y: bool(np.ptp(y) > 0),
        support="numbers that vary",
        free_dispersion=True,
    ),
    "bernoulli": GLMFamily(
        variance=lambda mu: mu * (1 - mu),
        log_likelihood=_bernoulli_log_likelihood,
        canonical="logit",
        start=lambda y: (y + 0.5) / 2,
        allowed=lambda y: bool(np.isin(y, (0, 1)).all()),
        support="zeros and ones",
    ),
    "poisson": GLMFamily(
        variance=lambda mu: mu,
        log_likelihood=_poisson_log_likelihood,
        canonical="log",
        start=lambda y: y + 0.5,
        allowed=lambda y: bool(((y >= 0) & (y == np.floor(y))).all() and y.max() > 0),
        support="counts 0, 1, ... not all zero",
    ),
}
