r"""Transformers besides the decoder: an encoder, and both joined; made of the block of
:mod:`margin.neural.attention.decoder`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from margin.neural.attention.cache import KeyValueCache
from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.decoder import TokenEmbedding, TransformerBlock, TransformerStack, initialize_transformer
from margin.neural.attention.feed_forward import MixtureOfExperts, load_balancing_loss

__all__ = ["EncoderDecoderTransformer", "EncoderTransformer", "balance"]


class EncoderTransformer(nn.Module):
    """A vector for every token that depends on all tokens, (batch, n, d)."""

    def __init__(self, vocabulary: int, config: TransformerConfig):
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(vocabulary, config)
        self.stack = TransformerStack(config)
        initialize_transformer(self, config)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        out: Tensor = self.stack(self.embedding(ids), mask=mask)
        return out

    def attention_maps(self, ids: Tensor, mask: Tensor | None = None) -> list[Tensor]:
        """The weights of every block and head, (batch, heads, n, n) each."""
        return self.stack.attention_maps(self.embedding(ids), mask)


class EncoderDecoderTransformer(nn.Module):
    """One sequence from another: the decoder looks at its own past and, by cross-attention, at the encoded source."""

    tied = True

    def __init__(self, source_vocabulary: int, target_vocabulary: int, config: TransformerConfig):
        super().__init__()
        self.config = config
        self.source, self.target = (
            TokenEmbedding(source_vocabulary, config),
            TokenEmbedding(target_vocabulary, config),
        )
        self.encoder = TransformerStack(config)
        self.decoder = TransformerStack(config, causal=True, cross=True)
        initialize_transformer(self, config)

    def new_cache(self) -> KeyValueCache:
        return KeyValueCache()

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        """What the decoder looks at, (batch, n, d)."""
        out: Tensor = self.encoder(self.source(source), mask=mask)
        return out

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Scores of the token after each of ``target``; with a cache, after the new ones."""
        start = 0 if cache is None else cache.length()
        h = self.decoder(self.target(target, start), memory=memory, memory_mask=memory_mask, cache=cache)
        return nn.functional.linear(h, self.target.tokens.weight)

    def forward(self, source: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.decode(target, self.encode(source, mask), mask)

    def alignment(self, source: Tensor, target: Tensor, mask: Tensor | None = None) -> list[Tensor]:
        """The cross-attention of every decoder block, (batch, heads, target, source) each."""
        memory, x, maps = self.encode(source, mask), self.target(target), []
        for block in self.decoder.blocks:
            assert isinstance(block, TransformerBlock)
            assert block.cross is not None
            caught: list[Tensor] = []
            hook = block.cross.register_forward_pre_hook(lambda _, inputs, into=caught: into.append(inputs[0]))
            y = block(x, memory=memory, memory_mask=mask)
            hook.remove()
            maps.append(block.cross.attend(caught[0], memory, mask=mask).weights)
            x = y
        return maps


def balance(module: nn.Module) -> Tensor | float:
    """The mean load-balancing loss of all mixtures of experts in their last pass; 0 without any."""
    layers = [layer for layer in module.modules() if isinstance(layer, MixtureOfExperts) and layer.routes is not None]
    losses = [load_balancing_loss(layer.routes) for layer in layers if layer.routes is not None]
    return torch.stack(losses).mean() if losses else 0.0
