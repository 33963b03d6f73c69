r"""The von Mises-Fisher distribution on the unit sphere :math:`S^{d-1}`, around a direction :math:`\mu`.

.. math:: q(z) = C_d(\kappa)\,e^{\kappa\mu^\top z}, \qquad
          C_d(\kappa) = \frac{\kappa^{d/2-1}}{(2\pi)^{d/2} I_{d/2-1}(\kappa)}

:math:`\kappa = 0` is the uniform distribution. A draw is :math:`z = w\mu + \sqrt{1 - w^2}\,v` with a uniform tangent
:math:`v` and :math:`w = \cos\theta`; the density of the angle is
:math:`\propto e^{\kappa\cos\theta}\sin^{d-2}\theta`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from scipy.special import gammaln, ive
from torch import Tensor

from margin.neural.precision import widen

__all__ = [
    "bessel_ratio",
    "cosine_quantile",
    "kl_to_uniform_sphere",
    "log_normalizer",
    "log_sphere_area",
    "on_sphere",
    "sample_von_mises_fisher",
]

ANGLES = 400  # nodes between 0 and pi, dense near 0, where a concentrated distribution is


def log_sphere_area(d: int) -> float:
    r""":math:`\log\frac{2\pi^{d/2}}{\Gamma(d/2)}`, the logarithm of the area of the unit sphere in d dimensions.

    >>> round(math.exp(log_sphere_area(3)), 6)  # 4 pi
    12.566371
    """
    return float(math.log(2) + 0.5 * d * math.log(math.pi) - gammaln(0.5 * d))


class _BesselRatio(torch.autograd.Function):
    """A = I_{d/2} / I_{d/2-1}, with A' = 1 - A^2 - (d - 1) A / kappa."""

    @staticmethod
    def forward(ctx: Any, kappa: Tensor, d: int) -> Tensor:
        k = widen(kappa).numpy(force=True)
        ratio = torch.from_numpy(np.asarray(ive(0.5 * d, k) / ive(0.5 * d - 1, k))).to(kappa)
        ctx.save_for_backward(kappa, ratio)
        ctx.d = d
        return ratio

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        kappa, ratio = ctx.saved_tensors
        return gradients[0] * (1 - ratio.square() - (ctx.d - 1) * ratio / kappa), None


class _LogNormalizer(torch.autograd.Function):
    """log C_d(kappa), whose derivative is minus the ratio of the Bessel functions."""

    @staticmethod
    def forward(ctx: Any, kappa: Tensor, d: int) -> Tensor:
        k = widen(kappa).numpy(force=True)
        log_bessel = np.log(ive(0.5 * d - 1, k)) + k
        value = (0.5 * d - 1) * np.log(k) - 0.5 * d * math.log(2 * math.pi) - log_bessel
        ctx.save_for_backward(_BesselRatio.apply(kappa.detach(), d))
        return torch.from_numpy(np.asarray(value)).to(kappa)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (ratio,) = ctx.saved_tensors
        return -gradients[0] * ratio, None


def bessel_ratio(kappa: Tensor, d: int) -> Tensor:
    r""":math:`A_d(\kappa) = E[\mu^\top z] = I_{d/2}(\kappa) / I_{d/2-1}(\kappa)`, for :math:`\kappa > 0`."""
    return _BesselRatio.apply(kappa, d)


def log_normalizer(kappa: Tensor, d: int) -> Tensor:
    r""":math:`\log C_d(\kappa)` for :math:`\kappa > 0`."""
    return _LogNormalizer.apply(kappa, d)


def kl_to_uniform_sphere(kappa: Tensor, d: int) -> Tensor:
    r""":math:`\mathrm{KL} = \kappa A_d(\kappa) + \log C_d(\kappa) + \log|S^{d-1}|`: 0 at 0 and growing with kappa."""
    return kappa * bessel_ratio(kappa, d) + log_normalizer(kappa, d) + log_sphere_area(d)


class _CosineQuantile(torch.autograd.Function):
    r"""The cosine at which the distribution function is u.

    At fixed u the angle moves with :math:`d\theta/d\kappa = -\partial_\kappa F / F'`: implicit differentiation.
    """

    @staticmethod
    def forward(ctx: Any, u: Tensor, kappa: Tensor, d: int) -> Tensor:
        k, level = widen(kappa.detach()).reshape(-1, 1), widen(u.detach()).reshape(-1, 1)
        theta = math.pi * torch.linspace(0, 1, ANGLES, dtype=torch.float64, device=k.device).square()
        density = torch.exp(k * (torch.cos(theta) - 1)) * torch.sin(theta).pow(d - 2)
        below = _cumulative(density, theta)
        cosine = torch.cos(theta)
        total, mean = below[:, -1:], _cumulative(density * cosine, theta)[:, -1:] / below[:, -1:]
        change = _cumulative(density * (cosine - mean), theta)  # derivative of the distribution function in kappa
        right = torch.searchsorted((below / total).contiguous(), level).clamp(1, ANGLES - 1)
        low, high = (below / total).gather(1, right - 1), (below / total).gather(1, right)
        t = ((level - low) / (high - low).clamp_min(1e-300)).clamp(0, 1)

        def at(values: Tensor) -> Tensor:
            values = values.expand(len(k), ANGLES)
            return ((1 - t) * values.gather(1, right - 1) + t * values.gather(1, right)).reshape(kappa.shape)

        angle = at(theta[None])
        slope = -at(change) / at(density).clamp_min(1e-300)  # d theta / d kappa
        ctx.save_for_backward((-torch.sin(angle) * slope).to(kappa))
        return torch.cos(angle).to(kappa)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, None]:
        (by_kappa,) = ctx.saved_tensors
        return None, gradients[0] * by_kappa, None


def _cumulative(values: Tensor, at: Tensor) -> Tensor:
    """Integral from the first node to every node, by trapezoids."""
    pieces = 0.5 * (values[:, 1:] + values[:, :-1]) * at.diff()
    return torch.cat([torch.zeros_like(values[:, :1]), pieces.cumsum(dim=1)], dim=1)


def cosine_quantile(u: Tensor, kappa: Tensor, d: int) -> Tensor:
    r""":math:`w = \mu^\top z` of a draw from the uniform number ``u`` (same shape), differentiable in ``kappa``."""
    return _CosineQuantile.apply(u, kappa, d)


def on_sphere(direction: Tensor, cosine: Tensor, noise: Tensor) -> Tensor:
    r""":math:`z = w\mu + \sqrt{1 - w^2}\,v`, v the part of the normal ``noise`` across :math:`\mu`, of length 1."""
    across = noise - (noise * direction).sum(dim=-1, keepdim=True) * direction
    across = across / across.norm(dim=-1, keepdim=True)
    sine = (1 - cosine.square()).clamp_min(1e-12).sqrt()
    return cosine[..., None] * direction + sine[..., None] * across


def sample_von_mises_fisher(
    direction: np.ndarray, kappa: float, n_samples: int, rng: np.random.Generator
) -> np.ndarray:
    """Draws by rejection (Wood, 1994): an envelope for the cosine is drawn until it is accepted."""
    d = len(direction)
    b = (d - 1) / (2 * kappa + math.sqrt(4 * kappa**2 + (d - 1) ** 2))
    best = (1 - b) / (1 + b)
    offset = kappa * best + (d - 1) * math.log1p(-(best**2))
    cosines = np.empty(0)
    while len(cosines) < n_samples:
        beta = rng.beta(0.5 * (d - 1), 0.5 * (d - 1), size=n_samples)
        w = (1 - (1 + b) * beta) / (1 - (1 - b) * beta)
        accepted = kappa * w + (d - 1) * np.log1p(-best * w) - offset >= np.log(rng.random(n_samples))
        cosines = np.concatenate([cosines, w[accepted]])
    noise = torch.from_numpy(rng.standard_normal((n_samples, d)))
    return on_sphere(
        torch.from_numpy(np.asarray(direction, dtype=float)), torch.from_numpy(cosines[:n_samples]), noise
    ).numpy(force=True)
