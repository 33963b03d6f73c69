r"""Penalties as priors: the maximum a posteriori estimate of a linear model with normal noise.

.. math::
    \hat\theta = \arg\max_\theta \Bigl[\sum_i \log \mathcal N(y_i \mid \theta_0 + \theta^\top x_i, \sigma^2)
    + \sum_{j \ge 1} \log p(\theta_j)\Bigr]

A normal prior :math:`\mathcal N(0, \tau^2)` gives ridge regression with :math:`\alpha = \sigma^2/\tau^2` on the
scale of the sum of squares; a Laplace prior :math:`\tfrac1{2b} e^{-|\theta|/b}` gives the lasso with
:math:`\alpha = \sigma^2/(n b)` on the scale of half the mean square. The intercept has a flat prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.array_types import ArrayLike, MatrixLike
from margin.foundations.probability import Laplace, Normal
from margin.linear.elastic_net import Lasso
from margin.linear.ridge import Ridge

__all__ = ["MapEstimate", "lasso_alpha", "log_posterior", "map_fit", "ridge_alpha"]


@dataclass(frozen=True, eq=False)
class MapEstimate:
    """The maximizer, its unnormalized log-posterior, and the penalty that it minimizes as a regularized fit."""

    coef: np.ndarray
    intercept: float
    log_posterior: float
    alpha: float


def ridge_alpha(noise: float, tau: float) -> float:
    r"""The ridge penalty of the prior :math:`\mathcal N(0, \tau^2)`: :math:`\sigma^2/\tau^2`."""
    return noise**2 / tau**2


def lasso_alpha(noise: float, scale: float, n: int) -> float:
    r"""The lasso penalty of the prior :math:`\tfrac1{2b}e^{-|\theta|/b}`: :math:`\sigma^2/(n b)`."""
    return noise**2 / (n * scale)


def log_posterior(
    X: MatrixLike, y: ArrayLike, coef: Any, intercept: float, *, noise: float, prior: Normal | Laplace
) -> float:
    """Log-likelihood plus log-prior of the coefficients, up to the constant of normalization."""
    X, y, coef = (np.asarray(part, dtype=np.float64) for part in (X, y, coef))
    residual = y - X @ coef - intercept
    return float(Normal(0.0, noise).log_prob(residual).sum() + prior.log_prob(coef).sum())


def map_fit(X: MatrixLike, y: ArrayLike, *, noise: float, prior: Normal | Laplace) -> MapEstimate:
    r"""The maximum a posteriori coefficients for noise :math:`\sigma` = ``noise`` and a prior centered at zero.

    >>> X, y = np.array([[-1.0], [0.0], [1.0]]), np.array([-1.0, 0.0, 1.0])
    >>> map_fit(X, y, noise=1.0, prior=Normal(0.0, 1.0)).coef.round(6)
    array([0.666667])
    >>> map_fit(X, y, noise=1.0, prior=Laplace(0.0, 1.0)).coef.round(6)
    array([0.5])
    """
    if prior.mean != 0:
        raise ValueError(f"map_fit: prior must be centered at zero; got mean {prior.mean:g}.")
    if not noise > 0:
        raise ValueError(f"map_fit: noise must be above 0; got {noise!r}.")
    model: Any
    if isinstance(prior, Normal):
        alpha = ridge_alpha(noise, float(np.sqrt(prior.variance)))
        model = Ridge(alpha=alpha).fit(X, y)
    else:
        alpha = lasso_alpha(noise, float(np.sqrt(prior.variance / 2)), len(np.asarray(y)))
        model = Lasso(alpha=alpha, tol=1e-12).fit(X, y)
    value = log_posterior(X, y, model.coef_, model.intercept_, noise=noise, prior=prior)
    return MapEstimate(model.coef_, float(model.intercept_), value, alpha)
