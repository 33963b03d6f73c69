"""Networks that translate between two domains: both maps of a cycle, and both judges."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.generative.gan.networks import SLOPE, ConvDiscriminator, MLPDiscriminator, MLPGenerator

__all__ = ["BothJudges", "BothWays", "ConvTranslator"]


class ConvTranslator(nn.Module):
    """Convolutions of 3 x 3 pixels that keep the resolution; tanh, so that pixels stay between -1 and 1.

    A pixel of the translation depends on its neighborhood alone: the network can change how an image is painted, hardly
    what it shows, which is what leads an unpaired translation to the true partner among all that the judges accept.
    """

    def __init__(self, n_in: int, hidden: Sequence[int], n_out: int):
        super().__init__()
        sizes = [n_in, *hidden, n_out]
        self.layers = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in itertools.pairwise(sizes))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = functional.leaky_relu(layer(x), SLOPE)
        return torch.tanh(self.layers[-1](x))


class BothWays(nn.Module):
    """The two maps of a cycle, from A to B and from B to A; of images if there is a ``shape``."""

    def __init__(self, n_a: int, n_b: int, hidden: Sequence[int], shape: Sequence[int] | None = None):
        super().__init__()
        self.forth: nn.Module
        self.back: nn.Module
        if shape is None:
            self.forth, self.back = MLPGenerator(n_a, hidden, n_b), MLPGenerator(n_b, hidden, n_a)
        else:
            self.forth, self.back = (ConvTranslator(shape[0], hidden, shape[0]) for _ in range(2))


class BothJudges(nn.Module):
    """One discriminator for each domain."""

    def __init__(self, n_a: int, n_b: int, hidden: Sequence[int], shape: Sequence[int] | None = None):
        super().__init__()
        self.of_a: nn.Module
        self.of_b: nn.Module
        if shape is None:
            self.of_a, self.of_b = MLPDiscriminator(n_a, hidden), MLPDiscriminator(n_b, hidden)
        else:  # as many channels at a quarter of the resolution as at half of it
            self.of_a, self.of_b = (ConvDiscriminator(shape, (hidden[-1], hidden[-1])) for _ in range(2))
