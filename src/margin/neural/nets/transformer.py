r"""Transformers: encoder, decoder, and both joined; stacks of the blocks of :mod:`margin.neural.attention`.

tokens -> embedding (+ positions) -> blocks -> norm -> scores over the vocabulary.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from margin.neural.attention.blocks import TransformerBlock, norm_layer
from margin.neural.attention.cache import KeyValueCache
from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.feed_forward import MixtureOfExperts, load_balancing_loss
from margin.neural.attention.positions import LearnedPositions, SinusoidalPositions
from margin.neural.layers.dropout import Dropout

__all__ = [
    "DecoderTransformer",
    "EncoderDecoderTransformer",
    "EncoderTransformer",
    "TokenEmbedding",
    "TransformerStack",
    "balance",
    "initialize_transformer",
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
        return nn.functional.linear(h, weight)

    def attention_maps(self, ids: Tensor) -> list[Tensor]:
        """The weights of every block and head, (batch, heads, n, n) each."""
        return self.stack.attention_maps(self.embedding(ids))


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


def initialize_transformer(module: nn.Module, config: TransformerConfig) -> None:
    r"""Normal weights of deviation ``init_std``, :math:`1/\sqrt{2L}` of it where a block adds to its input, biases 0.

    With 0.02 that is GPT-2's.

    With ``zero_init`` the matrices that end a branch are 0, so that every block starts as the identity.
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


def balance(module: nn.Module) -> Tensor | float:
    """The mean load-balancing loss of all mixtures of experts in their last pass; 0 without any."""
    layers = [layer for layer in module.modules() if isinstance(layer, MixtureOfExperts) and layer.routes is not None]
    losses = [load_balancing_loss(layer.routes) for layer in layers if layer.routes is not None]
    return torch.stack(losses).mean() if losses else 0.0
