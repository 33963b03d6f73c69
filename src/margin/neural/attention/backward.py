r"""Back-propagation through a transformer block, written out by hand.

Besides linear layers, activations and norms it takes two derivatives more: that of the softmax,
:math:`\bar s = A \odot (\bar A - \mathrm{rowsum}(\bar A \odot A))`, and those of products in which both factors depend
on the input, :math:`QK^\top` and :math:`AV`. A bar is the gradient of the loss with respect to what stands under it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from margin.neural.activations.slopes import gelu_slope
from margin.neural.attention.decoder import FeedForward, MultiHeadAttention, TransformerBlock, join_heads, split_heads
from margin.neural.attention.dot_product import attention

__all__ = [
    "AttentionGradients",
    "attention_backward",
    "block_backward",
    "layer_norm_backward",
    "linear_backward",
    "softmax_backward",
]

Gradients = dict[str, Tensor]


class AttentionGradients(NamedTuple):
    """Gradients with respect to queries, keys and values."""

    queries: Tensor
    keys: Tensor
    values: Tensor


def softmax_backward(weights: Tensor, gradient: Tensor) -> Tensor:
    r""":math:`(\mathrm{diag}(a) - aa^\top)\,\bar a = a \odot (\bar a - a^\top\bar a)` along the last axis."""
    return weights * (gradient - (gradient * weights).sum(dim=-1, keepdim=True))


def attention_backward(q: Tensor, k: Tensor, v: Tensor, weights: Tensor, gradient: Tensor) -> AttentionGradients:
    r"""Through :math:`AV` and :math:`A = \mathrm{softmax}(QK^\top/\sqrt d)` with the ``weights`` of the forward pass.

    .. math:: \bar V = A^\top\bar O, \quad \bar A = \bar O V^\top, \quad \bar Q = \bar S K/\sqrt d, \quad
              \bar K = \bar S^\top Q/\sqrt d
    """
    scores = softmax_backward(weights, gradient @ v.transpose(-2, -1)) / q.shape[-1] ** 0.5
    return AttentionGradients(scores @ k, scores.transpose(-2, -1) @ q, weights.transpose(-2, -1) @ gradient)


def linear_backward(layer: nn.Linear, x: Tensor, gradient: Tensor, name: str, gradients: Gradients) -> Tensor:
    r"""Into ``found``: :math:`\bar W = \sum \bar y x^\top,\; \bar b = \sum \bar y`; returned: :math:`W^\top\bar y`."""
    gradients[f"{name}.weight"] = gradient.flatten(0, -2).T @ x.flatten(0, -2)
    if layer.bias is not None:
        gradients[f"{name}.bias"] = gradient.flatten(0, -2).sum(dim=0)
    return gradient @ layer.weight


def layer_norm_backward(layer: nn.LayerNorm, x: Tensor, gradient: Tensor, name: str, gradients: Gradients) -> Tensor:
    r""":math:`\bar x = \frac1\sigma\left(g - \mathrm{mean}(g) - z\,\mathrm{mean}(g \odot z)\right)`.

    :math:`g = \gamma\bar y`, and z are the standardized entries: the two means undo what mean and deviation take away.
    """
    center = x.mean(dim=-1, keepdim=True)
    deviation = (x.var(dim=-1, keepdim=True, correction=0) + layer.eps).sqrt()
    z = (x - center) / deviation
    gradients[f"{name}.weight"] = (gradient * z).flatten(0, -2).sum(dim=0)
    gradients[f"{name}.bias"] = gradient.flatten(0, -2).sum(dim=0)
    g = gradient * layer.weight
    return (g - g.mean(dim=-1, keepdim=True) - z * (g * z).mean(dim=-1, keepdim=True)) / deviation


def block_backward(block: TransformerBlock, x: Tensor, gradient: Tensor) -> tuple[Tensor, Gradients]:
    """The gradient with respect to the input (batch, n, d) and to every parameter, by name.

    ``gradient`` is that of the loss with respect to the output. The block has its norms first, layer normalization,
    a plain feed-forward part with GELU, no dropout and no grouped queries.
    """
    config = block.config
    if not config.norm_first or config.norm != "layer" or config.feed_forward != "mlp" or config.activation != "gelu":
        raise ValueError("block_backward: the block must have layer norms first and a feed-forward part with gelu.")
    gradients: Gradients = {}
    with torch.no_grad():
        h = x + block.attention(block.attention_norm(x), causal=block.causal)
        at_h = gradient + _feed_backward(block, h, gradient, gradients)
        at_x = at_h + _attention_backward(block, x, at_h, gradients)
    return at_x, gradients


def _feed_backward(block: TransformerBlock, h: Tensor, gradient: Tensor, gradients: Gradients) -> Tensor:
    feed, norm = block.feed, block.feed_norm
    assert isinstance(feed, FeedForward)
    assert isinstance(norm, nn.LayerNorm)
    z = norm(h)
    before = feed.up(z)
    after = linear_backward(feed.down, feed.activation(before), gradient, "feed.down", gradients)
    at_z = linear_backward(feed.up, z, after * gelu_slope(before), "feed.up", gradients)
    return layer_norm_backward(norm, h, at_z, "feed_norm", gradients)


def _attention_backward(block: TransformerBlock, x: Tensor, gradient: Tensor, gradients: Gradients) -> Tensor:
    layer, norm = block.attention, block.attention_norm
    assert isinstance(layer, MultiHeadAttention)
    assert isinstance(norm, nn.LayerNorm)
    z = norm(x)
    q, k, v = layer.projections(z)
    mixed, weights = attention(q, k, v, causal=block.causal)
    at_mixed = linear_backward(layer.out, join_heads(mixed), gradient, "attention.out", gradients)
    parts = attention_backward(q, k, v, weights, split_heads(at_mixed, layer.n_heads))
    at_z = torch.zeros_like(z)
    for name, part in zip(("query", "key", "value"), parts):
        at_z = at_z + linear_backward(getattr(layer, name), z, join_heads(part), f"attention.{name}", gradients)
    return layer_norm_backward(norm, x, at_z, "attention_norm", gradients)
