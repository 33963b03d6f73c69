"""Surprise, entropy and cross-entropy: how much a distribution, or a wrong guess of it, is expected to tell.

:func:`entropy` takes probabilities; trees and measures of clusterings have counts or weights, for which
:func:`entropy_of_weights` is the same number without a division of every weight. Networks compute cross-entropy in
torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, xlogy

from margin.core.arguments import numbers
from margin.foundations.information.arguments import as_distribution, as_pair, log_of_base

__all__ = ["SurpriseLaws", "cross_entropy", "cross_entropy_sampled", "entropy", "entropy_of_weights"]
__all__ += ["surprise", "surprise_laws", "total_surprise"]

Array = NDArray[np.float64]

SMALLEST = np.finfo(np.float64).tiny  # has a finite logarithm, which times 0 is 0


def surprise(p: ArrayLike, base: float = math.e) -> Array:
    r"""Surprise (self-information) of an event of probability :math:`p`.

    .. math:: S(p) = -\log_b p \in [0, \infty]

    >>> round(float(surprise(0.01)), 3), round(float(surprise(0.25, base=2)), 3)
    (4.605, 2.0)
    """
    unit = log_of_base("surprise", base)
    probability = numbers("surprise", "p", p)
    if not ((probability >= 0) & (probability <= 1)).all():
        raise ValueError(f"surprise: p must lie in [0, 1]; got {p!r}.")
    with np.errstate(divide="ignore"):  # the surprise of the impossible is infinite
        # Adding 0.0 turns the -0.0 of a certain event into 0.0.
        return -np.log(probability) / unit + 0.0


class SurpriseLaws(NamedTuple):
    """Which of the three properties of a surprise function a candidate has."""

    certain_is_zero: bool
    additive: bool
    decreasing: bool


def surprise_laws(
    candidate: Callable[[Array], Array], rng: np.random.Generator, n: int = 1000, tolerance: float = 1e-9
) -> SurpriseLaws:
    r"""Test :math:`S(1) = 0`, :math:`S(pq) = S(p) + S(q)` and :math:`p < q \Rightarrow S(p) > S(q)` on random
    probabilities.

    Only multiples of :math:`-\log p` pass all three; a candidate that fails one is shown by a single pair.

    Parameters
    ----------
    candidate : callable
        A function of probabilities.
    rng : numpy.random.Generator
        Source of randomness.
    n : int
        Number of random pairs.
    tolerance : float
        Largest error that counts as equal.

    Examples
    --------
    >>> surprise_laws(lambda p: 1 - p, np.random.default_rng(0))
    SurpriseLaws(certain_is_zero=True, additive=False, decreasing=True)
    """
    p, q = 1.0 - rng.random((2, n))  # in (0, 1]
    ordered = candidate(np.unique(p))
    return SurpriseLaws(
        certain_is_zero=bool(abs(candidate(np.ones(1))[0]) <= tolerance),
        additive=bool(np.allclose(candidate(p * q), candidate(p) + candidate(q), rtol=tolerance, atol=tolerance)),
        decreasing=bool((np.diff(ordered) < 0).all()),
    )


def entropy(p: ArrayLike, base: float = math.e) -> Array:
    r"""Shannon entropy, the expected surprise; the last axis of ``p`` holds the classes.

    .. math:: H(p) = -\sum_x p(x) \log_b p(x) \in [0, \log_b K], \qquad 0 \log 0 = 0

    >>> float(entropy([0.25] * 4, base=2))
    2.0
    """
    unit = log_of_base("entropy", base)
    return np.asarray(entr(as_distribution("entropy", "p", p)).sum(axis=-1) / unit)


def entropy_of_weights(weights: NDArray[Any], base: float = math.e) -> Array:
    r"""The entropy of weights of at least 0 along the last axis, which need not add up to one; 0 where there are none.

    .. math:: H = \frac1W \Bigl(W \log_b W - \sum_c w_c \log_b w_c\Bigr), \qquad W = \sum_c w_c

    Parameters
    ----------
    weights : ndarray of shape (..., K)
        Counts or other weights, the classes on the last axis.
    base : float
        Base of the logarithm: e for nats, 2 for bits.

    Examples
    --------
    >>> float(entropy_of_weights(np.array([3.0, 3.0, 3.0, 3.0]), base=2))
    2.0
    """
    total = weights.sum(axis=-1)
    return np.maximum(total_surprise(weights, base), 0.0) / np.where(total > 0, total, 1.0)


def total_surprise(weights: NDArray[Any], base: float = math.e) -> Array:
    r"""Total weight times entropy, :math:`W \log_b W - \sum_c w_c \log_b w_c`.

    Parameters
    ----------
    weights : ndarray of shape (..., K)
        Weights of at least 0, the classes on the last axis.
    base : float
        Base of the logarithm: e for nats, 2 for bits.
    """
    return _x_log_x(weights.sum(axis=-1), base) - _x_log_x(weights, base).sum(axis=-1)


def _x_log_x(x: NDArray[Any], base: float) -> Array:
    """x log(x), and its limit 0 at 0; NumPy's own logarithms to base 2 and e, which are exact at powers of these."""
    positive = np.maximum(x, SMALLEST)
    if base == math.e:
        return np.asarray(x * np.log(positive))
    return np.asarray(x * (np.log2(positive) if base == 2 else np.log(positive) / log_of_base("entropy", base)))


def cross_entropy(p: ArrayLike, q: ArrayLike, base: float = math.e) -> Array:
    r"""Cross-entropy: the expected surprise of one who believes :math:`q` in a world that follows :math:`p`.

    .. math:: H(p, q) = -\sum_x p(x) \log_b q(x) = H(p) + D_{KL}(p \| q)

    Infinite when :math:`q` rules out what :math:`p` allows.

    >>> float(cross_entropy([0.5, 0.5], [0.25, 0.75], base=2)) > 1
    True
    """
    unit = log_of_base("cross_entropy", base)
    p, q = as_pair("cross_entropy", p, q)
    return np.asarray(-xlogy(p, q).sum(axis=-1) / unit + 0.0)


def cross_entropy_sampled(samples: ArrayLike, log_q: Callable[[Array], Array], base: float = math.e) -> float:
    r"""Cross-entropy from samples :math:`x_i \sim p`: the mean negative log-likelihood under :math:`q`.

    .. math:: \hat H(p, q) = -\frac1n \sum_i \log_b q(x_i)

    Parameters
    ----------
    samples : array-like of shape (n, ...)
        Draws from p.
    log_q : callable
        Log-density of q, in nats, of an array of samples.
    base : float
        Base of the logarithm: e for nats, 2 for bits.

    Examples
    --------
    >>> cross_entropy_sampled([0.0, 1.0, 1.0], lambda x: np.log(np.where(x == 1, 0.5, 0.5)), base=2)
    1.0
    """
    unit = log_of_base("cross_entropy_sampled", base)
    values = np.asarray(samples, dtype=np.float64)
    if values.shape[:1] in ((), (0,)):
        raise ValueError(f"cross_entropy_sampled: samples must not be empty; got shape {values.shape}.")
    log_likelihood = np.asarray(log_q(values), dtype=np.float64)
    if log_likelihood.shape != values.shape[:1]:
        raise ValueError(
            f"cross_entropy_sampled: log_q must return one number per sample; "
            f"got shape {log_likelihood.shape} for {len(values)} samples."
        )
    return float(-log_likelihood.mean() / unit)
