"""The variational autoencoder as a plain module: an encoder, a decoder and the likelihood that joins it to the data."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from margin.generative.coders import make_decoder, make_encoder
from margin.generative.elbo import bernoulli_log_likelihood, gaussian_log_likelihood
from margin.generative.latents import LATENTS, NormalLatent, make_latent

__all__ = ["LIKELIHOODS", "VAENetwork"]

LIKELIHOODS = ("gaussian", "bernoulli")

# Adam moves every parameter by about the learning rate per step. That is slow for the logarithm of a variance that
# may have to fall by powers of ten, so the parameter is a tenth of it.
LOG_VARIANCE_PER_UNIT = 10.0


class VAENetwork(nn.Module):
    r"""Encoder of a posterior :math:`q(z|x)` and decoder :math:`p(x|z)`, mirror images.

    The posterior is normal, :math:`N(\mu(x), \mathrm{diag}\,\sigma^2(x))`, unless ``latent`` names another kind.

    The decoder is :math:`N(f(z), s^2 I)` with one learned variance (``variance`` at the start), or a Bernoulli
    distribution per coordinate with logits :math:`f(z)`. The encoder gives :math:`\log\sigma^2`, so any output is a
    valid variance.
    """

    def __init__(
        self,
        n_features: int,
        n_components: int,
        hidden: Sequence[int],
        activation: str = "relu",
        likelihood: str = "gaussian",
        variance: float = 1.0,
        latent: str = "normal",
        n_prior_components: int = 10,
        n_levels: int = 2,
        image_shape: Sequence[int] | None = None,
    ):
        super().__init__()
        if likelihood not in LIKELIHOODS:
            raise ValueError(f"VAENetwork: likelihood must be one of {', '.join(LIKELIHOODS)}; got {likelihood!r}.")
        if latent not in LATENTS:
            raise ValueError(f"VAENetwork: latent must be one of {', '.join(LATENTS)}; got {latent!r}.")
        self.likelihood = likelihood
        self.latent = make_latent(latent, n_components, n_prior_components, n_levels)
        self.encoder = make_encoder(n_features, hidden, self.latent.n_outputs, activation, image_shape)
        self.decoder = make_decoder(n_features, hidden, n_components, activation, image_shape)
        if isinstance(self.latent, NormalLatent):
            _start_with_unit_variances(self.encoder)
        if likelihood == "gaussian":
            self.noise_level = nn.Parameter(torch.tensor(math.log(variance) / LOG_VARIANCE_PER_UNIT))

    @property
    def log_variance(self) -> Tensor:
        r""":math:`\log s^2` of the Gaussian decoder."""
        return LOG_VARIANCE_PER_UNIT * self.noise_level

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of the posterior; direction and concentration on the sphere."""
        return self.latent.split(self.encoder(x))

    def decode(self, z: Tensor) -> Tensor:
        """The expected data given ``z``."""
        output = self.decoder(z)
        return torch.sigmoid(output) if self.likelihood == "bernoulli" else output

    def log_likelihood(self, x: Tensor, z: Tensor) -> Tensor:
        r""":math:`\log p(x|z)` of every row."""
        output = self.decoder(z)
        if self.likelihood == "bernoulli":
            return bernoulli_log_likelihood(x, output)
        return gaussian_log_likelihood(x, output, self.log_variance)


def _start_with_unit_variances(encoder: nn.Module) -> None:
    r"""Every posterior begins with the variance of the prior.

    :math:`\log\sigma^2` of a random layer is as large as the data, and its exponential makes first gradients after
    which Adam, which divides by a memory of a thousand steps, hardly moves for the rest of a short fit.
    """
    *_, head = (layer for layer in encoder.modules() if isinstance(layer, nn.Linear))
    with torch.no_grad():
        for part in (head.weight, head.bias):
            part[len(part) // 2 :] = 0.0
