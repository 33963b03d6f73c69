r"""A decoder from top to bottom: embedding, attention, feed-forward part, block, stack, scores of the next token.

.. math:: x_0 = E_{t} + P, \qquad h = x + \mathrm{attention}(\mathrm{norm}(x)), \qquad
          x' = h + \mathrm{mlp}(\mathrm{norm}(h)), \qquad \text{scores} = \mathrm{norm}(x_L)\,E^\top

GPT-2 stands here as it is. Whatever else a block can do is an option of :class:`TransformerConfig`, which says why one
would want it, and its equation is a function of its own: ``rotary``, ``relative`` (biases of the scores),
``positions``, ``feed_forward`` (gates and experts), ``cache`` (keys and values of tokens already read), ``masks``.
Encoders and the encoder-decoder of :mod:`margin.neural.nets.transformer` are made of the same block; ``backward`` has
its gradient by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.neural.activations.table import activation_layer
from margin.neural.attention.cache import KeyValueCache
from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.dot_product import Attended, Projections, attention
from margin.neural.attention.feed_forward import MixtureOfExperts, SwiGLU
from margin.neural.attention.masks import causal_mask, window_mask
from margin.neural.attention.positions import LearnedPositions, SinusoidalPositions
from margin.neural.attention.relative import RelativeBias, alibi_bias
from margin.neural.attention.rotary import rotary, rotary_angles
from margin.neural.layers.dropout import Dropout
from margin.neural.normalization.layers import LayerNorm, RMSNorm

__all__ = [
    "DecoderTransformer",
    "FeedForward",
    "MultiHeadAttention",
    "TokenEmbedding",
    "TransformerBlock",
    "TransformerStack",
    "initialize_transformer",
    "join_heads",
    "norm_layer",
    "repeat_groups",
    "split_heads",
]


class TokenEmbedding(nn.Module):
    """A vector for every token, plus one for its position where positions are added.

    The first transformer multiplies embeddings by the root of their width, so that fixed sinusoids do not drown them;
    so is it done here where positions are sinusoidal.
    """

    def __init__(self, vocabulary: int, config: TransformerConfig):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, config.d_model)
        self.positions: nn.Module | None = None
        self.scale = 1.0
        if config.position == "learned":
            self.positions = LearnedPositions(config.context, config.d_model)
        elif config.position == "sinusoidal":
            self.positions, self.scale = SinusoidalPositions(config.d_model), math.sqrt(config.d_model)
        self.dropout = Dropout(config.dropout)

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        x = self.tokens(ids) * self.scale
        if self.positions is not None:
            x = x + self.positions(ids.shape[-1], start, x)
        out: Tensor = self.dropout(x)
        return out


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
    r"""Several attentions side by side, each in a space of its own, and a projection back; C is X or a second sequence.

    .. math:: \mathrm{head}_i = \mathrm{attention}(XW_i^Q,\; CW_i^K,\; CW_i^V), \qquad
              \mathrm{concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\,W^O

    :math:`4d^2` weights (and 4d biases) whatever the number of heads; the scale is :math:`1/\sqrt{d/h}`.

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
        if context is not None:  # a second sequence, which never grows
            q = self._by_head(self.query(x), self.query_norm)
            k, v = self._looked_at(context) if cache is None else cache.remember(layer, context, self._looked_at)
        else:
            if cache is not None and torch.is_inference_mode_enabled():
                query, key, value = cache.project(layer, x, (self.query, self.key, self.value))
            else:
                query, key, value = self.query(x), self.key(x), self.value(x)
            q, k = self._by_head(query, self.query_norm), self._by_head(key, self.key_norm)
            v = split_heads(value, self.n_kv_heads)
            if self.rotary_base is not None:
                start = 0 if cache is None else cache.length(layer)
                angles = rotary_angles(q.shape[-2], q.shape[-1], start=start, base=self.rotary_base)
                q, k = rotary(q, angles), rotary(k, angles)
            if cache is not None:
                k, v = cache.extend(layer, k, v)
        return Projections(q, repeat_groups(k, self.n_heads), repeat_groups(v, self.n_heads))

    def _looked_at(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of a second sequence."""
        key, value = self.key(context), self.value(context)
        return self._by_head(key, self.key_norm), split_heads(value, self.n_kv_heads)

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


class FeedForward(nn.Module):
    r""":math:`W_2\,\sigma(W_1 x + b_1) + b_2`, the same for every token."""

    def __init__(self, d_model: int, hidden: int, activation: str = "gelu", bias: bool = True):
        super().__init__()
        self.up, self.down = nn.Linear(d_model, hidden, bias=bias), nn.Linear(hidden, d_model, bias=bias)
        self.activation = activation_layer(activation)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down(self.activation(self.up(x)))
        return out


class TransformerBlock(nn.Module):
    """Tokens look at each other, then each is changed by itself, both added to what was there: (batch, n, d) stays.

    With ``cross`` they also look at a second sequence.

    >>> block = TransformerBlock(TransformerConfig(d_model=16, n_heads=4), causal=True)
    >>> block(torch.zeros(2, 5, 16)).shape
    torch.Size([2, 5, 16])
    """

    def __init__(self, config: TransformerConfig, *, causal: bool = False, cross: bool = False, layer: int = 0):
        super().__init__()
        self.config, self.causal, self.layer = config, causal, layer
        self.attention_norm, self.attention = norm_layer(config), attention_layer(config)
        self.relative = RelativeBias(config.n_heads, config.context) if config.position == "relative" else None
        self.cross_norm = norm_layer(config) if cross else None
        self.cross = attention_layer(config, to_memory=True) if cross else None
        self.feed_norm, self.feed = norm_layer(config), feed_forward(config)
        self.dropout = Dropout(config.dropout)

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        bias, layer = self.position_bias(x.shape[-2], cache, x), self.layer

        def look(h: Tensor) -> Tensor:
            out: Tensor = self.attention(h, causal=self.causal, mask=mask, bias=bias, cache=cache, layer=layer)
            return out

        def look_at_memory(h: Tensor) -> Tensor:
            if self.cross is None or memory is None:
                raise ValueError("TransformerBlock: cross-attention needs a memory; got None.")
            out: Tensor = self.cross(h, memory, mask=memory_mask, cache=cache, layer=layer)
            return out

        x = self._residual(x, self.attention_norm, look)
        if self.cross_norm is not None:
            x = self._residual(x, self.cross_norm, look_at_memory)
        return self._residual(x, self.feed_norm, self.feed)

    def _residual(self, x: Tensor, norm: nn.Module, part: Callable[[Tensor], Tensor]) -> Tensor:
        added = part(norm(x)) if self.config.norm_first else part(x)
        if self.training:
            added = self.dropout(added)
        out: Tensor = x + added if self.config.norm_first else norm(x + added)
        return out

    def position_bias(self, n: int, cache: KeyValueCache | None, like: Tensor) -> Tensor | None:
        """What positions add to the scores, (heads, n, keys); None where they act elsewhere."""
        n_keys = n + (0 if cache is None else cache.length(self.layer))
        if self.relative is not None:
            bias: Tensor = self.relative(n, n_keys)
            return bias
        if self.config.position == "alibi":
            return alibi_bias(self.config.n_heads, n, n_keys, like.device).to(like)
        return None


def norm_layer(config: TransformerConfig) -> nn.Module:
    """The normalization of a token that a configuration names."""
    return (RMSNorm if config.norm == "rms" else LayerNorm)(config.d_model, eps=config.norm_eps)


def attention_layer(config: TransformerConfig, *, to_memory: bool = False) -> MultiHeadAttention:
    """The heads that a configuration names; those that look at a memory know no positions and no window."""
    return MultiHeadAttention(
        config.d_model,
        config.n_heads,
        n_kv_heads=config.n_kv_heads,
        bias=config.bias,
        qk_norm=config.qk_norm,
        rotary_base=config.rope_base if config.position == "rope" and not to_memory else None,
        window=None if to_memory else config.window,
    )


def feed_forward(config: TransformerConfig) -> nn.Module:
    """The part for each token that a configuration names."""
    if config.feed_forward == "experts":
        return MixtureOfExperts(config.d_model, config.hidden, config.n_experts, config.top_k)
    if config.feed_forward == "swiglu":
        return SwiGLU(config.d_model, config.hidden, config.bias)
    return FeedForward(config.d_model, config.hidden, config.activation, config.bias)


class TransformerStack(nn.Module):
    """Blocks one after another; with norms first, one more norm at the end."""

    def __init__(self, config: TransformerConfig, *, causal: bool = False, cross: bool = False):
        super().__init__()
        self.blocks = nn.ModuleList(
            TransformerBlock(config, causal=causal, cross=cross, layer=layer) for layer in range(config.n_blocks)
        )
        self.norm = norm_layer(config) if config.norm_first else None

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        for block in self.blocks:
            x = block(x, mask=mask, memory=memory, memory_mask=memory_mask, cache=cache)
        return x if self.norm is None else self.norm(x)

    def attention_maps(self, x: Tensor, mask: Tensor | None = None) -> list[Tensor]:
        """The weights of every block and head, (batch, heads, n, n) each, by the equation."""
        maps = []
        for block in self.blocks:
            assert isinstance(block, TransformerBlock)
            h = block.attention_norm(x) if block.config.norm_first else x
            bias = block.position_bias(x.shape[-2], None, x)
            maps.append(block.attention.attend(h, causal=block.causal, mask=mask, bias=bias).weights)
            x = block(x, mask=mask)
        return maps


class DecoderTransformer(nn.Module):
    """Scores of the next token at every position, each from the tokens up to it.

    ``tied``: the matrix that embeds tokens also scores them, :math:`XE^\\top`, and no other is stored.

    >>> model = DecoderTransformer(11, TransformerConfig(d_model=16, n_heads=2, n_blocks=2, context=8))
    >>> model(torch.zeros(3, 8, dtype=torch.int64)).shape
    torch.Size([3, 8, 11])
    """

    def __init__(self, vocabulary: int, config: TransformerConfig, *, tied: bool = True):
        super().__init__()
        self.config, self.tied = config, tied
        self.embedding = TokenEmbedding(vocabulary, config)
        self.stack = TransformerStack(config, causal=True)
        self.head = None if tied else nn.Linear(config.d_model, vocabulary, bias=False)
        initialize_transformer(self, config)

    def forward(self, ids: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        """(batch, n) tokens to (batch, n, vocabulary) scores; with a cache, of the new tokens alone."""
        start = 0 if cache is None else cache.length()
        h = self.stack(self.embedding(ids, start), cache=cache)
        weight = self.embedding.tokens.weight if self.head is None else self.head.weight
        return functional.linear(h, weight)

    def attention_maps(self, ids: Tensor) -> list[Tensor]:
        """The weights of every block and head, (batch, heads, n, n) each."""
        return self.stack.attention_maps(self.embedding(ids))


def initialize_transformer(module: nn.Module, config: TransformerConfig) -> None:
    r"""Normal weights of deviation ``init_std``, :math:`1/\sqrt{2L}` of it where a block adds to its input, biases 0.

    With 0.02 that is GPT-2's. With ``zero_init`` the matrices that end a branch are 0, so that every block starts as
    the identity.
    """
    ends = ("attention.out.weight", "cross.out.weight", "down.weight")
    for name, parameter in module.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif name.endswith(ends):
            shrink = 0.0 if config.zero_init else 1 / math.sqrt(2 * config.n_blocks)
            nn.init.normal_(parameter, std=config.init_std * shrink)
        elif parameter.ndim > 1 and not name.endswith("table"):
            nn.init.normal_(parameter, std=config.init_std)
