r"""What generator and discriminator of a GAN minimize, as functions of logits: :math:`D = 1/(1 + e^{-\mathrm{logit}})`.

.. math:: \min_G \max_D V = E[\log D(x)] + E[\log(1 - D(G(z)))]
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from margin.neural.activations.fused import fused_softplus

__all__ = [
    "GENERATOR_LOSSES",
    "critic_loss",
    "discriminator_loss",
    "gan_value",
    "generator_loss",
    "gradient_penalty",
    "implied_js",
    "real_gradient_penalty",
    "relativistic_loss",
    "squared_slope",
]

GENERATOR_LOSSES = ("non-saturating", "minimax", "wasserstein", "relativistic")
LOG_TWO = 0.6931471805599453


def discriminator_loss(real: Tensor, fake: Tensor) -> Tensor:
    r""":math:`-\log D(x) - \log(1 - D(G(z)))` of every pair of logits: cross-entropy with labels 1 and 0."""
    return fused_softplus(-real) + fused_softplus(fake)


def critic_loss(real: Tensor, fake: Tensor) -> Tensor:
    r""":math:`f(G(z)) - f(x)`: the mean over pairs is minus the lower bound of the Wasserstein distance."""
    return fake - real


def generator_loss(fake: Tensor, kind: str = "non-saturating") -> Tensor:
    r""":math:`-\log D(G(z))`, the minimax :math:`\log(1 - D(G(z)))`, or :math:`-f(G(z))`, of every logit.

    The first two have the same fixed point. The derivative by the logit is :math:`D - 1` and :math:`-D`: where the
    discriminator is sure (D near 0) only the first one moves the generator.
    """
    if kind == "non-saturating":
        return fused_softplus(-fake)
    if kind == "minimax":
        return -fused_softplus(fake)
    if kind == "wasserstein":
        return -fake
    kinds = ", ".join(k for k in GENERATOR_LOSSES if k != "relativistic")
    raise ValueError(f"generator_loss: kind must be one of {kinds}; got {kind!r}.")


def relativistic_loss(better: Tensor, worse: Tensor) -> Tensor:
    r""":math:`-\log\sigma(f(x) - f(G(z)))` of every pair of logits; the generator's has the two in the other order.

    Only the difference within a pair counts, so made rows gain nothing by crowding where :math:`f` is high already:
    a mode that the generator has left pulls as long as its rows win against the made ones.
    """
    return fused_softplus(worse - better)


def gan_value(real: Tensor, fake: Tensor) -> Tensor:
    r"""The objective :math:`V` from logits, as a mean over rows: minus the mean discriminator loss."""
    return -fused_softplus(-real).mean() - fused_softplus(fake).mean()


def implied_js(value: Tensor | float) -> Tensor | float:
    r""":math:`(V + 2\log 2)/2`: the Jensen-Shannon divergence if the discriminator is the best one, else less."""
    return (value + 2 * LOG_TWO) / 2


def gradient_penalty(critic: Callable[[Tensor], Tensor], real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
    r""":math:`(\|\nabla f(\hat x)\| - 1)^2` of every row at :math:`\hat x = u x + (1 - u) G(z)`; ``mix`` holds u."""
    mix = mix.reshape(-1, *[1] * (real.ndim - 1))
    points = (mix * real + (1 - mix) * fake).detach().requires_grad_(True)
    # The root has no derivative at 0, which a critic of all equal outputs would reach.
    return (torch.sqrt(squared_slope(critic(points), points) + 1e-12) - 1).square()


def real_gradient_penalty(critic: Callable[[Tensor], Tensor], real: Tensor) -> Tensor:
    r""":math:`\|\nabla f(x)\|^2` of every row: flattens the discriminator at real rows (R1) or at made ones (R2)."""
    points = real.detach().requires_grad_(True)
    return squared_slope(critic(points), points)


def squared_slope(outputs: Tensor, points: Tensor) -> Tensor:
    r""":math:`\|\nabla f(x)\|^2` of every row of ``points`` from the ``outputs`` there, one or several per row."""
    (gradient,) = torch.autograd.grad(outputs.sum(), points, create_graph=True)
    return gradient.square().reshape(len(points), -1).sum(dim=1)
