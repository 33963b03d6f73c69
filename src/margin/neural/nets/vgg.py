"""VGG (Simonyan and Zisserman 2014): a network of blocks, each some 3 x 3 convolutions and a pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from margin.neural.nets.image_parts import LayerChain, Shape, scale_channels

__all__ = ["VGG_BLOCKS", "vgg", "vgg_block"]

# Convolutions and channels of every block, by the number of layers with weights.
VGG_BLOCKS: dict[int, tuple[tuple[int, int], ...]] = {
    11: ((1, 64), (1, 128), (2, 256), (2, 512), (2, 512)),
    13: ((2, 64), (2, 128), (2, 256), (2, 512), (2, 512)),
    16: ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)),
    19: ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512)),
}


def vgg_block(chain: LayerChain, n_convolutions: int, channels: int, pooling: str = "max", kernel: int = 3) -> None:
    """``n_convolutions`` that keep the size, each followed by the activation, and a pooling that halves it."""
    for _ in range(n_convolutions):
        chain.conv(channels, kernel, padding=kernel // 2).active()
    chain.pool(pooling, 2)


def vgg(
    blocks: Sequence[tuple[int, int]] = VGG_BLOCKS[11],
    shape: Shape = (3, 224, 224),
    n_outputs: int = 1000,
    *,
    activation: Any = "relu",
    norm: Any = None,
    initializer: Any = None,
    pooling: str = "max",
    width: float = 1.0,
    dropout: float | None = None,
    units: int = 4096,
) -> nn.Sequential:
    """The blocks and three dense layers, the first two of ``units`` units behind dropout (0.5 by default).

    >>> import torch
    >>> with torch.device("meta"):
    ...     sum(p.numel() for p in vgg(shape=(1, 224, 224), n_outputs=10).parameters())
    128806154
    """
    p = 0.5 if dropout is None else dropout
    chain = LayerChain(shape, activation, norm, initializer)
    for n_convolutions, channels in blocks:
        vgg_block(chain, n_convolutions, scale_channels(channels, width), pooling)
    for _ in range(2):
        chain.dense(scale_channels(units, width)).active().dropout(p)
    return chain.dense(n_outputs).network()
