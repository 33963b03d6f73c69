"""The network of a few-shot learner: a perceptron on rows, or layers on rows that are images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from margin.neural.nets.layer_list import layer_list_network
from margin.neural.nets.mlp import MLP

__all__ = ["ImageEmbedding", "embedding_network", "image_size"]


class ImageEmbedding(nn.Module):
    """Layers on images (channels, height, width) that come as rows with the channels of a pixel side by side."""

    def __init__(self, encoder: Sequence[str], shape: Sequence[int], n_outputs: int):
        super().__init__()
        self.channels, self.height, self.width = (int(n) for n in shape)
        self.body = layer_list_network(encoder, (self.channels, self.height, self.width), n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        images = x.reshape(len(x), self.height, self.width, self.channels).permute(0, 3, 1, 2)
        return self.body(images.contiguous())


def embedding_network(**described: Any) -> nn.Module:
    """The network that the attribute ``network_`` of a few-shot learner describes."""
    return ImageEmbedding(**described) if "encoder" in described else MLP(**described)


def image_size(image_shape: Any, n_features: int) -> list[int]:
    """(channels, height, width) of rows with ``n_features`` numbers, from (height, width) or with channels last.

    >>> image_size((28, 28), 784)
    [1, 28, 28]
    """
    shape = () if image_shape is None else tuple(int(n) for n in image_shape)
    if len(shape) not in (2, 3) or min(shape) < 1 or int(np.prod(shape)) != n_features:
        raise ValueError(
            f"FewShotLearner: with encoder, image_shape must be (height, width) or (height, width, channels) with a "
            f"product of {n_features}; got {image_shape!r}."
        )
    height, width, channels = (*shape, 1)[:3]
    return [channels, height, width]
