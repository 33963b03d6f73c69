r"""Bayesian linear regression: a posterior over coefficients instead of one value.

With :math:`\beta \sim N(0, \tau^2 I)` and :math:`y \mid X, \beta \sim N(X\beta, \sigma^2 I)` the posterior is normal,

.. math:: \Sigma = \big(X^\top X / \sigma^2 + I / \tau^2\big)^{-1}, \qquad m = \Sigma X^\top y / \sigma^2 ,

its mean is the ridge estimate with penalty :math:`\sigma^2/\tau^2`, and a new point has predictive variance
:math:`x^\top \Sigma x + \sigma^2`: what is not known plus what cannot be known.

Textbook form; the mean is what :class:`~margin.linear.Ridge` computes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from margin.foundations.statistics.arguments import Floats, matrix, positive
from margin.foundations.statistics.regression_inference import design_and_target

__all__ = ["LinearPosterior", "linear_posterior"]


@dataclass(frozen=True, eq=False)
class LinearPosterior:
    """Normal posterior of the coefficients."""

    mean: Floats
    covariance: Floats
    noise_variance: float

    def predict(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and standard deviation of a new observation at each row of ``X``."""
        rows = matrix("LinearPosterior.predict", "X", X)
        spread = np.einsum("ij,jk,ik->i", rows, self.covariance, rows, optimize=True)
        return rows @ self.mean, np.sqrt(spread + self.noise_variance)


def linear_posterior(
    X: ArrayLike, y: ArrayLike, prior_variance: float = 1.0, noise_variance: float = 1.0
) -> LinearPosterior:
    """Posterior of the coefficients of ``y`` on the columns of ``X``; more columns than rows are welcome.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Design matrix; an intercept is a column of ones.
    y : array-like of shape (n,)
        Responses.
    prior_variance : float
        Variance of every coefficient before any data.
    noise_variance : float
        Variance of the noise.

    Examples
    --------
    >>> linear_posterior([[1.0], [1.0]], [3.0, 3.0]).mean.round(12).tolist()
    [2.0]
    """
    design, target = design_and_target("linear_posterior", X, y)
    tau2 = positive("linear_posterior", "prior_variance", prior_variance)
    sigma2 = positive("linear_posterior", "noise_variance", noise_variance)
    precision = design.T @ design / sigma2 + np.eye(design.shape[1]) / tau2
    factor = cho_factor(precision, lower=True)
    root = solve_triangular(factor[0], np.eye(len(precision)), lower=True)
    return LinearPosterior(cho_solve(factor, design.T @ target / sigma2), root.T @ root, sigma2)
