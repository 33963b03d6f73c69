r"""Two unbiased estimates of :math:`\nabla_\phi E_{q_\phi}[f(Z)]` for :math:`q = N(\mu, \sigma^2)`, and a wrong one.

Every function gives one estimate per draw, so that their variances can be compared; the derivatives are those in
the mean and the logarithm of the variance.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from margin.generative.elbo import gaussian_log_likelihood, reparameterize

__all__ = ["gradient_inside", "pathwise_gradient", "score_function_gradient"]

Function = Callable[[Tensor], Tensor]


def pathwise_gradient(f: Function, mean: Tensor, log_variance: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    r""":math:`\nabla_\phi f(\mu + \sigma\epsilon)`: the draw is a differentiable function of its parameters."""
    mean, log_variance = _leaves(noise, mean, log_variance)
    z = reparameterize(mean, log_variance, noise)
    by_mean, by_log_variance = torch.autograd.grad(f(z).sum(), (mean, log_variance))
    return by_mean, by_log_variance


def score_function_gradient(f: Function, mean: Tensor, log_variance: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    r""":math:`f(z)\,\nabla_\phi\log q_\phi(z)`: needs no derivative of f, which must not depend on :math:`\phi`."""
    mean, log_variance = _leaves(noise, mean, log_variance)
    z = reparameterize(mean, log_variance, noise).detach()
    log_q = gaussian_log_likelihood(z[..., None], mean[..., None], log_variance[..., None])
    by_mean, by_log_variance = torch.autograd.grad((f(z) * log_q).sum(), (mean, log_variance))
    return by_mean, by_log_variance


def gradient_inside(f: Function, mean: Tensor, log_variance: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    r""":math:`\nabla_\phi f(z)` at fixed draws: 0 where f does not depend on :math:`\phi`, so not the gradient."""
    mean, log_variance = _leaves(noise, mean, log_variance)
    z = reparameterize(mean, log_variance, noise).detach()
    total = (f(z) + 0 * (mean + log_variance)).sum()
    by_mean, by_log_variance = torch.autograd.grad(total, (mean, log_variance))
    return by_mean, by_log_variance


def _leaves(noise: Tensor, *values: Tensor) -> list[Tensor]:
    """Every parameter repeated for every draw, so that each draw has a derivative of its own."""
    return [value.detach().expand(noise.shape).clone().requires_grad_(True) for value in values]
