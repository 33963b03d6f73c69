"""Generator and discriminator of every architecture, by name."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from margin.generative.gan.game import GANNetwork
from margin.generative.gan.networks import (
    ConvDiscriminator,
    ConvGenerator,
    DiscriminatorPanel,
    MLPDiscriminator,
    MLPGenerator,
    normalize_spectrum,
)
from margin.generative.gan.style import StyleGenerator

__all__ = ["ARCHITECTURES", "gan_network"]

ARCHITECTURES = ("mlp", "dcgan", "style")


def gan_network(
    architecture: str,
    n_latents: int,
    hidden: Sequence[int],
    n_features: int,
    shape: Sequence[int],
    n_classes: int,
    n_discriminators: int,
    spectral_norm: bool,
    dropout: float,
    bounded: bool,
) -> GANNetwork:
    """Generator and discriminator of an architecture; a perceptron's discriminator mirrors its generator."""
    generator: nn.Module
    if architecture == "mlp":
        generator = MLPGenerator(n_latents, hidden, n_features, n_classes, bounded)
    elif architecture == "dcgan":
        generator = ConvGenerator(n_latents, hidden, shape, n_classes)
    else:
        generator = StyleGenerator(n_latents, hidden, shape, n_classes)

    def discriminator() -> nn.Module:
        if architecture == "mlp":
            return MLPDiscriminator(n_features, list(reversed(hidden)), n_classes, dropout)
        return ConvDiscriminator(shape, hidden, n_classes, dropout)

    panel = [discriminator() for _ in range(n_discriminators)]
    judge = panel[0] if n_discriminators == 1 else DiscriminatorPanel(panel)
    return GANNetwork(generator, normalize_spectrum(judge) if spectral_norm else judge)
