r"""The bootstrap: what a statistic would do on other samples, learned by resampling the one there is.

Given the data, resamples are independent of each other. Without that condition they are not: all of them
follow the same data, so their statistics rise and fall together from one data set to the next.

Bagging draws its rows with :func:`bootstrap_indices`; a forest hashes row numbers instead, so that a tree's rows depend
on nothing but its number (:mod:`margin.trees.forest.bootstrap`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from margin.foundations.statistics.arguments import Floats, finite, integer, open_unit
from margin.foundations.statistics.intervals import Interval

__all__ = ["bootstrap", "bootstrap_indices", "bootstrap_interval", "distinct_fraction"]

Statistic = Callable[[Floats], float]


def bootstrap_indices(n: int, rng: np.random.Generator, size: int | None = None) -> NDArray[np.int64]:
    """``size`` (default ``n``) row numbers drawn uniformly with replacement from ``range(n)``.

    Parameters
    ----------
    n : int
        Number of rows.
    rng : numpy.random.Generator
        Source of randomness.
    size : int, optional
        Rows to draw.
    """
    n = integer("bootstrap_indices", "n", n, low=1)
    return rng.integers(n, size=n if size is None else integer("bootstrap_indices", "size", size, low=1))


def distinct_fraction(n: int, size: int | None = None) -> float:
    r"""Expected fraction of the ``n`` rows that a resample contains: :math:`1 - (1 - 1/n)^m \to 1 - 1/e` for m = n.

    Parameters
    ----------
    n : int
        Number of rows.
    size : int, optional
        Rows of a resample, :math:`m`; n by default.

    Examples
    --------
    >>> round(distinct_fraction(10_000), 3)
    0.632
    """
    n = integer("distinct_fraction", "n", n, low=1)
    m = n if size is None else integer("distinct_fraction", "size", size, low=1)
    return 1.0 if n == 1 else float(-np.expm1(m * np.log1p(-1 / n)))


def bootstrap(data: ArrayLike, statistic: Statistic, n_resamples: int, rng: np.random.Generator) -> Floats:
    """The statistic of each of ``n_resamples`` resamples of the rows of ``data``.

    Parameters
    ----------
    data : array-like of shape (n, ...)
        Rows.
    statistic : callable
        A function of rows.
    n_resamples : int
        Number of resamples.
    rng : numpy.random.Generator
        Source of randomness.

    Examples
    --------
    >>> means = bootstrap([1.0, 2.0, 3.0, 4.0], np.mean, 500, np.random.default_rng(0))
    >>> means.shape, bool(1.0 <= means.min() < means.max() <= 4.0)
    ((500,), True)
    """
    rows = _observations("bootstrap", data)
    integer("bootstrap", "n_resamples", n_resamples, low=1)
    return np.array([float(statistic(rows[bootstrap_indices(len(rows), rng)])) for _ in range(n_resamples)])


def bootstrap_interval(
    data: ArrayLike,
    statistic: Statistic,
    rng: np.random.Generator,
    level: float = 0.95,
    n_resamples: int = 2000,
    method: str = "bca",
) -> Interval:
    """Interval for the statistic: "percentile", or "bca", which also corrects for bias and skewness (Efron, 1987).

    Parameters
    ----------
    data : array-like of shape (n, ...)
        Rows.
    statistic : callable
        A function of rows that returns a number.
    rng : numpy.random.Generator
        Source of randomness.
    level : float in (0, 1)
        Confidence level.
    n_resamples : int
        Number of resamples.
    method : {"bca", "percentile"}
        How the interval is read off the resamples.
    """
    rows = _observations("bootstrap_interval", data)
    tail = (1 - open_unit("bootstrap_interval", "level", level)) / 2
    replicates = bootstrap(rows, statistic, n_resamples, rng)
    if method == "percentile":
        probabilities = np.array([tail, 1 - tail])
    elif method == "bca":
        probabilities = _bca_probabilities(rows, statistic, replicates, tail)
    else:
        raise ValueError(f"bootstrap_interval: method must be 'percentile' or 'bca'; got {method!r}.")
    low, high = np.quantile(replicates, probabilities)
    return Interval(float(low), float(high))


def _bca_probabilities(rows: Floats, statistic: Statistic, replicates: Floats, tail: float) -> Floats:
    r"""Adjusted quantile levels :math:`\Phi\big(z_0 + \frac{z_0 + z}{1 - a(z_0 + z)}\big)`.

    :math:`z_0` is the normal quantile of the fraction of replicates below the estimate, :math:`a` a sixth of the
    skewness of the leave-one-out statistics.
    """
    estimate = float(statistic(rows))
    below = np.mean(replicates < estimate) + np.mean(replicates == estimate) / 2
    if not 0 < below < 1:
        raise ValueError(f"bootstrap_interval: bca needs resamples on both sides of the estimate {estimate:g}.")
    jackknife = np.array([float(statistic(np.delete(rows, i, axis=0))) for i in range(len(rows))])
    pull = jackknife.mean() - jackknife
    spread = np.sum(pull**2) ** 1.5
    acceleration = np.sum(pull**3) / (6 * spread) if spread > 0 else 0.0
    z0 = special.ndtri(below)
    z = z0 + special.ndtri(np.array([tail, 1 - tail]))
    return np.asarray(special.ndtr(z0 + z / (1 - acceleration * z)))


def _observations(caller: str, data: ArrayLike) -> Floats:
    rows = finite(caller, "data", data)
    if rows.ndim == 0 or len(rows) < 2:
        raise ValueError(f"{caller}: data must hold at least two observations; got shape {rows.shape}.")
    return rows
