"""Surprise, entropy and cross-entropy: how much a distribution, or a wrong guess of it, is expected to tell.

Textbook form; trees compute the entropy of counts in :mod:`margin.trees`, networks cross-entropy in torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, xlogy

from margin.core.arguments import numbers
from margin.foundations.information.arguments import as_distribution, as_pair, log_of_base

__all__ = ["SurpriseLaws", "cross_entropy", "cross_entropy_sampled", "entropy", "surprise", "surprise_laws"]

Array = NDArray[np.float64]


def surprise(p: ArrayLike, base: float = math.e) -> Array:
    r"""Surprise (self-information) of an event of probability \(p\).

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
    r"""Test \(S(1) = 0\), \(S(pq) = S(p) + S(q)\) and \(p < q \Rightarrow S(p) > S(q)\) on random probabilities.

    Only multiples of \(-\log p\) pass all three; a candidate that fails one is shown by a single pair.

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


def cross_entropy(p: ArrayLike, q: ArrayLike, base: float = math.e) -> Array:
    r"""Cross-entropy: the expected surprise of one who believes \(q\) in a world that follows \(p\).

    .. math:: H(p, q) = -\sum_x p(x) \log_b q(x) = H(p) + D_{KL}(p \| q)

    Infinite when \(q\) rules out what \(p\) allows.

    >>> float(cross_entropy([0.5, 0.5], [0.25, 0.75], base=2)) > 1
    True
    """
    unit = log_of_base("cross_entropy", base)
    p, q = as_pair("cross_entropy", p, q)
    return np.asarray(-xlogy(p, q).sum(axis=-1) / unit + 0.0)


def cross_entropy_sampled(samples: ArrayLike, log_q: Callable[[Array], Array], base: float = math.e) -> float:
    r"""Cross-entropy from samples \(x_i \sim p\): the mean negative log-likelihood under \(q\).

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
