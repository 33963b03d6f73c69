"""The variational autoencoder as a plain module: an encoder, a decoder and the likelihood that joins it to the data."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from margin.generative.elbo import bernoulli_log_likelihood, gaussian_log_likelihood
from margin.neural.nets.mlp import MLP

__all__ = ["LIKELIHOODS", "VAENetwork"]

LIKELIHOODS = ("gaussian", "bernoulli")

# Adam moves every parameter by about the learning rate per step. That is slow for the logarithm of a variance that
# may have to fall by powers of ten, so the parameter is a tenth of it.
LOG_VARIANCE_PER_UNIT = 10.0


class VAENetwork(nn.Module):
    r"""Encoder :math:`q(z|x) = N(\mu(x), \mathrm{diag}\,\sigma^2(x))` and decoder :math:`p(x|z)`, mirror images.

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
    ):
        super().__init__()
        if likelihood not in LIKELIHOODS:
            raise ValueError(f"VAENetwork: likelihood must be one of {', '.join(LIKELIHOODS)}; got {likelihood!r}.")
        self.likelihood = likelihood
        self.encoder = MLP([n_features, *hidden, 2 * n_components], activation)
        self.decoder = MLP([n_components, *reversed(hidden), n_features], activation)
        if likelihood == "gaussian":
            self.noise_level = nn.Parameter(torch.tensor(math.log(variance) / LOG_VARIANCE_PER_UNIT))

    @property
    def log_variance(self) -> Tensor:
        r""":math:`\log s^2` of the Gaussian decoder."""
        return LOG_VARIANCE_PER_UNIT * self.noise_level

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of the posterior."""
        mean, log_variance = self.encoder(x).chunk(2, dim=-1)
        return mean, log_variance

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
