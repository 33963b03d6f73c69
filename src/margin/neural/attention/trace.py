"""Every stage of an attention layer with its values, from a real forward pass."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from margin.neural.attention.decoder import MultiHeadAttention, join_heads
from margin.neural.attention.dot_product import attention_scores, masked_softmax
from margin.neural.attention.masks import causal_mask

__all__ = ["AttentionStage", "trace"]


class AttentionStage(NamedTuple):
    """One box of the diagram: what it is called and what comes out of it."""

    name: str
    values: Tensor

    @property
    def text(self) -> str:
        return f"{self.name}: {'x'.join(map(str, self.values.shape))}"


def trace(layer: MultiHeadAttention, x: Tensor, *, causal: bool = False) -> list[AttentionStage]:
    """Linear, product, scale, mask, softmax, product, concatenation, linear: in the order in which they run.

    >>> for stage in trace(MultiHeadAttention(8, 2), torch.zeros(1, 5, 8)):
    ...     print(stage.text)
    Q: 1x2x5x4
    K: 1x2x5x4
    V: 1x2x5x4
    QK': 1x2x5x5
    scaled: 1x2x5x5
    softmax: 1x2x5x5
    heads: 1x2x5x4
    concatenated: 1x5x8
    output: 1x5x8
    """
    with torch.no_grad():
        q, k, v = layer.projections(x)
        product, scaled = attention_scores(q, k, scale=1.0), attention_scores(q, k)
        past = causal_mask(x.shape[-2]) if causal else None
        weights = masked_softmax(scaled, past)
        heads = weights @ v
        joined = join_heads(heads)
        stages = {"Q": q, "K": k, "V": v, "QK'": product, "scaled": scaled}
        if past is not None:
            stages["masked"] = scaled.masked_fill(~past, -torch.inf)
        stages |= {"softmax": weights, "heads": heads, "concatenated": joined, "output": layer.out(joined)}
    return [AttentionStage(name, values) for name, values in stages.items()]
