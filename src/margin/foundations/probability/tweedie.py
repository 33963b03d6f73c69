r"""Tweedie's formula: the posterior mean of a noisy value from the score of its *marginal* density.

.. math:: z\mid\mu \sim \mathcal N(\mu, \Sigma) \ \Rightarrow\ E[\mu\mid z] = z + \Sigma\,\nabla_z\log p(z),
          \qquad p(z) = \int p(\mu)\,\mathcal N(z;\mu,\Sigma)\,d\mu

The normal law is one of the exponential families :math:`p(z\mid\eta) = h(z)\,e^{\eta z - A(\eta)}`, in all of which
the natural parameter has the posterior mean :math:`E[\eta\mid z] = \frac{d}{dz}\log\frac{p(z)}{h(z)}`. For counts
:math:`z\mid\lambda \sim \mathrm{Poisson}(\lambda)` the same steps give :math:`E[\lambda\mid z]` without a derivative.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.probability.arguments import Array, numbers

__all__ = ["denoised_mean", "natural_parameter_mean", "poisson_rate_mean", "tweedie"]


def tweedie(z: ArrayLike, covariance: ArrayLike, score: ArrayLike) -> Array:
    """E[mean | z] from the noise covariance (a number, or (d, d) for rows z) and the marginal score at z.

    >>> float(tweedie(2.0, 1.0, -2.0 / 2))  # mean ~ N(0, 1), noise 1: the marginal is N(0, 2)
    1.0
    """
    z, score = numbers("tweedie", "z", z), numbers("tweedie", "score", score)
    covariance = numbers("tweedie", "covariance", covariance)
    if z.shape != score.shape:
        raise ValueError(f"tweedie: z and score must have one shape; got {z.shape} and {score.shape}.")
    if covariance.ndim == 0:
        return z + covariance * score
    if z.ndim == 0 or covariance.shape != (z.shape[-1], z.shape[-1]):
        raise ValueError(f"tweedie: covariance must fit the last axis of z; got {covariance.shape} for {z.shape}.")
    return z + score @ covariance


def denoised_mean(x_t: ArrayLike, alpha_bar: float, score: ArrayLike) -> Array:
    r"""E[x_0 | x_t] in a diffusion where :math:`x_t = \sqrt{\bar\alpha_t}\,x_0 + \sqrt{1-\bar\alpha_t}\,\epsilon`:

    .. math:: E[x_0\mid x_t] = \frac{x_t + (1-\bar\alpha_t)\nabla\log p(x_t)}{\sqrt{\bar\alpha_t}}

    The mean over all :math:`x_0` that could have led to :math:`x_t`, not the one that did.

    Parameters
    ----------
    x_t : array-like
        Noisy values.
    alpha_bar : float in (0, 1]
        Fraction of the variance that is signal, :math:`\bar\alpha_t`.
    score : array-like
        Score of the noisy distribution at ``x_t``, :math:`\nabla\log p(x_t)`.
    """
    if not 0 < alpha_bar <= 1:
        raise ValueError(f"denoised_mean: alpha_bar must lie in (0, 1]; got {alpha_bar!r}.")
    return tweedie(x_t, 1 - alpha_bar, score) / np.sqrt(alpha_bar)


def natural_parameter_mean(score: ArrayLike, base_score: ArrayLike) -> Array:
    r"""E[eta | z] in an exponential family from the slopes of log p(z), the marginal, and log h(z), the base.

    .. math:: E[\eta\mid z] = \frac{d}{dz}\log p(z) - \frac{d}{dz}\log h(z)

    A normal value of known variance has :math:`\eta = \mu/\sigma^2` and :math:`\frac{d}{dz}\log h = -z/\sigma^2`: this
    is then :func:`tweedie`.

    Parameters
    ----------
    score : array-like
        Slope of the logarithm of the marginal density at the values seen.
    base_score : array-like
        Slope of log h there.

    Examples
    --------
    >>> float(natural_parameter_mean(-2.0 / 2, -2.0))  # mu ~ N(0, 1), noise 1, z = 2
    1.0
    """
    score = numbers("natural_parameter_mean", "score", score)
    base_score = numbers("natural_parameter_mean", "base_score", base_score)
    if score.shape != base_score.shape:
        raise ValueError(
            f"natural_parameter_mean: score and base_score must have one shape; got {score.shape} and "
            f"{base_score.shape}."
        )
    return score - base_score


def poisson_rate_mean(pmf: ArrayLike) -> Array:
    r"""E[lambda | z] for z = 0, 1, ... from the marginal probabilities of counts whose Poisson rate is random.

    .. math:: E[\lambda\mid z] = (z + 1)\,\frac{p(z + 1)}{p(z)}

    Relative frequencies in place of the probabilities make it an estimate that needs no prior (Robbins, 1956). The last
    count has no successor, so there is one number less than there are probabilities; a count that never occurs has no
    posterior and gives NaN.

    Parameters
    ----------
    pmf : array-like
        The marginal probabilities of 0, 1, 2, ...

    Examples
    --------
    >>> poisson_rate_mean([0.5, 0.25, 0.125]).tolist()  # lambda ~ Exponential(1): the posterior mean is (z + 1) / 2
    [0.5, 1.0]
    """
    p = numbers("poisson_rate_mean", "pmf", pmf)
    if p.ndim != 1 or len(p) < 2 or (p < 0).any():
        raise ValueError(f"poisson_rate_mean: pmf must be a vector of two probabilities or more; got {pmf!r}.")
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.arange(1, len(p)) * p[1:] / p[:-1]
    return np.where(p[:-1] > 0, means, np.nan)
