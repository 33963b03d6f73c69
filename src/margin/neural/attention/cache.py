"""Keys and values of tokens that were read, so that a new token costs one row of attention and not all of them."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["KeyValueCache"]

Pair = tuple[Tensor, Tensor]


class KeyValueCache:
    """Keys and values by layer, (batch, heads, tokens, d_head), joined along the tokens.

    ``memory`` holds those of a second sequence that cross-attention looks at, which never grows; ``joined`` has the
    matrices and biases of a layer's projections side by side, which stay the same while a text is read.

    >>> cache = KeyValueCache()
    >>> k = torch.zeros(1, 2, 3, 4)
    >>> cache.extend(0, k, k)[0].shape, cache.extend(0, k[:, :, :1], k[:, :, :1])[0].shape, cache.length(0)
    (torch.Size([1, 2, 3, 4]), torch.Size([1, 2, 4, 4]), 4)
    """

    def __init__(self) -> None:
        self.layers: dict[int, Pair] = {}
        self.memory: dict[int, Pair] = {}
        self.joined: dict[int, tuple[Tensor, Tensor | None]] = {}

    def length(self, layer: int = 0) -> int:
        """Tokens that a layer has read."""
        return self.layers[layer][0].shape[-2] if layer in self.layers else 0

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> Pair:
        """Add the new tokens of one layer; all its keys and values."""
        if layer in self.layers:
            before = self.layers[layer]
            keys, values = torch.cat([before[0], keys], dim=-2), torch.cat([before[1], values], dim=-2)
        self.layers[layer] = keys, values
        return keys, values

    def select(self, rows: Tensor) -> None:
        """Keep the sequences numbered ``rows`` of the batch, in this order: what a beam search goes on with."""
        for part in (self.layers, self.memory):
            for layer, (keys, values) in part.items():
                part[layer] = keys[rows], values[rows]
