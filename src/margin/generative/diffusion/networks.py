r"""Denoisers: networks of noisy rows or images, the level of the noise, and a class if there is one.

The level is a number from 0 (clean) to 1 (noise only) per row. Class number ``n_classes`` means "no class". The last
layer starts at 0, so that an untrained denoiser predicts 0 whatever it sees.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.neural.normalization.layers import GroupNorm, LayerNorm

__all__ = ["MLPDenoiser", "NoiseEmbedding", "TransformerDenoiser", "UNetDenoiser", "sinusoids"]

HIGHEST_FREQUENCY = 1000.0
GROUPS = 8


def sinusoids(level: Tensor, n: int) -> Tensor:
    """Sines and cosines of ``level`` at ``n // 2`` frequencies from 1 to 1000, in a geometric series: (rows, n)."""
    half = max(n // 2, 1)
    steps = torch.arange(half, dtype=level.dtype, device=level.device) / max(half - 1, 1)
    angles = level[:, None] * HIGHEST_FREQUENCY**steps
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class NoiseEmbedding(nn.Module):
    """Level of the noise and class, as one vector per row."""

    def __init__(self, width: int, n_classes: int = 0):
        super().__init__()
        self.width, self.n_classes = width + width % 2, n_classes
        self.first, self.second = nn.Linear(self.width, width), nn.Linear(width, width)
        if n_classes:
            self.classes = nn.Embedding(n_classes + 1, width)

    def forward(self, level: Tensor, label: Tensor | None = None) -> Tensor:
        h = self.second(functional.silu(self.first(sinusoids(level, self.width))))
        if self.n_classes:
            if label is None:
                label = torch.full(level.shape, self.n_classes, device=level.device)
            h = h + self.classes(label)
        return functional.silu(h)


def starts_at_zero(layer: nn.Linear | nn.Conv2d) -> nn.Linear | nn.Conv2d:
    nn.init.zeros_(layer.weight)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer


class MLPDenoiser(nn.Module):
    """Fully connected layers for rows of a table; every layer is conditioned on the level of the noise."""

    def __init__(self, n_features: int, hidden: Sequence[int], n_classes: int = 0, embedding: int = 64):
        super().__init__()
        self.embedding = NoiseEmbedding(embedding, n_classes)
        sizes = [n_features, *hidden]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))
        self.told = nn.ModuleList(nn.Linear(embedding, width) for width in hidden)
        self.last = starts_at_zero(nn.Linear(sizes[-1], n_features))

    def forward(self, x: Tensor, level: Tensor, label: Tensor | None = None) -> Tensor:
        conditioning, h = self.embedding(level, label), x
        for layer, tell in zip(self.layers, self.told):
            new = functional.silu(layer(h) + tell(conditioning))
            h = h + new if new.shape == h.shape else new
        return self.last(h)


class DenoisingBlock(nn.Module):
    """Two convolutions around the noise embedding, added to their input."""

    def __init__(self, n_in: int, n_out: int, embedding: int):
        super().__init__()
        self.norm_1, self.norm_2 = (GroupNorm(math.gcd(GROUPS, n), n) for n in (n_in, n_out))
        self.conv_1 = nn.Conv2d(n_in, n_out, 3, padding=1)
        self.conv_2 = starts_at_zero(nn.Conv2d(n_out, n_out, 3, padding=1))
        self.tell = nn.Linear(embedding, n_out)
        self.skip = nn.Conv2d(n_in, n_out, 1) if n_in != n_out else nn.Identity()

    def forward(self, x: Tensor, conditioning: Tensor) -> Tensor:
        h = self.conv_1(functional.silu(self.norm_1(x))) + self.tell(conditioning)[:, :, None, None]
        return self.skip(x) + self.conv_2(functional.silu(self.norm_2(h)))


class UNetDenoiser(nn.Module):
    """Down through half the resolution per level and up again, with a copy of every level across.

    Images of any size: an odd side is rounded up on the way down and cut on the way up. ``condition`` more channels
    may be given beside the noisy image, such as the small image of a cascade.
    """

    def __init__(
        self,
        shape: Sequence[int],
        widths: Sequence[int],
        n_classes: int = 0,
        embedding: int = 64,
        condition: int = 0,
    ):
        super().__init__()
        channels = shape[0]
        self.embedding = NoiseEmbedding(embedding, n_classes)
        self.first = nn.Conv2d(channels + condition, widths[0], 3, padding=1)
        pairs = list(zip([widths[0], *widths[:-1]], widths))
        self.down = nn.ModuleList(DenoisingBlock(a, b, embedding) for a, b in pairs)
        self.middle = DenoisingBlock(widths[-1], widths[-1], embedding)
        self.up = nn.ModuleList(DenoisingBlock(2 * b, a, embedding) for a, b in reversed(pairs))
        self.norm = GroupNorm(math.gcd(GROUPS, widths[0]), widths[0])
        self.last = starts_at_zero(nn.Conv2d(widths[0], channels, 3, padding=1))

    def forward(self, x: Tensor, level: Tensor, label: Tensor | None = None) -> Tensor:
        conditioning = self.embedding(level, label)
        h, kept = self.first(x), []
        for number, block in enumerate(self.down):
            if number:
                h = functional.avg_pool2d(h, 2, ceil_mode=True)
            h = block(h, conditioning)
            kept.append(h)
        h = self.middle(h, conditioning)
        for block in self.up:
            copy = kept.pop()
            if h.shape[2:] != copy.shape[2:]:
                h = functional.interpolate(h, size=copy.shape[2:], mode="nearest")
            h = block(torch.cat([h, copy], dim=1), conditioning)
        return self.last(functional.silu(self.norm(h)))


class AdaptiveBlock(nn.Module):
    """Attention and a perceptron, each scaled, shifted and gated by the noise embedding."""

    def __init__(self, width: int, heads: int, embedding: int):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = (LayerNorm(width, affine=False) for _ in range(2))
        self.attend, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.expand, self.shrink = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.tell = starts_at_zero(nn.Linear(embedding, 6 * width))

    def forward(self, x: Tensor, conditioning: Tensor) -> Tensor:
        scale_1, shift_1, gate_1, scale_2, shift_2, gate_2 = self.tell(conditioning)[:, None].chunk(6, dim=2)
        n, length, width = x.shape
        both = self.attend(self.norm_1(x) * (1 + scale_1) + shift_1)
        q, k, v = both.reshape(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, length, width)
        x = x + gate_1 * self.join(seen)
        h = self.norm_2(x) * (1 + scale_2) + shift_2
        return x + gate_2 * self.shrink(functional.gelu(self.expand(h)))


class TransformerDenoiser(nn.Module):
    """Patches of an image as tokens; the sides of the image must be multiples of ``patch``."""

    def __init__(
        self,
        shape: Sequence[int],
        width: int,
        depth: int = 2,
        heads: int = 4,
        patch: int = 2,
        n_classes: int = 0,
        embedding: int = 64,
    ):
        super().__init__()
        channels, height, breadth = shape
        if height % patch or breadth % patch:
            raise ValueError(
                f"TransformerDenoiser: patch must divide the sides of images of {height} x {breadth}; got {patch}."
            )
        if width % heads:
            raise ValueError(f"TransformerDenoiser: width must be a multiple of the {heads} heads; got {width}.")
        self.shape, self.patch = (channels, height, breadth), patch
        self.embedding = NoiseEmbedding(embedding, n_classes)
        self.first = nn.Linear(channels * patch**2, width)
        self.positions = nn.Parameter(0.02 * torch.randn(height // patch * (breadth // patch), width))
        self.blocks = nn.ModuleList(AdaptiveBlock(width, heads, embedding) for _ in range(depth))
        self.norm = LayerNorm(width)
        self.last = starts_at_zero(nn.Linear(width, channels * patch**2))

    def forward(self, x: Tensor, level: Tensor, label: Tensor | None = None) -> Tensor:
        conditioning = self.embedding(level, label)
        h = self.first(functional.unfold(x, self.patch, stride=self.patch).transpose(1, 2)) + self.positions
        for block in self.blocks:
            h = block(h, conditioning)
        tokens = self.last(self.norm(h)).transpose(1, 2)
        return functional.fold(tokens, self.shape[1:], self.patch, stride=self.patch)
