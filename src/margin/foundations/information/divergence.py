"""Divergences between distributions: Kullback-Leibler, Jensen-Shannon, and what one variable tells of another.

Textbook form; :mod:`margin.reduction` has the divergence that t-SNE descends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr

from margin.foundations.information.arguments import as_distribution, as_pair, log_of_base

__all__ = ["DivergenceEstimate", "js_divergence", "kl_divergence", "kl_monte_carlo", "mutual_information"]

Array = NDArray[np.float64]


def kl_divergence(p: ArrayLike, q: ArrayLike, base: float = math.e) -> Array:
    r"""Kullback-Leibler divergence; the last axis holds the classes, leading axes broadcast.

    .. math:: D_{KL}(p \| q) = \sum_x p(x) \log_b \frac{p(x)}{q(x)} = H(p, q) - H(p) \in [0, \infty]

    Zero only for equal distributions, infinite where :math:`p` has mass and :math:`q` none. It is not a distance:
    it is not symmetric and the triangle inequality fails.

    Parameters
    ----------
    p : array-like of shape (..., k)
        Probabilities of the classes.
    q : array-like of shape (..., k)
        The other probabilities.
    base : float
        Base of the logarithm: e for nats, 2 for bits.

    Examples
    --------
    >>> round(float(kl_divergence([0.2, 0.3, 0.5], [0.5, 0.25, 0.25])), 6)
    0.218012
    """
    unit = log_of_base("kl_divergence", base)
    p, q = as_pair("kl_divergence", p, q)
    return np.asarray(rel_entr(p, q).sum(axis=-1) / unit)


def js_divergence(p: ArrayLike, q: ArrayLike, base: float = math.e) -> Array:
    r"""Jensen-Shannon divergence: symmetric, bounded, and its square root is a metric.

    .. math:: D_{JS}(p, q) = \tfrac12 D_{KL}(p \| m) + \tfrac12 D_{KL}(q \| m) \in [0, \log_b 2],
       \qquad m = \tfrac12 (p + q)

    >>> float(js_divergence([1, 0], [0, 1], base=2))
    1.0
    """
    unit = log_of_base("js_divergence", base)
    p, q = as_pair("js_divergence", p, q)
    middle = 0.5 * (p + q)
    # Half of each p + q may round below the sum: clip the last ulp so that the value stays in its range.
    both = 0.5 * (rel_entr(p, middle).sum(axis=-1) + rel_entr(q, middle).sum(axis=-1))
    return np.asarray(np.maximum(both, 0.0) / unit)


class DivergenceEstimate(NamedTuple):
    """A Monte Carlo mean and its standard error."""

    value: float
    standard_error: float


def kl_monte_carlo(
    samples: ArrayLike, log_p: Callable[[Array], Array], log_q: Callable[[Array], Array], base: float = math.e
) -> DivergenceEstimate:
    r"""KL divergence from samples :math:`x_i \sim p` and two log-densities.

    .. math:: \hat D_{KL}(p \| q) = \frac1n \sum_i \big(\log_b p(x_i) - \log_b q(x_i)\big)

    Parameters
    ----------
    samples : array-like of shape (n, ...)
        Draws from p.
    log_p : callable
        Log-density of p, in nats, of an array of samples.
    log_q : callable
        Log-density of q, in nats, of an array of samples.
    base : float
        Base of the logarithm: e for nats, 2 for bits.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=10_000)
    >>> value, error = kl_monte_carlo(x, lambda x: -0.5 * x**2, lambda x: -0.5 * (x - 1) ** 2)
    >>> abs(value - 0.5) < 4 * error
    True
    """
    unit = log_of_base("kl_monte_carlo", base)
    values = np.asarray(samples, dtype=np.float64)
    if values.ndim == 0 or len(values) < 2:
        raise ValueError(f"kl_monte_carlo: samples must hold at least two draws; got shape {values.shape}.")
    log_ratio = (np.asarray(log_p(values)) - np.asarray(log_q(values))) / unit
    if log_ratio.shape != (len(values),):
        raise ValueError(
            f"kl_monte_carlo: log_p and log_q must return one number per sample; "
            f"got shape {log_ratio.shape} for {len(values)} samples."
        )
    return DivergenceEstimate(float(log_ratio.mean()), float(log_ratio.std(ddof=1) / math.sqrt(len(log_ratio))))


def mutual_information(joint: ArrayLike, base: float = math.e) -> float:
    r"""Mutual information of two discrete variables with the joint table :math:`p(x, y)`.

    .. math:: I(X; Y) = D_{KL}\big(p(x, y) \,\|\, p(x) p(y)\big) = H(X) + H(Y) - H(X, Y)

    >>> mutual_information([[0.5, 0.0], [0.0, 0.5]], base=2)
    1.0
    """
    table = np.asarray(joint, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"mutual_information: joint must be a table with two axes; got shape {table.shape}.")
    as_distribution("mutual_information", "joint", table.ravel())
    product = table.sum(axis=1, keepdims=True) * table.sum(axis=0)
    return float(rel_entr(table, product).sum() / log_of_base("mutual_information", base))
