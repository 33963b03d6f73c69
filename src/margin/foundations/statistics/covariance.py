r"""Variance, covariance and correlation of samples, with the divisor :math:`n - \mathrm{ddof}` made explicit.

The population quantity is an expectation; a sample gives an estimate of it. ``ddof=0`` is the mean of the
products of deviations, ``ddof=1`` the unbiased estimate.

Textbook form; :class:`~margin.reduction.PCA` and the discriminants sum their scatter matrices in chunks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.statistics.arguments import Floats, pair, vector
from margin.foundations.statistics.streaming import CoMoments, Moments

__all__ = ["correlation", "covariance", "covariance_matrix", "variance", "variance_shortcut"]


def variance(x: ArrayLike, ddof: int = 0) -> Floats:
    r"""Variance over the first axis: :math:`\frac{1}{n - \mathrm{ddof}} \sum_i (x_i - \bar x)^2`.

    >>> float(variance([1.0, 2.0, 6.0], ddof=1))
    7.0
    """
    return Moments.of(x).variance(ddof)


def variance_shortcut(x: ArrayLike) -> float:
    r"""Mean of squares minus squared mean, :math:`\frac1n \sum_i x_i^2 - \bar x^2`.

    Equal to ``variance(x)`` in exact arithmetic and useless in floating point when :math:`|\bar x|` is much
    larger than the spread: both terms agree in all the digits that are kept. Here to show that.
    """
    values = vector("variance_shortcut", "x", x)
    return float(np.mean(values**2) - np.mean(values) ** 2)


def covariance(x: ArrayLike, y: ArrayLike, ddof: int = 0) -> float:
    r"""Covariance of two samples: :math:`\frac{1}{n - \mathrm{ddof}} \sum_i (x_i - \bar x)(y_i - \bar y)`.

    >>> covariance([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], ddof=1)
    2.0
    """
    a, b = pair("covariance", x, y, least=1)
    if len(a) - ddof < 1:
        raise ValueError(f"covariance: ddof must be below the number of pairs {len(a)}; got {ddof}.")
    return float((a - a.mean()) @ (b - b.mean()) / (len(a) - ddof))


def covariance_matrix(X: ArrayLike, ddof: int = 0) -> Floats:
    r"""Covariance matrix of ``X`` (n, p): :math:`\frac{1}{n - \mathrm{ddof}} \sum_i (x_i - \bar x)(x_i - \bar x)^\top`.

    Works through ``X`` in blocks; no centered copy is made.
    """
    return CoMoments.of(X).covariance(ddof)


def correlation(x: ArrayLike, y: ArrayLike) -> float:
    r"""Pearson's :math:`\rho = \operatorname{cov}(x, y) / (\sigma_x \sigma_y)`, in [-1, 1].

    >>> round(correlation([1.0, 2.0, 3.0], [1.0, 3.0, 2.0]), 12)
    0.5
    """
    a, b = pair("correlation", x, y)
    rho = _direction("x", a) @ _direction("y", b)
    return float(np.clip(rho, -1.0, 1.0))


def _direction(name: str, values: Floats) -> Floats:
    """The deviations from the mean, as a vector of length one."""
    deviations = values - values.mean()
    largest = np.abs(deviations).max()
    # A constant leaves only the rounding of its mean behind.
    if largest <= len(values) * np.finfo(float).eps * np.abs(values).max():
        raise ValueError(f"correlation: {name} must vary; every value is {values[0]:g}.")
    scaled = deviations / largest  # its squares neither overflow nor vanish
    return scaled / np.linalg.norm(scaled)
