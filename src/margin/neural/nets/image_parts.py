"""Parts of image networks: a chain of layers that knows the size of the image at every point, and a few layers.

The networks of the papers are written for one size of image. On a smaller one a kernel or a window that would reach
beyond the image is cut to what is there, and pooling stops at one pixel, so that every network can be built for every
size; at the paper's own size nothing is cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from margin.neural.activations.table import ACTIVATIONS, activation_layer
from margin.neural.convolution.layers import GlobalAvgPool, GlobalMaxPool, PixelConv2d
from margin.neural.convolution.sizes import count_positions
from margin.neural.initialize.initializers import HeInitializer, XavierInitializer, draw_weights_
from margin.neural.initialize.schemes import zeros_
from margin.neural.layers.dropout import Dropout
from margin.neural.normalization.normalizations import NORMALIZATIONS
from margin.neural.parts import choose

__all__ = ["SMALL_IMAGE", "LayerChain", "Shape", "Standardized", "image_norm", "scale_channels"]

Shape = tuple[int, int, int]  # channels, height, width
POOLS = {"max": nn.MaxPool2d, "avg": nn.AvgPool2d}
SMALL_IMAGE = 64  # below this side a network for large pictures leaves out its coarse first steps, as for CIFAR


class Standardized(nn.Module):
    """``body`` on images with channels shifted by ``center`` and divided by ``scale``; bytes become floats here."""

    center: Tensor
    scale: Tensor

    def __init__(self, body: nn.Module, center: Sequence[float], scale: Sequence[float]):
        super().__init__()
        self.body = body
        self.register_buffer("center", torch.tensor(center).view(-1, 1, 1), persistent=False)
        self.register_buffer("scale", torch.tensor(scale).view(-1, 1, 1), persistent=False)

    def prepare(self, x: Tensor) -> Tensor:
        return (x - self.center) / self.scale

    def forward(self, x: Tensor) -> Tensor:
        return self.body(self.prepare(x))


class LayerChain:
    """Layers one after another, with the shape (channels, height, width) that the last of them gives.

    >>> chain = LayerChain((1, 28, 28)).conv(6, 5, padding=2).pool("max", 2).conv(16, 5).pool("max", 2).flatten()
    >>> chain.shape, chain.n_features
    ((400, 1, 1), 400)
    """

    def __init__(self, shape: Shape, activation: Any = "relu", norm: Any = None, initializer: Any = None):
        self.shape, self.activation = shape, activation
        self.normalization, self.initializer = norm, initializer
        self.layers: list[nn.Module] = []
        self.flat = False

    @property
    def n_features(self) -> int:
        c, h, w = self.shape
        return c * h * w

    @property
    def sides(self) -> tuple[int, int]:
        return self.shape[1], self.shape[2]

    def conv(
        self, channels: int, kernel: int, stride: int = 1, padding: int = 0, groups: int = 1, bias: bool = True
    ) -> LayerChain:
        """A convolution; its kernel is cut to the padded image. A network with a ``norm`` of its own choice has it
        behind every convolution, also where the architecture has none; one without bias is followed by :meth:`norm`.
        """
        if self.flat:
            raise ValueError("A convolution cannot stand behind a flattening, dense or global pooling layer.")
        size = tuple(min(kernel, n + 2 * padding) for n in self.sides)
        h, w = (count_positions(n, k, padding, stride) for n, k in zip(self.sides, size))
        c = self.shape[0]
        normed = bias and self.normalization is not None
        kind = PixelConv2d if size == (1, 1) and stride > 1 and not padding else nn.Conv2d
        layer = kind(c, channels, size, stride, padding, groups=groups, bias=bias and not normed)  # type: ignore[arg-type]
        self.layers.append(layer)
        self.shape = (channels, h, w)
        return self.norm() if normed else self

    def pool(self, kind: str, window: int, stride: int | None = None, padding: int = 0) -> LayerChain:
        """Pooling, unless one pixel is left; its window is cut to the image."""
        if self.flat:
            raise ValueError("Pooling cannot stand behind a flattening, dense or global pooling layer.")
        if max(self.sides) == 1:
            return self
        step = window if stride is None else stride
        size = tuple(min(window, n) for n in self.sides)
        steps = tuple(step if n > 1 else 1 for n in self.sides)
        border = tuple(padding if 2 * padding <= k else 0 for k in size)
        h, w = map(count_positions, self.sides, size, border, steps)
        self.layers.append(POOLS[kind](size, steps, border))  # type: ignore[arg-type]
        self.shape = (self.shape[0], h, w)
        return self

    def active(self) -> LayerChain:
        self.layers.append(activation_layer(self.activation))
        return self

    def norm(self) -> LayerChain:
        self.layers.append(image_norm(self.normalization, self.shape[0]))
        return self

    def dropout(self, p: float) -> LayerChain:
        if p > 0:
            self.layers.append(Dropout(p))
        return self

    def add(self, layer: nn.Module, shape: Shape) -> LayerChain:
        """Any other layer, with the shape that it gives."""
        self.layers.append(layer)
        self.shape = shape
        return self

    def flatten(self) -> LayerChain:
        if not self.flat:
            self.layers.append(nn.Flatten())
            self.shape, self.flat = (self.n_features, 1, 1), True
        return self

    def global_pool(self, kind: str) -> LayerChain:
        if self.flat:
            raise ValueError("Global pooling cannot stand behind a flattening, dense or global pooling layer.")
        self.flat = True
        return self.add(GlobalAvgPool() if kind == "avg" else GlobalMaxPool(), (self.shape[0], 1, 1))

    def dense(self, units: int) -> LayerChain:
        self.flatten()
        return self.add(nn.Linear(self.n_features, units), (units, 1, 1))

    def network(self) -> nn.Sequential:
        net = nn.Sequential(*self.layers)
        _initialize_(net, self.activation, self.initializer)
        return net


def scale_channels(channels: int, width: float) -> int:
    """So many times as many channels, at least one.

    >>> scale_channels(64, 0.25), scale_channels(6, 0.01)
    (16, 1)
    """
    return max(1, round(channels * width))


def image_norm(norm: Any, channels: int) -> nn.Module:
    """The layer of a normalization by name or object; None is batch norm."""
    return choose("norm", "batch" if norm is None else norm, NORMALIZATIONS).of_images(channels)


def _initialize_(network: nn.Module, activation: Any, initializer: Any) -> None:
    """He's normal weights for rectified units and Glorot's for others and for the last layer; biases 0."""
    rectified = choose("activation", activation, ACTIVATIONS).rectifies
    draw_weights_(network, initializer, HeInitializer() if rectified else XavierInitializer(), XavierInitializer())
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear) and layer.bias is not None:
            zeros_(layer.bias)
