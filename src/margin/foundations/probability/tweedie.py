r"""Tweedie's formula: the posterior mean of a noisy value from the score of its *marginal* density.

.. math:: z\mid\mu \sim \mathcal N(\mu, \Sigma) \ \Rightarrow\ E[\mu\mid z] = z + \Sigma\,\nabla_z\log p(z),
          \qquad p(z) = \int p(\mu)\,\mathcal N(z;\mu,\Sigma)\,d\mu
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.probability.arguments import Array, numbers

__all__ = ["denoised_mean", "tweedie"]


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
