"""LeNet-5 (LeCun et al. 1998) and AlexNet (Krizhevsky et al. 2012): convolutions and pooling, then dense layers."""

from __future__ import annotations

from typing import Any

from torch import nn

from margin.neural.nets.image_parts import SMALL_IMAGE, LayerChain, Shape, scale_channels

__all__ = ["alexnet", "lenet5"]


def lenet5(
    shape: Shape = (1, 28, 28),
    n_outputs: int = 10,
    *,
    activation: Any = "sigmoid",
    norm: Any = None,
    initializer: Any = None,
    pooling: str = "avg",
    width: float = 1.0,
    dropout: float | None = None,
) -> nn.Sequential:
    """Two convolutions with pooling and three dense layers: 28x28x6, 14x14x6, 10x10x16, 5x5x16, 400, 120, 84, 10.

    It ends in scores: probabilities need a softmax.

    >>> sum(p.numel() for p in lenet5().parameters())
    61706
    """
    chain = LayerChain(shape, activation, norm, initializer)
    chain.conv(scale_channels(6, width), 5, padding=2).active().pool(pooling, 2)
    chain.conv(scale_channels(16, width), 5).active().pool(pooling, 2).flatten()
    chain.dense(scale_channels(120, width)).active().dense(scale_channels(84, width)).active()
    return chain.dropout(dropout or 0.0).dense(n_outputs).network()


def alexnet(
    shape: Shape = (3, 227, 227),
    n_outputs: int = 1000,
    *,
    activation: Any = "relu",
    norm: Any = None,
    initializer: Any = None,
    pooling: str = "max",
    width: float = 1.0,
    dropout: float | None = None,
    groups: int = 1,
    padding: int = 0,
) -> nn.Sequential:
    """Five convolutions and three dense layers, the first two behind dropout (0.5 by default).

    ``groups`` 2 cuts the second, fourth and fifth convolution in halves, as the two processors of the paper did. Images
    below 64 pixels begin with a convolution of 3 x 3 in place of 11 x 11 with stride 4.

    >>> import torch
    >>> with torch.device("meta"):
    ...     sum(p.numel() for p in alexnet().parameters()), sum(p.numel() for p in alexnet(groups=2).parameters())
    (62378344, 60965224)
    """
    p = 0.5 if dropout is None else dropout
    channels = [scale_channels(c, width) for c in (96, 256, 384, 384, 256)]
    chain = LayerChain(shape, activation, norm, initializer)
    small = min(shape[1:]) < SMALL_IMAGE
    chain.conv(channels[0], 3, padding=1) if small else chain.conv(channels[0], 11, stride=4, padding=padding)
    chain.active().pool(pooling, 3, 2)
    chain.conv(channels[1], 5, padding=2, groups=groups).active().pool(pooling, 3, 2)
    chain.conv(channels[2], 3, padding=1).active()
    chain.conv(channels[3], 3, padding=1, groups=groups).active()
    chain.conv(channels[4], 3, padding=1, groups=groups).active().pool(pooling, 3, 2).flatten()
    for _ in range(2):
        chain.dense(scale_channels(4096, width)).active().dropout(p)
    return chain.dense(n_outputs).network()
