r"""Monte Carlo: replace an expectation by an average over draws.

.. math:: E[f(X)] \approx \frac1n\sum_{i=1}^n f(x_i), \qquad \text{standard error } \frac{\hat\sigma_f}{\sqrt n}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from margin.foundations.probability.arguments import Array, generator, integer

__all__ = ["MonteCarloEstimate", "monte_carlo", "monte_carlo_pi"]


class MonteCarloEstimate(NamedTuple):
    """An average over n draws and its standard error."""

    value: float
    standard_error: float
    n: int


def monte_carlo(
    f: Callable[[Array], Array],
    sampler: Callable[[int, np.random.Generator], Array],
    n: int,
    rng: np.random.Generator,
) -> MonteCarloEstimate:
    """Draw n inputs, compute f on each, average. ``sampler`` is any ``law.sample``.

    Parameters
    ----------
    f : callable
        A function of draws.
    sampler : callable
        ``sampler(n, rng)``.
    n : int
        Number of draws.
    rng : numpy.random.Generator
        Source of randomness.

    Examples
    --------
    >>> from margin.foundations.probability import Normal
    >>> found = monte_carlo(np.square, Normal(0, 1).sample, 100_000, np.random.default_rng(0))
    >>> abs(found.value - 1) < 4 * found.standard_error
    True
    """
    n = integer("monte_carlo", "n", n, low=2)
    values = np.asarray(f(sampler(n, generator("monte_carlo", rng))), dtype=np.float64)
    if values.shape != (n,):
        raise ValueError(f"monte_carlo: f must return one number per draw, shape ({n},); got {values.shape}.")
    return MonteCarloEstimate(float(values.mean()), float(values.std(ddof=1) / np.sqrt(n)), n)


def monte_carlo_pi(n: int, rng: np.random.Generator) -> MonteCarloEstimate:
    """Four times the fraction of uniform points of the unit square that fall into the quarter disc.

    Parameters
    ----------
    n : int
        Number of points.
    rng : numpy.random.Generator
        Source of randomness.
    """

    def inside(points: Array) -> Array:
        return 4.0 * (np.sum(points**2, axis=1) <= 1)

    return monte_carlo(inside, lambda size, generator: generator.random((size, 2)), n, rng)
