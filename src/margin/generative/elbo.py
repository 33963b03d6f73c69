r"""The pieces of the evidence lower bound as functions of tensors; the last axis holds the coordinates of one row.

.. math:: \log p(x) \ge E_{q(z|x)}[\log p(x|z)] - \mathrm{KL}(q(z|x)\,\|\,p(z))
          = \log p(x) - \mathrm{KL}(q(z|x)\,\|\,p(z|x))
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from margin.neural.activations.fused import fused_logsumexp
from margin.neural.losses.fused import fused_bce_with_logits

__all__ = [
    "bernoulli_log_likelihood",
    "gaussian_log_likelihood",
    "importance_bound",
    "kl_to_standard_normal",
    "log_prior_over_posterior",
    "reparameterize",
]

LOG_TWO_PI = math.log(2 * math.pi)


def reparameterize(mean: Tensor, log_variance: Tensor, noise: Tensor) -> Tensor:
    r"""A draw from :math:`N(\mu, \sigma^2)` as a differentiable function of its parameters.

    .. math:: z = \mu + \sigma \odot \epsilon, \qquad \epsilon \sim N(0, I), \qquad \sigma = e^{\frac12\log\sigma^2}
    """
    return mean + torch.exp(0.5 * log_variance) * noise


def kl_to_standard_normal(mean: Tensor, log_variance: Tensor) -> Tensor:
    r"""Divergence of a diagonal normal distribution from the standard one.

    .. math:: \mathrm{KL}(N(\mu, \sigma^2)\,\|\,N(0, I)) = \tfrac12 \sum_j (\mu_j^2 + \sigma_j^2 - 1 - \log\sigma_j^2)

    >>> kl_to_standard_normal(torch.zeros(2), torch.zeros(2))
    tensor(0.)
    """
    return 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(dim=-1)


def gaussian_log_likelihood(x: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
    r""":math:`\log N(x; m, s^2 I) = -\tfrac12 \sum_j \bigl((x_j - m_j)^2 / s^2 + \log s^2 + \log 2\pi\bigr)`."""
    squared = (x - mean).square() * torch.exp(-log_variance)
    return -0.5 * (squared + log_variance + LOG_TWO_PI).sum(dim=-1)


def bernoulli_log_likelihood(x: Tensor, logits: Tensor) -> Tensor:
    r""":math:`\sum_j x_j \log p_j + (1 - x_j)\log(1 - p_j)` with :math:`p = 1/(1 + e^{-\mathrm{logits}})`."""
    return -fused_bce_with_logits(logits, x, reduction="none").sum(dim=-1)


def log_prior_over_posterior(z: Tensor, noise: Tensor, log_variance: Tensor) -> Tensor:
    r""":math:`\log p(z) - \log q(z|x)` for :math:`z = \mu + \sigma\epsilon`: the constants of both normals cancel."""
    return 0.5 * (noise.square() + log_variance - z.square()).sum(dim=-1)


def importance_bound(log_weights: Tensor) -> Tensor:
    r"""The importance-weighted bound from :math:`\log w_k = \log p(x, z_k) - \log q(z_k|x)`, :math:`k` on axis 0.

    .. math:: L_K = \log \frac1K \sum_{k=1}^K w_k

    One draw gives an estimate of the evidence lower bound; in expectation :math:`L_K` grows with :math:`K` towards
    :math:`\log p(x)`.
    """
    return fused_logsumexp(log_weights, dim=0) - math.log(len(log_weights))
