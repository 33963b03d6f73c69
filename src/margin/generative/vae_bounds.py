"""What a VAE is trained with and scored by: the bound of rows from draws of the latent."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from margin.core.randomness import as_generator
from margin.generative.elbo import importance_bound
from margin.generative.vae_network import VAENetwork

__all__ = ["balanced_normals", "bound_parts", "negative_elbo"]

BOUND_SEED = 0  # the draws behind score_samples: always the same, and the same for every row


def negative_elbo(
    module: nn.Module,
    batch: tuple[Tensor, ...],
    noise: torch.Generator,
    *,
    beta: float,
    log_volume: float,
    n_draws: int = 1,
    weighted: bool = False,
) -> dict[str, Tensor]:
    r"""The loss :math:`\beta\,\mathrm{KL} - \log p(x|z^*)` of each row, a mean over draws, and its parts.

    The batch holds what the encoder sees and what the decoder must explain; ``log_volume`` is the logarithm of the
    factor by which the latter was scaled down, so that all terms are in nats of the original data. ``weighted``: the
    loss is minus the importance-weighted bound of the draws.
    """
    assert isinstance(module, VAENetwork)
    seen, target = batch
    head, latent = module.encoder(seen), module.latent
    draws = []
    for _ in range(n_draws):
        epsilon = torch.randn((len(head), latent.n_noise), generator=noise, dtype=head.dtype, device=head.device)
        z = latent.place(head, epsilon)
        draws.append((epsilon, z, module.log_likelihood(target, z) - log_volume))
    reconstruction = _mean([likelihood for _, _, likelihood in draws])
    kl = _mean([latent.divergence(head, epsilon, z) for epsilon, z, _ in draws])
    if weighted:
        log_weights = [likelihood + latent.log_ratio(head, epsilon, z) for epsilon, z, likelihood in draws]
        loss = -importance_bound(torch.stack(log_weights))
    else:
        loss = beta * kl - reconstruction
    reconstruction, kl = reconstruction.detach(), kl.detach()  # only looked at
    return {"loss": loss, "elbo": reconstruction - kl, "reconstruction": reconstruction, "kl": kl}


def _mean(values: list[Tensor]) -> Tensor:
    return values[0] if len(values) == 1 else torch.stack(values).mean(dim=0)


def balanced_normals(n_draws: int, n_components: int) -> Tensor:
    """Fixed normal draws in pairs of opposite sign, scaled to variance 1 in every coordinate.

    All rows share them, so an error in their first two moments would be in every score and not average out.
    """
    half = as_generator(BOUND_SEED).standard_normal(((n_draws + 1) // 2, n_components))
    if n_draws > 1:
        half /= np.sqrt(np.mean(half**2, axis=0))
    return torch.from_numpy(np.concatenate([half, -half])[:n_draws])


def bound_parts(module: VAENetwork, draws: Tensor, seen: Tensor, target: Tensor) -> Tensor:
    """Mean log-likelihood, divergence and importance-weighted bound from the same draws (K, n_noise): (B, 3)."""
    head, latent = module.encoder(seen), module.latent
    likelihoods, log_weights, divergences = [], [], []
    for noise in draws.to(head):
        z = latent.place(head, noise)
        likelihoods.append(module.log_likelihood(target, z))
        log_weights.append(likelihoods[-1] + latent.log_ratio(head, noise, z))
        divergences.append(latent.divergence(head, noise, z))
    columns = [
        torch.stack(likelihoods).mean(dim=0),
        torch.stack(divergences).mean(dim=0),
        importance_bound(torch.stack(log_weights)),
    ]
    return torch.stack(columns, dim=1)
