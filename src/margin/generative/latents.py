"""Kinds of latent variables of a VAE: what the encoder gives, how a latent is placed by noise, and the prior.

All latents are deterministic functions of the output of the encoder and of standard normal noise, so gradients pass
through every one of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from margin.generative.elbo import (
    LOG_TWO_PI,
    gaussian_log_likelihood,
    kl_to_standard_normal,
    log_prior_over_posterior,
    reparameterize,
)
from margin.generative.sphere import (
    cosine_quantile,
    kl_to_uniform_sphere,
    log_normalizer,
    log_sphere_area,
    on_sphere,
)
from margin.neural.activations.fused import fused_log_softmax, fused_logsumexp, fused_softmax, fused_softplus
from margin.neural.nets.mlp import MLP
from margin.neural.precision import widen

__all__ = [
    "LATENTS",
    "Latent",
    "MarkovLatent",
    "MixtureLatent",
    "NormalLatent",
    "SphereLatent",
    "make_latent",
    "markov_log_ratio",
]

LINK_WIDTH = 32  # hidden units between two levels of a hierarchy
LEAST_CONCENTRATION = 0.01  # at 0 the Bessel functions vanish, and nothing depends on the direction


class Latent(nn.Module, ABC):
    """A family of posteriors with its prior. ``head`` is the output of the encoder for every row."""

    n_outputs: int  # numbers the encoder must give
    n_noise: int  # standard normal numbers that place one latent

    def begin(self, last: nn.Linear) -> None:
        """Set the weights of the encoder's last layer, which gives ``head``, where the drawn ones are a bad start."""

    @abstractmethod
    def split(self, head: Tensor) -> tuple[Tensor, Tensor]:
        """The center of the posterior and the parameter of its width."""

    @abstractmethod
    def place(self, head: Tensor, noise: Tensor) -> Tensor:
        """The latent that ``noise`` stands for, differentiable in ``head``."""

    @abstractmethod
    def log_ratio(self, head: Tensor, noise: Tensor, z: Tensor) -> Tensor:
        """log p(z) - log q(z|x) at the latent ``z`` placed by ``noise``."""

    @abstractmethod
    def divergence(self, head: Tensor, noise: Tensor, z: Tensor) -> Tensor:
        """KL(q(z|x) || p(z)) of every row: exact where there is a formula, an estimate from ``z`` where not."""

    @abstractmethod
    def from_prior(self, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Latents drawn from the prior."""


class NormalLatent(Latent):
    """A normal posterior with a diagonal covariance, and a standard normal prior."""

    def __init__(self, n_components: int):
        super().__init__()
        self.n_components = n_components
        self.n_outputs, self.n_noise = 2 * n_components, n_components

    def begin(self, last: nn.Linear) -> None:
        """Every variance begins as 1: the loss has its exponential, which drawn weights bring far beyond the size of
        the data for rows far from the others, and training would spend its first epochs on coming back."""
        nn.init.zeros_(last.weight[self.n_components :])
        nn.init.zeros_(last.bias[self.n_components :])

    def split(self, head: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_variance = head.chunk(2, dim=-1)
        return mean, log_variance

    def place(self, head: Tensor, noise: Tensor) -> Tensor:
        return reparameterize(*self.split(head), noise)

    def log_ratio(self, head: Tensor, noise: Tensor, z: Tensor) -> Tensor:
        return log_prior_over_posterior(z, noise, self.split(head)[1])

    def divergence(self, head: Tensor, noise: Tensor, z: Tensor) -> Tensor:
        del noise, z
        return kl_to_standard_normal(*self.split(head))

    def from_prior(self, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        return rng.standard_normal((n_samples, self.n_components))


class MixtureLatent(NormalLatent):
    r"""A normal posterior, and a prior :math:`\sum_k \pi_k N(m_k, \mathrm{diag}\,s_k^2)` that is learned, too."""

    def __init__(self, n_components: int, n_prior_components: int):
        super().__init__(n_components)
        self.logits = nn.Parameter(torch.zeros(n_prior_components))
        self.means = nn.Parameter(torch.randn(n_prior_components, n_components))
        self.log_variances = nn.Parameter(torch.zeros(n_prior_components, n_components))

    def log_joint(self, z: Tensor) -> Tensor:
        r""":math:`\log \pi_k + \log N(z; m_k, s_k^2)`, (rows, components)."""
        squared = (z[:, None] - self.means).square() * torch.exp(-self.log_variances)
        log_normal = -0.5 * (squared + self.log_variances + LOG_TWO_PI).sum(dim=-1)
        return fused_log_softmax(self.logits, dim=0) + log_normal

    def log_ratio(self, head: Tensor, noise: Tensor, z: Tensor) -> Tensor:
        log_q = -0.5 * (noise.square() + self.split(head)[1] + LOG_TWO_PI).sum(dim=-1)
        return fused_logsumexp(self.log_joint(z), dim=1) - log_q

    def divergence(self, head: Tensor, noise: Tensor, z: Tensor) -> Tensor:
        return -self.log_ratio(head, noise, z)

    def from_prior(self, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        weights = fused_softmax(widen(self.logits.detach()), dim=0).numpy(force=True)
        k = rng.choice(len(weights), size=n_samples, p=weights / weights.sum())
        deviations = np.exp(0.5 * self.log_variances.numpy(force=True)[k])
        return self.means.numpy(force=True)[k] + deviations * rng.standard_normal((n_samples, self.n_components))


class SphereLatent(Latent):
    """A von Mises-Fisher posterior on the unit sphere, and the uniform prior."""

    def __init__(self, n_components: int):
        super().__init__()
        if n_components < 2:
            raise ValueError(f"SphereLatent: n_components must be at least 2; got {n_components}.")
        self.n_components = n_components
        self.n_outputs = self.n_noise = n_components + 1

    def split(self, head: Tensor) -> tuple[Tensor, Tensor]:
        direction, width = head[..., :-1], head[..., -1:]
        length = direction.norm(dim=-1, keepdim=True).clamp_min(1e-12)
        return direction / length, fused_softplus(width) + LEAST_CONCENTRATION

    def place(self, head: Tensor, noise: Tensor) -> Tensor:
        direction, kappa = self.split(head)
        noise = noise.expand(*head.shape[:-1], self.n_noise)
        u = 0.5 * (1 + torch.erf(noise[..., 0] / math.sqrt(2)))
        return on_sphere(direction, cosine_quantile(u, kappa[..., 0], self.n_components), noise[..., 1:])

    def log_ratio(self, head: Tensor, noise: Tensor, z: Tensor) -> Tensor:
        del noise
        direction, kappa = self.split(head)
        log_q = log_normalizer(kappa[..., 0], self.n_components) + kappa[..., 0] * (direction * z).sum(dim=-1)
        return -log_sphere_area(self.n_components) - log_q

    def divergence(self, head: Tensor, noise: Tensor, z: Tensor) -> Tensor:
        del noise, z
        return kl_to_uniform_sphere(self.split(head)[1][..., 0], self.n_components)

    def from_prior(self, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        rows = rng.standard_normal((n_samples, self.n_components))
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class MarkovLatent(NormalLatent):
    r"""A chain of normal latents, each given the one before: only the first one makes the data.

    .. math:: q = q(z_1|x)\prod_{l \ge 2} q(z_l|z_{l-1}), \qquad p = p(z_L)\prod_{l < L} p(z_l|z_{l+1})

    All levels have the same size; the links in both directions are perceptrons with one hidden layer, and
    :math:`p(z_L) = N(0, I)`.
    """

    def __init__(self, n_components: int, n_levels: int):
        super().__init__(n_components)
        self.n_levels, self.n_noise = n_levels, n_levels * n_components
        sizes = [n_components, LINK_WIDTH, 2 * n_components]
        self.up = nn.ModuleList(MLP(sizes, "tanh") for _ in range(n_levels - 1))  # q(z_{l+1} | z_l)
        self.down = nn.ModuleList(MLP(sizes, "tanh") for _ in range(n_levels - 1))  # p(z_l | z_{l+1})
        for link in (*self.up, *self.down):  # every link begins as N(0, I): the model starts as a plain VAE
            nn.init.zeros_(link.linears[-1].weight)
            nn.init.zeros_(link.linears[-1].bias)

    def place(self, head: Tensor, noise: Tensor) -> Tensor:
        return reparameterize(*self.split(head), noise[..., : self.n_components])

    def chain(self, noise: Tensor, z: Tensor) -> list[Tensor]:
        """All levels, from the first one up, with the noise that places them."""
        levels = [z]
        for k, link in enumerate(self.up, start=1):
            part = noise[..., k * self.n_components : (k + 1) * self.n_components]
            levels.append(reparameterize(*self.split(link(levels[-1])), part))
        return levels

    def log_ratio(self, head: Tensor, noise: Tensor, z: Tensor) -> Tensor:
        levels = self.chain(noise, z)
        forward = [self.split(head), *(self.split(link(below)) for link, below in zip(self.up, levels))]
        backward = [self.split(link(above)) for link, above in zip(self.down, levels[1:])]
        top = torch.zeros_like(levels[-1])
        return markov_log_ratio(levels, forward, [*backward, (top, top)])

    def divergence(self, head: Tensor, noise: Tensor, z: Tensor) -> Tensor:
        return -self.log_ratio(head, noise, z)

    def from_prior(self, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        noise = torch.from_numpy(rng.standard_normal((self.n_levels, n_samples, self.n_components)))
        noise = noise.to(next(self.parameters())) if self.n_levels > 1 else noise
        z = noise[-1]
        with torch.no_grad():
            for link, part in zip(reversed(self.down), reversed(noise[:-1])):
                z = reparameterize(*self.split(link(z)), part)
        return z.numpy(force=True)


Normal = tuple[Tensor, Tensor]  # mean and log-variance


def markov_log_ratio(levels: Sequence[Tensor], forward: Sequence[Normal], backward: Sequence[Normal]) -> Tensor:
    r""":math:`\sum_l \log p(z_l|z_{l+1}) - \log q(z_l|z_{l-1})` of a Markov chain of normal latents.

    ``forward`` and ``backward`` have the mean and log-variance of every level in both directions. Added to
    :math:`\log p(x|z_1)` it is the bound of any Markovian hierarchy, a diffusion model included, from one draw.
    """
    ratio = levels[0].new_zeros(())
    for z, towards_noise, towards_data in zip(levels, forward, backward, strict=True):
        ratio = ratio + gaussian_log_likelihood(z, *towards_data) - gaussian_log_likelihood(z, *towards_noise)
    return ratio


LATENTS = ("normal", "mixture", "von-mises-fisher", "hierarchical")


def make_latent(kind: str, n_components: int, n_prior_components: int, n_levels: int) -> Latent:
    """The latent of one of the names in ``LATENTS``."""
    if kind == "hierarchical":
        return MarkovLatent(n_components, n_levels)
    if kind == "mixture":
        return MixtureLatent(n_components, n_prior_components)
    return SphereLatent(n_components) if kind == "von-mises-fisher" else NormalLatent(n_components)
