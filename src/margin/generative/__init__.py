"""Generative models: what they share is ``sample``, ``score_samples`` (nats) and ``log_density_kind``."""

from margin.generative.autoencoder import Autoencoder
from margin.generative.diffusion.flow_model import FlowMatching
from margin.generative.diffusion.latent import LatentDiffusion
from margin.generative.diffusion.model import DiffusionModel
from margin.generative.diffusion.score_model import ScoreModel
from margin.generative.gan.cycle import CycleGAN
from margin.generative.gan.model import GAN
from margin.generative.normalizing_flow import NormalizingFlow
from margin.generative.sparse_autoencoder import SparseAutoencoder
from margin.generative.tables.synthesizer import TableSynthesizer
from margin.generative.vae import VAE

__all__ = [
    "GAN",
    "VAE",
    "Autoencoder",
    "CycleGAN",
    "DiffusionModel",
    "FlowMatching",
    "LatentDiffusion",
    "NormalizingFlow",
    "ScoreModel",
    "SparseAutoencoder",
    "TableSynthesizer",
]
