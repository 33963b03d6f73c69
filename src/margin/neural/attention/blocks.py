r"""The transformer block: tokens look at each other, then each is changed by itself, both added to what was there.

.. math:: h = x + \mathrm{attention}(\mathrm{norm}(x)), \qquad y = h + \mathrm{mlp}(\mathrm{norm}(h))

or, with the norms after the sums, :math:`h = \mathrm{norm}(x + \mathrm{attention}(x))`, and so on.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from margin.neural.attention.cache import KeyValueCache
from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.feed_forward import feed_forward
from margin.neural.attention.heads import MultiHeadAttention
from margin.neural.attention.relative import RelativeBias, alibi_bias
from margin.neural.layers.dropout import Dropout
from margin.neural.normalization.layers import LayerNorm, RMSNorm

__all__ = ["TransformerBlock", "norm_layer"]


def norm_layer(config: TransformerConfig) -> nn.Module:
    """Layer or root mean square normalization of a token, by its name in the configuration."""
    if config.norm == "rms":
        return RMSNorm(config.d_model, eps=config.norm_eps)
    return LayerNorm(config.d_model, eps=config.norm_eps)


class TransformerBlock(nn.Module):
    """Attention, with ``cross`` also to a second sequence, and a feed-forward part; the shape (batch, n, d) stays.

    >>> import torch
    >>> block = TransformerBlock(TransformerConfig(d_model=16, n_heads=4), causal=True)
    >>> block(torch.zeros(2, 5, 16)).shape
    torch.Size([2, 5, 16])
    """

    def __init__(self, config: TransformerConfig, *, causal: bool = False, cross: bool = False, layer: int = 0):
        super().__init__()
        self.config, self.causal, self.layer = config, causal, layer
        rotary_base = config.rope_base if config.position == "rope" else None
        self.attention_norm = norm_layer(config)
        self.attention = self._heads(rotary_base, config.window)
        relative = config.position == "relative"
        self.relative = RelativeBias(config.n_heads, config.context) if relative else None
        self.cross_norm = norm_layer(config) if cross else None
        self.cross = self._heads() if cross else None
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
        def look(h: Tensor) -> Tensor:
            bias = self.position_bias(h.shape[-2], cache, h)
            out: Tensor = self.attention(h, causal=self.causal, mask=mask, bias=bias, cache=cache, layer=self.layer)
            return out

        def look_at_memory(h: Tensor) -> Tensor:
            if self.cross is None or memory is None:
                raise ValueError("TransformerBlock: cross-attention needs a memory; got None.")
            out: Tensor = self.cross(h, memory, mask=memory_mask, cache=cache, layer=self.layer)
            return out

        x = self._residual(x, self.attention_norm, look)
        if self.cross_norm is not None:
            x = self._residual(x, self.cross_norm, look_at_memory)
        return self._residual(x, self.feed_norm, self.feed)

    def position_bias(self, n: int, cache: KeyValueCache | None, like: Tensor) -> Tensor | None:
        """What positions add to the scores, (heads, n, keys); None where they act elsewhere."""
        n_keys = n + (0 if cache is None else cache.length(self.layer))
        if self.relative is not None:
            bias: Tensor = self.relative(n, n_keys)
            return bias
        if self.config.position == "alibi":
            return alibi_bias(self.config.n_heads, n, n_keys, like.device).to(like)
        return None

    def _heads(self, rotary_base: float | None = None, window: int | None = None) -> MultiHeadAttention:
        config = self.config
        return MultiHeadAttention(
            config.d_model,
            config.n_heads,
            n_kv_heads=config.n_kv_heads,
            bias=config.bias,
            qk_norm=config.qk_norm,
            rotary_base=rotary_base,
            window=window,
        )

    def _residual(self, x: Tensor, norm: nn.Module, part: Callable[[Tensor], Tensor]) -> Tensor:
        added = part(norm(x)) if self.config.norm_first else part(x)
        if self.training:
            added = self.dropout(added)
        out: Tensor = x + added if self.config.norm_first else norm(x + added)
        return out
