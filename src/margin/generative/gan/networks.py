"""Generators and discriminators: fully connected, convolutional, and style-based.

A generator takes noise (n, k) and a class per row if it is conditional; a discriminator takes rows or images (and the
class) and gives one logit per row.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrizations import spectral_norm

from margin.neural.layers.dropout import Dropout
from margin.neural.normalization.layers import GroupNorm

__all__ = [
    "SMALLEST_SIDE",
    "ConvDiscriminator",
    "ConvGenerator",
    "DiscriminatorPanel",
    "MLPDiscriminator",
    "MLPGenerator",
    "normalize_spectrum",
]

SLOPE = 0.2  # of the leaky rectifier, usual since DCGAN
CLASS_WIDTH = 16
SMALLEST_SIDE = 4  # two halvings must leave a pixel


class MLPGenerator(nn.Module):
    """Fully connected layers with leaky rectifiers; ``bounded`` ends in tanh."""

    def __init__(
        self, n_latents: int, hidden: Sequence[int], n_features: int, n_classes: int = 0, bounded: bool = False
    ):
        super().__init__()
        self.bounded = bounded
        self.classes = nn.Embedding(n_classes, CLASS_WIDTH) if n_classes else None
        sizes = [n_latents + (CLASS_WIDTH if n_classes else 0), *hidden, n_features]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))

    def forward(self, z: Tensor, label: Tensor | None = None) -> Tensor:
        h = z if self.classes is None else torch.cat([z, self.classes(label)], dim=1)
        *hidden, last = self.layers
        for layer in hidden:
            h = functional.leaky_relu(layer(h), SLOPE)
        h = last(h)
        return torch.tanh(h) if self.bounded else h


class MLPDiscriminator(nn.Module):
    """Fully connected layers with leaky rectifiers and dropout."""

    def __init__(self, n_features: int, hidden: Sequence[int], n_classes: int = 0, dropout: float = 0.0):
        super().__init__()
        self.classes = nn.Embedding(n_classes, CLASS_WIDTH) if n_classes else None
        sizes = [n_features + (CLASS_WIDTH if n_classes else 0), *hidden, 1]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, label: Tensor | None = None) -> Tensor:
        h = x if self.classes is None else torch.cat([x, self.classes(label)], dim=1)
        *hidden, last = self.layers
        for layer in hidden:
            h = self.dropout(functional.leaky_relu(layer(h), SLOPE))
        return last(h)[:, 0]


class ConvGenerator(nn.Module):
    """A linear layer to a quarter of the resolution, then two transposed convolutions that double it; tanh.

    Sides that are no multiples of 4 are made a little larger and cut.
    """

    def __init__(self, n_latents: int, widths: Sequence[int], shape: Sequence[int], n_classes: int = 0):
        super().__init__()
        channels, self.height, self.breadth = shape
        wide, narrow = widths
        self.start = (wide, math.ceil(self.height / 4), math.ceil(self.breadth / 4))
        self.classes = nn.Embedding(n_classes, CLASS_WIDTH) if n_classes else None
        self.first = nn.Linear(n_latents + (CLASS_WIDTH if n_classes else 0), math.prod(self.start))
        # Over the channels of one image: a norm over the batch would make a row depend on the others.
        self.norm_1, self.norm_2 = GroupNorm(1, wide), GroupNorm(1, narrow)
        self.grow_1 = nn.ConvTranspose2d(wide, narrow, 4, stride=2, padding=1)
        self.grow_2 = nn.ConvTranspose2d(narrow, channels, 4, stride=2, padding=1)

    def forward(self, z: Tensor, label: Tensor | None = None) -> Tensor:
        h = z if self.classes is None else torch.cat([z, self.classes(label)], dim=1)
        h = functional.relu(self.norm_1(self.first(h).reshape(len(z), *self.start)))
        h = functional.relu(self.norm_2(self.grow_1(h)))
        return torch.tanh(self.grow_2(h))[:, :, : self.height, : self.breadth]


class ConvDiscriminator(nn.Module):
    """Two convolutions that halve the resolution, then a linear layer; the class is one more channel."""

    def __init__(self, shape: Sequence[int], widths: Sequence[int], n_classes: int = 0, dropout: float = 0.0):
        super().__init__()
        channels, height, breadth = shape
        wide, narrow = widths
        self.shape = (1, height, breadth)
        self.classes = nn.Embedding(n_classes, height * breadth) if n_classes else None
        self.shrink_1 = nn.Conv2d(channels + bool(n_classes), narrow, 4, stride=2, padding=1)
        self.shrink_2 = nn.Conv2d(narrow, wide, 4, stride=2, padding=1)
        self.dropout = Dropout(dropout)
        self.last = nn.Linear(wide * (height // 2 // 2) * (breadth // 2 // 2), 1)

    def forward(self, x: Tensor, label: Tensor | None = None) -> Tensor:
        if self.classes is not None:
            x = torch.cat([x, self.classes(label).reshape(len(x), *self.shape)], dim=1)
        h = self.dropout(functional.leaky_relu(self.shrink_1(x), SLOPE))
        h = self.dropout(functional.leaky_relu(self.shrink_2(h), SLOPE))
        return self.last(h.flatten(1))[:, 0]


class DiscriminatorPanel(nn.Module):
    """Several discriminators that see the same rows: their logits side by side, (n, players)."""

    def __init__(self, members: Sequence[nn.Module]):
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, x: Tensor, label: Tensor | None = None) -> Tensor:
        return torch.stack([member(x, label) for member in self.members], dim=1)


def normalize_spectrum(module: nn.Module) -> nn.Module:
    """Divide every matrix and kernel by its largest singular value, so that each layer has Lipschitz constant 1.

    The singular value is followed by one step of the power method per forward pass while training.
    """
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            spectral_norm(layer)
    return module
