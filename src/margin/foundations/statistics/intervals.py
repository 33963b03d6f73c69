r"""Confidence intervals for a mean.

The interval is random, the mean is not: a procedure has level 0.95 when, over repeated samples, 95 percent of
its intervals cover the one true mean. A single interval covers it or does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from margin.foundations.statistics.arguments import open_unit, vector
from margin.foundations.statistics.p_values import t_quantile

__all__ = ["Interval", "confidence_interval", "mean_interval", "studentized_mean"]


class Interval(NamedTuple):
    """The two ends of an interval."""

    low: float
    high: float

    def covers(self, value: float) -> bool:
        """Whether ``value`` lies in the interval."""
        return self.low <= value <= self.high


def confidence_interval(x: ArrayLike, level: float = 0.95, method: str = "t") -> Interval:
    r"""Interval for the mean, :math:`\bar x \pm c\, s / \sqrt n`.

    ``method="t"`` takes :math:`c` from the t law with :math:`n - 1` degrees of freedom (exact for normal data);
    ``method="normal"`` takes it from the normal law, which is too narrow for small n.

    Parameters
    ----------
    x : array-like of shape (n,)
        Observations.
    level : float in (0, 1)
        Confidence level.
    method : {"t", "normal"}
        The law of the quantile.

    Examples
    --------
    >>> low, high = confidence_interval([1.0, 2.0, 3.0])
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    values = vector("confidence_interval", "x", x, least=2)
    upper = 1 - (1 - open_unit("confidence_interval", "level", level)) / 2
    mean, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
    if method == "t":
        return mean_interval(mean, error, len(values) - 1, level)
    if method != "normal":
        raise ValueError(f"confidence_interval: method must be 't' or 'normal'; got {method!r}.")
    half = float(special.ndtri(upper)) * error
    return Interval(mean - half, mean + half)


def mean_interval(mean: float, standard_error: float, df: float, level: float = 0.95) -> Interval:
    r"""The t interval :math:`\bar x \pm t_{(1 + \mathrm{level})/2,\,df}\,\mathrm{se}` from a mean and its error.

    Parameters
    ----------
    mean : float
        The estimate.
    standard_error : float
        Its standard error, whatever it allows for.
    df : float
        Degrees of freedom of that error.
    level : float in (0, 1)
        Confidence level.

    Examples
    --------
    >>> low, high = mean_interval(2.0, 3**-0.5, df=2)
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    upper = 1 - (1 - open_unit("mean_interval", "level", level)) / 2
    half = t_quantile(df, upper) * standard_error
    return Interval(mean - half, mean + half)


def studentized_mean(samples: ArrayLike, mean: float) -> np.ndarray:
    r"""The pivot :math:`T = (\bar x - \mu) / (s / \sqrt n)` of each row of ``samples`` (repetitions, n).

    For normal data its law is t with :math:`n - 1` degrees of freedom, whatever :math:`\mu` and :math:`\sigma`.

    Parameters
    ----------
    samples : array-like of shape (repetitions, n)
        Samples.
    mean : float
        Mean of the population, :math:`\mu`.
    """
    rows = np.asarray(samples, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] < 2:
        raise ValueError(f"studentized_mean: samples must be (repetitions, n) with n at least 2; got {rows.shape}.")
    return (rows.mean(axis=1) - mean) / (rows.std(axis=1, ddof=1) / np.sqrt(rows.shape[1]))
