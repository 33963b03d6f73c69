"""Layers that torch lacks: unshared convolution, resize-convolution, strided points, and pooling over whole images."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["GlobalAvgPool", "GlobalMaxPool", "LocallyConnected2d", "PixelConv2d", "ResizeConv2d"]


class LocallyConnected2d(nn.Module):
    """A convolution whose weights differ from position to position: a local layer without sharing.

    >>> layer = LocallyConnected2d(1, 2, 3, image_size=(5, 5))
    >>> layer(torch.zeros(4, 1, 5, 5)).shape, sum(p.numel() for p in layer.parameters())
    (torch.Size([4, 2, 3, 3]), 180)
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, int], image_size: tuple[int, int]
    ):
        super().__init__()
        self.kernel_size = (kernel_size, kernel_size) if isinstance(kernel_size, int) else kernel_size
        self.out_size = tuple(n - k + 1 for n, k in zip(image_size, self.kernel_size))
        positions, n_in = math.prod(self.out_size), in_channels * math.prod(self.kernel_size)
        bound = n_in**-0.5
        self.weight = nn.Parameter(torch.empty(positions, out_channels, n_in).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(positions, out_channels))

    def forward(self, x: Tensor) -> Tensor:
        patches = functional.unfold(x, self.kernel_size)  # (N, C K K, positions)
        out = torch.einsum("nip,poi->nop", patches, self.weight) + self.bias.T
        return out.unflatten(2, self.out_size)


class ResizeConv2d(nn.Module):
    """Enlarge by nearest or bilinear interpolation, then convolve with stride 1: every output sees equally many inputs.

    >>> ResizeConv2d(8, 3, 3, scale=2)(torch.zeros(1, 8, 5, 7)).shape
    torch.Size([1, 3, 10, 14])
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, scale: int, mode: str = "nearest"):
        super().__init__()
        if mode not in ("nearest", "bilinear"):
            raise ValueError(f"ResizeConv2d: mode must be 'nearest' or 'bilinear'; got {mode!r}.")
        if kernel_size % 2 == 0:
            raise ValueError(f"ResizeConv2d: kernel_size must be odd to keep the size; got {kernel_size}.")
        self.scale, self.mode = scale, mode
        self.convolution = nn.Conv2d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.convolution(functional.interpolate(x, scale_factor=self.scale, mode=self.mode))


class PixelConv2d(nn.Conv2d):
    """A convolution of single pixels with a stride: the pixels that it reads are taken first, then mixed one by one.

    The same numbers as torch's own, whose backward pass writes beyond its memory on processors without AVX-512 where
    images lie channels last and have fewer than 8 channels (oneDNN in torch 2.13).

    >>> layer = PixelConv2d(2, 3, 1, stride=2)
    >>> x = torch.arange(100.0).view(1, 2, 5, 10)
    >>> torch.equal(layer(x), functional.conv2d(x, layer.weight, layer.bias, stride=2))
    True
    """

    def forward(self, input: Tensor) -> Tensor:  # torch's name
        down, across = self.stride
        return functional.conv2d(input[..., ::down, ::across].contiguous(), self.weight, self.bias, groups=self.groups)


class GlobalAvgPool(nn.Module):
    """The mean of every channel: (N, C, H, W) becomes (N, C). It has no parameters.

    >>> GlobalAvgPool()(torch.arange(8.0).view(1, 2, 2, 2))
    tensor([[1.5000, 5.5000]])
    """

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(dim=(2, 3))


class GlobalMaxPool(nn.Module):
    """The largest entry of every channel: (N, C, H, W) becomes (N, C).

    >>> GlobalMaxPool()(torch.arange(8.0).view(1, 2, 2, 2))
    tensor([[3., 7.]])
    """

    def forward(self, x: Tensor) -> Tensor:
        return x.amax(dim=(2, 3))
