r"""The network of a few-shot learner: a perceptron on rows, or layers on rows that are images.

Columns have distances that tell classes apart before anything is learned, and a network that sees few classes in
training forgets what only others need. Without layers for images a row is therefore embedded as

.. math:: z = P^\top x + g(x),

with P the principal axes of the training rows, which stay, and g a perceptron that begins at 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from margin.neural.nets.layer_list import layer_list_network
from margin.neural.nets.mlp import MLP

LENGTH = 16.0  # of a usual row: a few steps at the usual rates reach logits that matter, for any number of columns

__all__ = ["DirectLogits", "ImageEmbedding", "PixelEmbedding", "embedding_network"]


class ImageEmbedding(nn.Module):
    """Layers on images (channels, height, width) that come as rows, the channels of a pixel side by side or not."""

    def __init__(self, encoder: Sequence[str], shape: Sequence[int], n_outputs: int, channels_last: bool = True):
        super().__init__()
        self.channels_last = channels_last
        self.channels, self.height, self.width = (int(n) for n in shape)
        self.body = layer_list_network(encoder, (self.channels, self.height, self.width), n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        c, h, w = self.channels, self.height, self.width
        images = x.reshape(-1, h, w, c).permute(0, 3, 1, 2) if self.channels_last else x.reshape(-1, c, h, w)
        return self.body(images.contiguous())


class PixelEmbedding(nn.Module):
    """What a perceptron adds to the coordinates of a row along fixed axes; see the module."""

    axes: Tensor  # (values of a row, coordinates)

    def __init__(self, pixel_sizes: Sequence[int], activation: Any):
        super().__init__()
        self.register_buffer("axes", torch.zeros(pixel_sizes[0], pixel_sizes[-1]))
        self.added = MLP(pixel_sizes, activation)
        _begin_at_zero(self.added)

    def set_axes(self, axes: np.ndarray) -> None:
        """Take the columns of ``axes``; coordinates for which there are none stay 0."""
        self.axes[:, : axes.shape[1]] = torch.from_numpy(axes).to(self.axes)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.axes + self.added(x)


class DirectLogits(nn.Module):
    """What a perceptron adds to a linear map of the row; both begin at 0.

    The first step of descent from there moves the map of a class along the mean of its support, so that logits order
    classes as the nearest of those means does.
    """

    def __init__(self, direct_sizes: Sequence[int], activation: Any):
        super().__init__()
        self.direct = nn.Linear(direct_sizes[0], direct_sizes[-1], bias=False)
        self.added = MLP(direct_sizes, activation)
        self.unit = LENGTH / math.sqrt(direct_sizes[0])
        nn.init.zeros_(self.direct.weight)
        _begin_at_zero(self.added)

    def forward(self, x: Tensor) -> Tensor:
        return self.direct(self.unit * x) + self.added(x)


def _begin_at_zero(added: MLP) -> None:
    nn.init.zeros_(added.linears[-1].weight)
    nn.init.zeros_(added.linears[-1].bias)


def embedding_network(**described: Any) -> nn.Module:
    """The network that the attribute ``network_`` of a few-shot learner describes."""
    if "direct_sizes" in described:
        return DirectLogits(**described)
    if "pixel_sizes" in described:
        return PixelEmbedding(**described)
    return ImageEmbedding(**described) if "encoder" in described else MLP(**described)
