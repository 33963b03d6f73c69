r"""Residual networks (He et al. 2015): blocks that learn a change, :math:`y = F(x) + \mathrm{shortcut}(x)`."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from margin.neural.activations import activation_layer
from margin.neural.convolution.layers import PixelConv2d
from margin.neural.nets.image_parts import SMALL_IMAGE, LayerChain, Shape, image_norm, scale_channels

__all__ = ["RESNET_BLOCKS", "ResidualBlock", "resnet", "small_resnet"]

# Blocks of every stage for large pictures, by depth; from 50 on a block is a bottleneck of three convolutions.
RESNET_BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
BOTTLENECK_FROM = 50
EXPANSION = 4  # channels behind a bottleneck, as a multiple of those inside


class ResidualBlock(nn.Module):
    r"""Two 3 x 3 convolutions, or a ``bottleneck`` of 1 x 1, 3 x 3, 1 x 1, and the input added to their result.

    The shortcut is the identity, or a 1 x 1 convolution (with the ``norm``) where channels or size change. With
    ``preactivation`` norm and activation stand before each convolution, so that nothing stands on the sum. ``residual``
    False leaves the shortcut out: a plain block, for comparison.

    >>> import torch
    >>> ResidualBlock(8, 16, stride=2)(torch.zeros(1, 8, 6, 6)).shape
    torch.Size([1, 16, 3, 3])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        stride: int = 1,
        *,
        activation: Any = "relu",
        norm: Any = None,
        bottleneck: bool = False,
        preactivation: bool = False,
        residual: bool = True,
    ):
        super().__init__()
        inner = max(1, out_channels // EXPANSION) if bottleneck else out_channels
        kernels = [(in_channels, inner, 1, 1), (inner, inner, 3, stride), (inner, out_channels, 1, 1)]
        steps = kernels if bottleneck else [(in_channels, inner, 3, stride), (inner, out_channels, 3, 1)]
        layers: list[nn.Module] = []
        for k, (before, after, kernel, step) in enumerate(steps):
            convolution = nn.Conv2d(before, after, kernel, step, padding=kernel // 2, bias=False)
            if preactivation:
                layers += [image_norm(norm, before), activation_layer(activation), convolution]
            else:
                layers += [convolution, image_norm(norm, after)]
                layers += [activation_layer(activation)] if k < len(steps) - 1 else []
        self.change = nn.Sequential(*layers)
        self.shortcut: nn.Module | None = None
        if residual:
            self.shortcut = nn.Identity()
            if stride != 1 or in_channels != out_channels:
                project = PixelConv2d(in_channels, out_channels, 1, stride, bias=False)
                self.shortcut = project if preactivation else nn.Sequential(project, image_norm(norm, out_channels))
        self.behind = nn.Identity() if preactivation else activation_layer(activation)

    def forward(self, x: Tensor) -> Tensor:
        change = self.change(x)
        return self.behind(change if self.shortcut is None else change + self.shortcut(x))


def _stage(chain: LayerChain, n_blocks: int, channels: int, stride: int, bottleneck: bool, residual: bool) -> None:
    for k in range(n_blocks):
        step = stride if k == 0 else 1
        before, (h, w) = chain.shape[0], chain.sides
        block = ResidualBlock(
            before, channels, step,
            activation=chain.activation, norm=chain.normalization, bottleneck=bottleneck, residual=residual,
        )  # fmt: skip
        chain.add(block, (channels, -(-h // step), -(-w // step)))


def resnet(
    depth: int = 50,
    shape: Shape = (3, 224, 224),
    n_outputs: int = 1000,
    *,
    activation: Any = "relu",
    norm: Any = None,
    initializer: Any = None,
    width: float = 1.0,
    dropout: float | None = None,
) -> nn.Sequential:
    """The networks for large pictures; images below 64 pixels begin with a 3 x 3 convolution and no pooling.

    >>> import torch
    >>> with torch.device("meta"):
    ...     [sum(p.numel() for p in resnet(depth).parameters()) for depth in (18, 50)]
    [11689512, 25557032]
    """
    if depth not in RESNET_BLOCKS:
        raise ValueError(f"resnet: depth must be one of {', '.join(map(str, RESNET_BLOCKS))}; got {depth!r}.")
    bottleneck = depth >= BOTTLENECK_FROM
    chain, base = LayerChain(shape, activation, norm, initializer), scale_channels(64, width)
    small = min(shape[1:]) < SMALL_IMAGE
    chain.conv(base, 3, padding=1, bias=False) if small else chain.conv(base, 7, 2, padding=3, bias=False)
    chain.norm().active()
    if not small:
        chain.pool("max", 3, 2, padding=1)
    for k, n_blocks in enumerate(RESNET_BLOCKS[depth]):
        channels = base * 2**k * (EXPANSION if bottleneck else 1)
        _stage(chain, n_blocks, channels, 1 if k == 0 else 2, bottleneck, residual=True)
    return chain.global_pool("avg").dropout(dropout or 0.0).dense(n_outputs).network()


def small_resnet(
    depth: int = 20,
    shape: Shape = (3, 32, 32),
    n_outputs: int = 10,
    *,
    activation: Any = "relu",
    norm: Any = None,
    initializer: Any = None,
    width: float = 1.0,
    dropout: float | None = None,
    residual: bool = True,
) -> nn.Sequential:
    """The networks of 6n + 2 layers for small images: three stages of n blocks with 16, 32 and 64 channels.

    ``residual`` False is the plain network of the same layers, without shortcuts.

    >>> sum(p.numel() for p in small_resnet(20, residual=False).parameters())
    269722
    """
    if depth < 8 or (depth - 2) % 6:
        raise ValueError(f"small_resnet: depth must be 6n + 2 with n of at least 1; got {depth!r}.")
    chain, base = LayerChain(shape, activation, norm, initializer), scale_channels(16, width)
    chain.conv(base, 3, padding=1, bias=False).norm().active()
    for k in range(3):
        _stage(chain, (depth - 2) // 6, base * 2**k, 1 if k == 0 else 2, bottleneck=False, residual=residual)
    return chain.global_pool("avg").dropout(dropout or 0.0).dense(n_outputs).network()
