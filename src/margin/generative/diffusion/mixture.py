r"""A mixture of round normal distributions: the density whose score, denoiser and diffusion are all known exactly.

.. math:: p(x) = \sum_k w_k N(x; m_k, s_k^2 I), \qquad
          \nabla \log p(x) = \sum_k r_k(x)\,\frac{m_k - x}{s_k^2}, \qquad r_k(x) = \frac{w_k N(x; m_k, s_k^2 I)}{p(x)}
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from margin.generative.diffusion.schedules import NoiseSchedule
from margin.neural.activations.fused import fused_logsumexp, fused_softmax

__all__ = ["ExactMixture"]


class ExactMixture:
    """``means`` (k, d), ``deviations`` (k,) and ``weights`` (k,); every function takes rows (n, d) in float64.

    >>> one = ExactMixture([[0.0]], [1.0], [1.0])
    >>> one.score(torch.tensor([[2.0]], dtype=torch.float64)).item()
    -2.0
    """

    def __init__(self, means: Any, deviations: Any, weights: Any):
        self.means, deviations, self.weights = (
            torch.as_tensor(values, dtype=torch.float64) for values in (means, deviations, weights)
        )
        self.variances = deviations.square()
        k = len(self.means)
        if self.means.ndim != 2 or self.variances.shape != (k,) or self.weights.shape != (k,):
            raise ValueError("ExactMixture: means must be (k, d), deviations and weights (k,) with the same k.")
        if not (bool((self.variances > 0).all()) and bool((self.weights > 0).all())):
            raise ValueError("ExactMixture: deviations and weights must be above 0.")
        self.weights = self.weights / self.weights.sum()

    def _joint(self, x: Tensor) -> Tensor:
        """Logarithm of weight times density of every component: (n, k)."""
        squared = (x[:, None, :] - self.means).square().sum(dim=2)
        d = self.means.shape[1]
        log_density = -0.5 * (squared / self.variances + d * torch.log(2 * math.pi * self.variances))
        return self.weights.log() + log_density

    def log_density(self, x: Tensor) -> Tensor:
        return fused_logsumexp(self._joint(x), dim=1)

    def responsibilities(self, x: Tensor) -> Tensor:
        r""":math:`r_k(x)`, (n, k)."""
        return fused_softmax(self._joint(x), dim=1)

    def score(self, x: Tensor) -> Tensor:
        r""":math:`\nabla \log p(x)`, (n, d)."""
        pull = (self.means - x[:, None, :]) / self.variances[:, None]
        return (self.responsibilities(x)[:, :, None] * pull).sum(dim=1)

    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        chosen = torch.multinomial(self.weights, n, replacement=True, generator=generator)
        noise = torch.randn(n, self.means.shape[1], generator=generator, dtype=torch.float64)
        return self.means[chosen] + self.variances[chosen].sqrt()[:, None] * noise

    def scaled(self, signal: float, noise: float) -> ExactMixture:
        r"""The law of ``signal`` times x plus ``noise`` times :math:`\epsilon`: again a mixture."""
        return ExactMixture(signal * self.means, (signal**2 * self.variances + noise**2).sqrt(), self.weights)

    def diffuse(self, schedule: NoiseSchedule, t: int) -> ExactMixture:
        """The law of the data after ``t`` steps of a diffusion."""
        alpha_bar = float(schedule.alpha_bars[t])
        return self.scaled(math.sqrt(alpha_bar), math.sqrt(1 - alpha_bar))

    def denoise(self, y: Tensor, signal: float, noise: float) -> Tensor:
        r""":math:`E[x | y]` for :math:`y = a x + b\epsilon`, by conditioning every component on y."""
        noisy = self.scaled(signal, noise)
        gain = signal * self.variances / noisy.variances
        given = self.means + gain[:, None] * (y[:, None, :] - noisy.means)
        return (noisy.responsibilities(y)[:, :, None] * given).sum(dim=1)
