r"""Networks that give an output for every pixel: fully convolutional, U-Net, stacked hourglass.

All take images (N, C, H, W) of any size and give (N, outputs, H, W). On the way down they see more and more of the
image and know less and less where; what joins the way up is what tells them apart:

| network | joins the way up |
|---|---|
| FCN (Long et al. 2015) | scores of two scales, enlarged and added |
| U-Net (Ronneberger et al. 2015) | features of the same size, concatenated |
| encoder and decoder | nothing: all goes through the bottleneck |
| hourglass (Newell et al. 2016) | features of the same size, added |
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.neural.initialize.schemes import he_, lecun_, zeros_
from margin.neural.normalization.layers import BatchNorm

__all__ = ["FCN", "PIXEL_NETWORKS", "Hourglass", "HourglassStack", "UNet", "begin_with_frequencies", "pixel_network"]


def convolutions(in_channels: int, out_channels: int, n: int = 2) -> nn.Sequential:
    """``n`` 3 x 3 convolutions that keep the size, each with norm and rectifier."""
    layers: list[nn.Module] = []
    for k in range(n):
        layers += [nn.Conv2d(out_channels if k else in_channels, out_channels, 3, padding=1, bias=False)]
        layers += [BatchNorm(out_channels), nn.ReLU()]
    return nn.Sequential(*layers)


def halve(x: Tensor) -> Tensor:
    """Maxima of 2 x 2 pixels; a side of odd length keeps its last row, so no image is too small."""
    return functional.max_pool2d(x, 2, ceil_mode=True)


def enlarge(x: Tensor, like: Tensor) -> Tensor:
    return functional.interpolate(x, size=like.shape[2:], mode="bilinear", align_corners=False)


class FCN(nn.Module):
    """Convolutions and halvings; at every scale a 1 x 1 convolution in place of dense layers; scores are added.

    >>> FCN(1, 3)(torch.zeros(2, 1, 20, 30)).shape
    torch.Size([2, 3, 20, 30])
    """

    def __init__(self, in_channels: int, n_outputs: int, depth: int = 2, channels: int = 16):
        super().__init__()
        widths = [channels * 2**k for k in range(depth + 1)]
        self.stages = nn.ModuleList(convolutions(a, b) for a, b in zip([in_channels, *widths], widths))
        self.scores = nn.ModuleList(nn.Conv2d(width, n_outputs, 1) for width in widths)

    def forward(self, x: Tensor) -> Tensor:
        maps = []
        for k, (stage, score) in enumerate(zip(self.stages, self.scores)):
            x = stage(halve(x) if k else x)
            maps.append(score(x))
        total = maps.pop()
        while maps:
            finer = maps.pop()
            total = finer + enlarge(total, finer)
        return total


class UNet(nn.Module):
    """A branch down (convolutions, halving) and a branch up (transposed convolutions), joined at every size.

    ``skips=False`` leaves the joints out: an encoder and decoder through the bottleneck alone.

    >>> net = UNet(1, 2, depth=2)
    >>> net(torch.zeros(1, 1, 17, 24)).shape, net.up[0].convolve[0].in_channels
    (torch.Size([1, 2, 17, 24]), 64)
    """

    def __init__(self, in_channels: int, n_outputs: int, depth: int = 2, channels: int = 16, skips: bool = True):
        super().__init__()
        widths = [channels * 2**k for k in range(depth + 1)]
        self.down = nn.ModuleList(convolutions(a, b) for a, b in zip([in_channels, *widths], widths))
        self.up = nn.ModuleList(UpStep(b, a, skips) for a, b in reversed(list(pairwise(widths))))
        self.head = nn.Conv2d(channels, n_outputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept: list[Tensor] = []
        for k, stage in enumerate(self.down):
            x = stage(halve(x) if k else x)
            kept.append(x)
        kept.pop()
        for step in self.up:
            x = step(x, kept.pop())
        return self.head(x)


class UpStep(nn.Module):
    """Twice the size by a transposed convolution, the features of the way down beside it, two convolutions."""

    def __init__(self, in_channels: int, out_channels: int, skips: bool):
        super().__init__()
        self.skips = skips
        self.enlarge = nn.ConvTranspose2d(in_channels, out_channels, 2, stride=2)
        self.convolve = convolutions(2 * out_channels if skips else out_channels, out_channels)

    def forward(self, x: Tensor, same_size: Tensor) -> Tensor:
        x = self.enlarge(x)[:, :, : same_size.shape[2], : same_size.shape[3]]  # an odd side was rounded up
        return self.convolve(torch.cat([same_size, x], dim=1) if self.skips else x)


class Hourglass(nn.Module):
    """Down to the smallest size and up again, with the features of the same size added; channels stay as they are."""

    def __init__(self, channels: int, depth: int):
        super().__init__()
        self.beside = convolutions(channels, channels, 1)
        self.before = convolutions(channels, channels, 1)
        self.inner: nn.Module = Hourglass(channels, depth - 1) if depth > 1 else convolutions(channels, channels, 1)
        self.after = convolutions(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        deep = self.after(self.inner(self.before(halve(x))))
        return self.beside(x) + functional.interpolate(deep, size=x.shape[2:], mode="nearest")


class HourglassStack(nn.Module):
    """``stacks`` hourglasses in a row: each makes maps of its own, which the next one gets with its features.

    The output of the last is the network's; ``predictions`` has those of all, which are trained alike.

    >>> HourglassStack(1, 4, stacks=2, channels=8)(torch.zeros(1, 1, 16, 16)).shape
    torch.Size([1, 4, 16, 16])
    """

    def __init__(self, in_channels: int, n_outputs: int, depth: int = 2, channels: int = 16, stacks: int = 1):
        super().__init__()
        self.stem = convolutions(in_channels, channels, 1)
        self.glasses = nn.ModuleList(
            nn.Sequential(Hourglass(channels, depth), convolutions(channels, channels, 1)) for _ in range(stacks)
        )
        self.heads = nn.ModuleList(nn.Conv2d(channels, n_outputs, 1) for _ in range(stacks))
        self.returns = nn.ModuleList(nn.Conv2d(n_outputs, channels, 1) for _ in range(stacks - 1))

    def predictions(self, x: Tensor) -> list[Tensor]:
        x, predictions = self.stem(x), []
        for k, (glass, head) in enumerate(zip(self.glasses, self.heads)):
            features = glass(x)
            predictions.append(head(features))
            if k < len(self.returns):
                x = x + features + self.returns[k](predictions[-1])
        return predictions

    def forward(self, x: Tensor) -> Tensor:
        return self.predictions(x)[-1]


PIXEL_NETWORKS: dict[str, Callable[..., nn.Module]] = {
    "fcn": FCN,
    "unet": UNet,
    "encoder-decoder": partial(UNet, skips=False),
    "hourglass": HourglassStack,
}


def pixel_network(architecture: str, in_channels: int, n_outputs: int, depth: int, channels: int) -> nn.Module:
    """The network of a name, with He's weights before rectifiers."""
    network = PIXEL_NETWORKS[architecture](in_channels, n_outputs, depth=depth, channels=channels)
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
            (he_ if layer.kernel_size[0] > 1 else lecun_)(layer.weight)
            if layer.bias is not None:
                zeros_(layer.bias)
    return network


def begin_with_frequencies(network: nn.Module, frequencies: Tensor) -> None:
    """Let the scores of a drawn network begin at the logarithms of how frequent the classes are, by their biases alone.

    Where the drawn weights of the ground have the larger sum, units that are on speak for it. The first updates then
    teach the units behind the scores to be off wherever there is an object, and off they neither tell nor learn its
    class: one narrow network in five stayed so. With sums of 0 the ground has its bias, and objects switch units on.
    """
    layers: list[Any]
    if isinstance(network, FCN | HourglassStack):
        layers = list(network.scores if isinstance(network, FCN) else network.heads)
    else:
        layers = [network.head]
    with torch.no_grad():
        for layer in layers:
            if layer.in_channels > 1:
                layer.weight.sub_(layer.weight.mean(dim=1, keepdim=True))
        for layer in layers[:1] if isinstance(network, FCN) else layers:  # the scores of an FCN are added
            layer.bias.copy_(frequencies.log())
