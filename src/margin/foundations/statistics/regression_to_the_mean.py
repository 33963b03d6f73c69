r"""Regression towards the mean.

For standardized normal X and Y with correlation :math:`\rho`, :math:`E[Y \mid X] = \rho X`: extremes are followed,
on average, by values on the same side but nearer the mean, unless :math:`|\rho| = 1`. Without equal spreads the
slope is :math:`\rho\,\sigma_Y / \sigma_X`, which can be anything.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.statistics.arguments import Floats, integer, pair, positive

__all__ = ["GALTON_SLOPE", "correlated_pairs", "galton_heights", "regression_slope"]

GALTON_SLOPE = 2 / 3  # a son deviates from the average by about two thirds of his father's deviation (1886)


def regression_slope(x: ArrayLike, y: ArrayLike) -> float:
    r"""Least-squares slope :math:`\operatorname{cov}(x, y) / \operatorname{var}(x)`."""
    a, b = pair("regression_slope", x, y)
    deviations = a - a.mean()
    square = float(deviations @ deviations)
    if square == 0:
        raise ValueError(f"regression_slope: x must vary; every value is {a[0]:g}.")
    return float(deviations @ (b - b.mean()) / square)


def correlated_pairs(n: int, rho: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    r"""``n`` pairs of standard normal X and :math:`Y = \rho X + \sqrt{1 - \rho^2} Z`.

    Parameters
    ----------
    n : int
        Number of pairs.
    rho : float in [-1, 1]
        Their correlation.
    rng : numpy.random.Generator
        Source of randomness.
    """
    integer("correlated_pairs", "n", n, low=1)
    if not -1 <= rho <= 1:
        raise ValueError(f"correlated_pairs: rho must lie in [-1, 1]; got {rho!r}.")
    x, z = rng.normal(size=(2, n))
    return x, rho * x + np.sqrt(1 - rho**2) * z


def galton_heights(
    n: int, rng: np.random.Generator, slope: float = GALTON_SLOPE, mean: float = 173.0, sd: float = 6.5
) -> tuple[Floats, Floats]:
    """Simulated heights in cm of ``n`` fathers and their sons: one mean and one spread, this regression slope.

    Parameters
    ----------
    n : int
        Number of fathers.
    rng : numpy.random.Generator
        Source of randomness.
    slope : float
        Slope of the regression of sons on fathers.
    mean : float
        Mean height in cm.
    sd : float
        Its standard deviation.
    """
    positive("galton_heights", "sd", sd)
    father, son = correlated_pairs(n, slope, rng)
    return mean + sd * father, mean + sd * son
