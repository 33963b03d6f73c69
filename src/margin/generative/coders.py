"""Encoders and decoders between rows and codes: fully connected, or convolutional where the row is an image."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from torch import Tensor, nn
from torch.nn import functional

from margin.data.image_arrays import row_layout
from margin.neural.activations import activation_layer
from margin.neural.nets.mlp import MLP

__all__ = ["ConvolutionalDecoder", "ConvolutionalEncoder", "image_sizes", "last_layer", "make_decoder", "make_encoder"]


def make_encoder(
    n_features: int, hidden: Sequence[int], n_outputs: int, activation: str, image_shape: Sequence[int] | None
) -> nn.Module:
    """Rows to ``n_outputs`` numbers through layers of the widths ``hidden``, channels where rows are images."""
    if image_shape is None:
        return MLP([n_features, *hidden, n_outputs], activation)
    return ConvolutionalEncoder(image_shape, hidden, n_outputs, activation)


def make_decoder(
    n_features: int, hidden: Sequence[int], n_inputs: int, activation: str, image_shape: Sequence[int] | None
) -> nn.Module:
    """The mirror image of :func:`make_encoder`."""
    if image_shape is None:
        return MLP([n_inputs, *reversed(hidden), n_features], activation)
    return ConvolutionalDecoder(image_shape, hidden, n_inputs, activation)


def last_layer(encoder: nn.Module) -> nn.Linear:
    """The layer of an encoder that gives its outputs."""
    return [layer for layer in encoder.modules() if isinstance(layer, nn.Linear)][-1]


def image_sizes(image_shape: Sequence[int], depth: int) -> list[tuple[int, int]]:
    """Height and width before and after every layer of stride 2.

    >>> image_sizes((1, 28, 28), 2)
    [(28, 28), (14, 14), (7, 7)]
    """
    sizes = [(int(image_shape[1]), int(image_shape[2]))]
    for _ in range(depth):
        height, width = sizes[-1]
        sizes.append(((height + 1) // 2, (width + 1) // 2))
    return sizes


def _layout(image_shape: Sequence[int]) -> tuple[tuple[int, int, int], bool]:
    """Channels, height and width, and whether rows have their channels last."""
    return row_layout("Autoencoder", image_shape, prod(image_shape))


class ConvolutionalEncoder(nn.Module):
    """3 x 3 convolutions of stride 2, then one fully connected layer; takes flat rows of images."""

    def __init__(self, image_shape: Sequence[int], channels: Sequence[int], n_outputs: int, activation: str):
        super().__init__()
        self.image_shape, self.channels_last = _layout(image_shape)
        widths = [self.image_shape[0], *channels]
        height, width = image_sizes(self.image_shape, len(channels))[-1]
        self.convolutions = nn.ModuleList(nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in pairwise(widths))
        self.head = nn.Linear(widths[-1] * height * width, n_outputs)
        self.activation = activation_layer(activation)

    def forward(self, x: Tensor) -> Tensor:
        c, h, w = self.image_shape
        x = x.unflatten(-1, (h, w, c)).movedim(-1, 1) if self.channels_last else x.unflatten(-1, (c, h, w))
        for convolution in self.convolutions:
            x = self.activation(convolution(x))
        return self.head(x.flatten(1))


class ConvolutionalDecoder(nn.Module):
    """A fully connected layer to the smallest image, then enlargements by 2, each smoothed by a 3 x 3 convolution.

    Enlarging and convolving, unlike a transposed convolution of stride 2, gives every pixel equally many inputs.
    """

    def __init__(self, image_shape: Sequence[int], channels: Sequence[int], n_inputs: int, activation: str):
        super().__init__()
        shape, self.channels_last = _layout(image_shape)
        widths = [shape[0], *channels]
        *self.sizes, (height, width) = image_sizes(shape, len(channels))
        self.smallest = (widths[-1], height, width)
        self.stem = nn.Linear(n_inputs, widths[-1] * height * width)
        self.convolutions = nn.ModuleList(nn.Conv2d(b, a, 3, padding=1) for a, b in pairwise(widths))
        self.activation = activation_layer(activation)

    def forward(self, z: Tensor) -> Tensor:
        x = self.stem(z).unflatten(-1, self.smallest)
        for size, convolution in zip(reversed(self.sizes), reversed(self.convolutions), strict=True):
            x = convolution(functional.interpolate(self.activation(x), size=size, mode="nearest"))
        return (x.movedim(1, -1) if self.channels_last else x).flatten(1)
