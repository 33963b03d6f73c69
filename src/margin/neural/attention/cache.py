"""Keys and values of tokens that were read, so that a new token costs one row of attention and not all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

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

    def remember(self, layer: int, memory: Tensor, keys_and_values: Callable[[Tensor], Pair]) -> Pair:
        """Keys and values of a second sequence, which are made for the first token and stay."""
        if layer not in self.memory:
            self.memory[layer] = keys_and_values(memory)
        return self.memory[layer]

    def project(self, layer: int, x: Tensor, maps: Sequence[nn.Linear]) -> tuple[Tensor, ...]:
        """``x`` through several maps as one product: with a token at a time calls cost more than products."""
        if layer not in self.joined:
            biases: list[Tensor] = [part.bias for part in maps if part.bias is not None]
            self.joined[layer] = torch.cat([part.weight for part in maps]), torch.cat(biases) if biases else None
        return functional.linear(x, *self.joined[layer]).split([part.out_features for part in maps], dim=-1)

    def select(self, rows: Tensor) -> None:
        """Keep the sequences numbered ``rows`` of the batch, in this order: what a beam search goes on with."""
        for part in (self.layers, self.memory):
            for layer, (keys, values) in part.items():
                part[layer] = keys[rows], values[rows]
