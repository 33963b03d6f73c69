r"""The families that maximum likelihood is shown on: log-density, closed-form estimate, support, free parameters.

Parameters are the last axis of ``theta``: shape (k,) for one law, (n, k) for one law per observation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from margin.foundations.statistics.arguments import Floats

__all__ = ["FAMILIES", "Family"]


@dataclass(frozen=True)
class Family:
    """A parametric family; ``constrain`` maps free numbers to valid parameters."""

    name: str
    log_density: Callable[[Floats, Floats], Floats]
    estimate: Callable[[Floats], Floats]
    constrain: Callable[[Floats], Floats]
    n_free: Callable[[Floats], int]
    allowed: Callable[[Floats], bool]
    support: str

    def check(self, values: Floats) -> None:
        """Refuse data that the family cannot produce, or that put the estimate at no proper member of it."""
        if not self.allowed(values):
            raise ValueError(
                f"{self.name}: data must be {self.support}; got values in [{values.min()}, {values.max()}]."
            )


def _bernoulli(x: Floats, theta: Floats) -> Floats:
    p = theta[..., 0]
    return special.xlogy(x, p) + special.xlog1py(1 - x, -p)


def _categorical(x: Floats, theta: Floats) -> Floats:
    codes = x.astype(np.intp)
    p = theta[codes] if theta.ndim == 1 else theta[np.arange(len(x)), codes]
    return np.log(p)


def _poisson(x: Floats, theta: Floats) -> Floats:
    rate = theta[..., 0]
    return special.xlogy(x, rate) - rate - special.gammaln(x + 1)


def _geometric(x: Floats, theta: Floats) -> Floats:
    p = theta[..., 0]  # trials up to and including the first success: support 1, 2, ...
    return special.xlog1py(x - 1, -p) + np.log(p)


def _exponential(x: Floats, theta: Floats) -> Floats:
    rate = theta[..., 0]
    return np.log(rate) - rate * x


def _normal(x: Floats, theta: Floats) -> Floats:
    mean, sd = theta[..., 0], theta[..., 1]
    return -0.5 * ((x - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)


def _laplace(x: Floats, theta: Floats) -> Floats:
    center, scale = theta[..., 0], theta[..., 1]
    return -np.abs(x - center) / scale - np.log(2 * scale)


def _location_scale(free: Floats) -> Floats:
    return np.concatenate([free[..., :1], np.exp(free[..., 1:])], axis=-1)


def _softmax_from_zero(free: Floats) -> Floats:
    """The first logit is fixed at zero, so that k - 1 free numbers name k probabilities once."""
    return special.softmax(np.concatenate([np.zeros_like(free[..., :1]), free], axis=-1), axis=-1)


def _counts(x: Floats) -> bool:
    return bool(((x >= 0) & (x == np.floor(x))).all())


def _laplace_estimate(x: Floats) -> Floats:
    center = np.median(x)
    return np.array([center, np.abs(x - center).mean()])


def _one(x: Floats) -> int:  # noqa: ARG001 - one free number, whatever the data
    return 1


def _two(x: Floats) -> int:  # noqa: ARG001 - location and scale
    return 2


FAMILIES = {
    law.name: law
    for law in (
        Family(
            "bernoulli",
            _bernoulli,
            lambda x: np.array([x.mean()]),
            special.expit,
            _one,
            lambda x: bool(np.isin(x, (0, 1)).all()),
            "zeros and ones",
        ),
        Family(
            "categorical",
            _categorical,
            lambda x: np.bincount(x.astype(np.intp)) / len(x),
            _softmax_from_zero,
            lambda x: int(x.max()),
            lambda x: _counts(x) and x.max() >= 1,
            "codes 0, 1, ... with at least two classes",
        ),
        Family(
            "poisson",
            _poisson,
            lambda x: np.array([x.mean()]),
            np.exp,
            _one,
            lambda x: _counts(x) and x.max() > 0,
            "counts 0, 1, ... not all zero",
        ),
        Family(
            "geometric",
            _geometric,
            lambda x: np.array([1 / x.mean()]),
            special.expit,
            _one,
            lambda x: _counts(x) and x.min() >= 1,
            "counts 1, 2, ...",
        ),
        Family(
            "exponential",
            _exponential,
            lambda x: np.array([1 / x.mean()]),
            np.exp,
            _one,
            lambda x: bool((x >= 0).all()) and x.max() > 0,
            "at least zero and not all zero",
        ),
        Family(
            "normal",
            _normal,
            lambda x: np.array([x.mean(), x.std()]),
            _location_scale,
            _two,
            lambda x: bool(np.ptp(x) > 0),
            "numbers that vary",
        ),
        Family(
            "laplace",
            _laplace,
            _laplace_estimate,
            _location_scale,
            _two,
            lambda x: bool(np.ptp(x) > 0),
            "numbers that vary",
        ),
    )
}
