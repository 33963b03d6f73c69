r"""DenseNet (Huang et al. 2016): every layer of a block receives all feature maps before it, concatenated.

.. math:: x_l = H_l([x_0, x_1, \ldots, x_{l-1}])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from margin.neural.activations import activation_layer
from margin.neural.nets.image_parts import SMALL_IMAGE, LayerChain, Shape, image_norm, scale_channels

__all__ = ["DENSENET_BLOCKS", "DenseBlock", "DenseLayer", "densenet"]

# Growth and the layers of every block, by depth; 40 is the small network without bottlenecks.
DENSENET_BLOCKS = {40: (12, (12, 12, 12)), 121: (32, (6, 12, 24, 16)), 169: (32, (6, 12, 32, 32))}
BOTTLENECK = 4  # channels of a 1 x 1 convolution before the 3 x 3 one, as a multiple of the growth
COMPRESSION = 0.5  # fraction of the channels that a transition keeps


class DenseLayer(nn.Module):
    """Norm, activation and convolution (with a ``bottleneck``, twice): ``growth`` new maps behind the old ones."""

    def __init__(
        self, in_channels: int, growth: int, *, bottleneck: bool = True, activation: Any = "relu", norm: Any = None
    ):
        super().__init__()
        inner = BOTTLENECK * growth if bottleneck else in_channels
        first = [
            image_norm(norm, in_channels),
            activation_layer(activation),
            nn.Conv2d(in_channels, inner, 1, bias=False),
        ]
        last = [
            image_norm(norm, inner),
            activation_layer(activation),
            nn.Conv2d(inner, growth, 3, padding=1, bias=False),
        ]
        self.new = nn.Sequential(*(first if bottleneck else []), *last)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.new(x)], dim=1)


class DenseBlock(nn.Sequential):
    """``n_layers`` dense layers: in + n_layers * growth channels come out.

    >>> DenseBlock(16, growth=12, n_layers=4)(torch.zeros(1, 16, 5, 5)).shape
    torch.Size([1, 64, 5, 5])
    """

    def __init__(
        self,
        in_channels: int,
        growth: int,
        n_layers: int,
        *,
        bottleneck: bool = True,
        activation: Any = "relu",
        norm: Any = None,
    ):
        channels = [in_channels + k * growth for k in range(n_layers)]
        super().__init__(
            *(DenseLayer(c, growth, bottleneck=bottleneck, activation=activation, norm=norm) for c in channels)
        )
        self.out_channels = in_channels + n_layers * growth


def densenet(
    growth: int = 32,
    blocks: Sequence[int] = (6, 12, 24, 16),
    shape: Shape = (3, 224, 224),
    n_outputs: int = 1000,
    *,
    activation: Any = "relu",
    norm: Any = None,
    initializer: Any = None,
    bottleneck: bool = True,
    width: float = 1.0,
    dropout: float | None = None,
) -> nn.Sequential:
    """Dense blocks with transitions (1 x 1 convolution, mean pooling) between them; ``width`` scales the growth.

    >>> with torch.device("meta"):
    ...     sum(p.numel() for p in densenet().parameters())
    7978856
    """
    growth = scale_channels(growth, width)
    chain = LayerChain(shape, activation, norm, initializer)
    if min(shape[1:]) < SMALL_IMAGE:
        chain.conv(2 * growth, 3, padding=1, bias=False)
    else:
        chain.conv(2 * growth, 7, 2, padding=3, bias=False).norm().active().pool("max", 3, 2, padding=1)
    for k, n_layers in enumerate(blocks):
        block = DenseBlock(chain.shape[0], growth, n_layers, bottleneck=bottleneck, activation=activation, norm=norm)
        chain.add(block, (block.out_channels, *chain.sides)).norm().active()
        if k < len(blocks) - 1:
            keep = COMPRESSION if bottleneck else 1.0
            chain.conv(max(1, int(chain.shape[0] * keep)), 1, bias=False).pool("avg", 2)
    return chain.global_pool("avg").dropout(dropout or 0.0).dense(n_outputs).network()
