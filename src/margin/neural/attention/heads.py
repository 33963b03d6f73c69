r"""Multi-head attention: several attentions side by side, each in a space of its own.

.. math:: \mathrm{head}_i = \mathrm{attention}(XW_i^Q,\; CW_i^K,\; CW_i^V), \qquad
          \mathrm{concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\,W^O

with scale :math:`1/\sqrt{d/h}`. C is X itself, or a second sequence in cross-attention.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.neural.attention.cache import KeyValueCache
from margin.neural.attention.dot_product import Attended, Projections, attention
from margin.neural.attention.masks import causal_mask, window_mask
from margin.neural.attention.rotary import rotary, rotary_angles
from margin.neural.normalization.layers import RMSNorm

__all__ = ["MultiHeadAttention", "join_heads", "repeat_groups", "split_heads"]


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """(..., n, d) to (..., heads, n, d / heads)."""
    if x.shape[-1] % n_heads:
        raise ValueError(f"split_heads: n_heads must divide the width {x.shape[-1]}; got {n_heads}.")
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


def join_heads(x: Tensor) -> Tensor:
    """(..., heads, n, d / heads) to (..., n, d): heads concatenated along the features."""
    return x.transpose(-3, -2).flatten(-2)


def repeat_groups(x: Tensor, n_heads: int) -> Tensor:
    """Grouped queries: each of fewer key-value heads (..., groups, n, d) serves ``n_heads / groups`` query heads."""
    groups = x.shape[-3]
    return x if groups == n_heads else x.repeat_interleave(n_heads // groups, dim=-3)


class MultiHeadAttention(nn.Module):
    r"""Projections to queries, keys and values, attention in every head, and a projection back.

    :math:`4d^2` weights (and 4d biases) whatever the number of heads. ``n_kv_heads`` below ``n_heads`` lets groups of
    query heads share keys and values; ``qk_norm`` brings queries and keys to root mean square 1 with a learned scale;
    ``rotary_base`` turns them by their positions; ``window`` hides keys that far away.

    >>> import torch
    >>> layer = MultiHeadAttention(64, 8)
    >>> output, weights = layer.attend(torch.zeros(2, 5, 64))
    >>> output.shape, weights.shape
    (torch.Size([2, 5, 64]), torch.Size([2, 8, 5, 5]))
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        bias: bool = True,
        qk_norm: bool = False,
        rotary_base: float | None = None,
        window: int | None = None,
    ):
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"MultiHeadAttention: n_heads must divide d_model {d_model}; got {n_heads}.")
        if n_kv_heads < 1 or n_heads % n_kv_heads:
            raise ValueError(f"MultiHeadAttention: n_kv_heads must divide n_heads {n_heads}; got {n_kv_heads}.")
        d_head = d_model // n_heads
        if rotary_base is not None and d_head % 2:
            raise ValueError(f"MultiHeadAttention: rotary positions need an even head width; got {d_head}.")
        self.n_heads, self.n_kv_heads, self.d_head = n_heads, n_kv_heads, d_head
        self.rotary_base, self.window = rotary_base, window
        self.query = nn.Linear(d_model, d_model, bias=bias)
        self.key = nn.Linear(d_model, n_kv_heads * d_head, bias=bias)
        self.value = nn.Linear(d_model, n_kv_heads * d_head, bias=bias)
        self.out = nn.Linear(d_model, d_model, bias=bias)
        self.query_norm = RMSNorm(d_head) if qk_norm else None
        self.key_norm = RMSNorm(d_head) if qk_norm else None

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        *,
        causal: bool = False,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        cache: KeyValueCache | None = None,
        layer: int = 0,
    ) -> Tensor:
        """``x`` (batch, n, d) after looking at itself or at ``context`` (batch, m, d); torch's kernel."""
        q, k, v = self.projections(x, context, cache, layer)
        simple = causal and mask is None and bias is None and self.window is None and q.shape[-2] == k.shape[-2]
        visible = None if simple else self._visible(q, k, causal, mask)
        if bias is not None:
            visible = bias.to(q) if visible is None else bias.to(q).masked_fill(~visible, -math.inf)
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=visible, is_causal=simple)
        out: Tensor = self.out(join_heads(mixed))
        return out

    def attend(
        self,
        x: Tensor,
        context: Tensor | None = None,
        *,
        causal: bool = False,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Attended:
        """The same by the equation, with the weights of every head, (batch, heads, n, m)."""
        q, k, v = self.projections(x, context)
        mixed, weights = attention(q, k, v, mask=self._visible(q, k, causal, mask), bias=bias)
        return Attended(self.out(join_heads(mixed)), weights)

    def projections(
        self, x: Tensor, context: Tensor | None = None, cache: KeyValueCache | None = None, layer: int = 0
    ) -> Projections:
        """Queries, keys and values by head, (batch, heads, n, d_head); with a cache also those of earlier tokens."""
        if context is not None and cache is not None and layer in cache.memory:
            q, (k, v) = self._by_head(self.query(x), self.query_norm), cache.memory[layer]
        else:
            q, k, v = self._project(x, context, cache, layer)
            if context is not None and cache is not None:
                cache.memory[layer] = k, v
        if self.rotary_base is not None and context is None:
            start = 0 if cache is None else cache.length(layer)
            angles = rotary_angles(q.shape[-2], q.shape[-1], start=start, base=self.rotary_base)
            q, k = rotary(q, angles), rotary(k, angles)
        if cache is not None and context is None:
            k, v = cache.extend(layer, k, v)
        return Projections(q, repeat_groups(k, self.n_heads), repeat_groups(v, self.n_heads))

    def _project(
        self, x: Tensor, context: Tensor | None, cache: KeyValueCache | None, layer: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of ``x`` and keys and values of ``x`` or ``context``, by head."""
        if context is None and cache is not None and torch.is_inference_mode_enabled():
            if layer not in cache.joined:
                cache.joined[layer] = self._joined_projections()
            sizes = (self.n_heads * self.d_head, *[self.n_kv_heads * self.d_head] * 2)
            query, key, value = functional.linear(x, *cache.joined[layer]).split(sizes, dim=-1)
        else:
            source = x if context is None else context
            query, key, value = self.query(x), self.key(source), self.value(source)
        return (
            self._by_head(query, self.query_norm),
            self._by_head(key, self.key_norm),
            split_heads(value, self.n_kv_heads),
        )

    def _joined_projections(self) -> tuple[Tensor, Tensor | None]:
        """The three matrices and biases as one: with a token at a time calls cost more than products."""
        parts = (self.query, self.key, self.value)
        biases: list[Tensor] = [part.bias for part in parts if part.bias is not None]
        weights: list[Tensor] = [part.weight for part in parts]
        return torch.cat(weights), torch.cat(biases) if biases else None

    def _by_head(self, x: Tensor, norm: nn.Module | None) -> Tensor:
        """(batch, n, d) to (batch, heads, n, d_head), normalized while the tokens of a head lie in order."""
        parts = x.unflatten(-1, (-1, self.d_head))
        return (parts if norm is None else norm(parts)).transpose(-3, -2)

    def _visible(self, q: Tensor, k: Tensor, causal: bool, mask: Tensor | None) -> Tensor | None:
        """All masks combined into one, or None where every query sees every key."""
        n, m = q.shape[-2], k.shape[-2]
        if self.window is not None:
            near = window_mask(n, self.window, m, causal=causal, device=q.device)
            return near if mask is None else near & mask
        if causal and n > 1:
            past = causal_mask(n, m, q.device)
            return past if mask is None else past & mask
        return mask
