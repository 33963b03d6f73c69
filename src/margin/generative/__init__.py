"""Generative models: what they share is ``sample``, ``score_samples`` (nats) and ``log_density_kind``."""

from margin.generative.autoencoder import Autoencoder
from margin.generative.normalizing_flow import NormalizingFlow
from margin.generative.vae import VAE

__all__ = ["VAE", "Autoencoder", "NormalizingFlow"]
