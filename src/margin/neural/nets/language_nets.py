"""GPT-2, GPT-3 and BERT at the sizes of their papers, and small relatives for real training here."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.neural.activations.table import activation_layer
from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.decoder import DecoderTransformer, TokenEmbedding, TransformerStack, initialize_transformer
from margin.neural.normalization.layers import LayerNorm
from margin.neural.weights import count_parameters

__all__ = [
    "BERT",
    "BERT_BASE",
    "GPT2_SMALL",
    "GPT2_VOCABULARY",
    "GPT3",
    "BertScores",
    "bert_base",
    "component_counts",
    "decoder_parameters",
    "gpt2_small",
    "gpt_oss_style",
]

GPT2_VOCABULARY = 50_257  # 256 bytes, 50,000 merges and the end of a text
BERT_VOCABULARY = 30_522
GPT2_SMALL = TransformerConfig(d_model=768, n_heads=12, n_blocks=12, context=1024, activation="gelu_tanh", dropout=0.1)
GPT3 = TransformerConfig(d_model=12_288, n_heads=96, n_blocks=96, context=2048, activation="gelu_tanh")
BERT_BASE = TransformerConfig(
    d_model=768, n_heads=12, n_blocks=12, context=512, norm_first=False, norm_eps=1e-12, dropout=0.1
)


def gpt2_small(*, vocabulary: int = GPT2_VOCABULARY, tied: bool = True, device: str = "meta") -> DecoderTransformer:
    """GPT-2 with 124,439,808 parameters; on the meta device it costs neither memory nor time.

    >>> count_parameters(gpt2_small())
    124439808
    """
    with torch.device(device):
        return DecoderTransformer(vocabulary, GPT2_SMALL, tied=tied)


def gpt_oss_style(vocabulary: int, d_model: int, n_heads: int, n_blocks: int, **options: int) -> DecoderTransformer:
    """RMS norm, rotary positions, grouped queries and a mixture of gated experts: gpt-oss at any scale."""
    config = TransformerConfig(
        d_model=d_model,
        n_heads=n_heads,
        n_blocks=n_blocks,
        norm="rms",
        position="rope",
        feed_forward="experts",
        n_kv_heads=max(1, n_heads // 2),
        **options,  # type: ignore[arg-type]
    )
    return DecoderTransformer(vocabulary, config, tied=False)


def component_counts(model: DecoderTransformer) -> dict[str, int]:
    """Numbers in each kind of matrix over all blocks, then biases and norms, then the total.

    >>> counts = component_counts(gpt2_small(vocabulary=50_257))
    >>> counts["embedding"], counts["positions"], counts["query"], counts["up"]
    (38597376, 786432, 7077888, 28311552)
    """
    groups = {
        "embedding": "tokens.weight",
        "positions": "positions.weight",
        "query": "query.weight",
        "key": "key.weight",
        "value": "value.weight",
        "out": "attention.out.weight",
        "up": "up.weight",
        "down": "down.weight",
        "head": "head.weight",
    }
    counts = dict.fromkeys([*groups, "biases and norms"], 0)
    for name, parameter in model.named_parameters():
        kind = next((kind for kind, ending in groups.items() if name.endswith(ending)), "biases and norms")
        counts[kind] += parameter.numel()
    return counts | {"total": count_parameters(model)}


def decoder_parameters(vocabulary: int, config: TransformerConfig) -> int:
    r"""Counted by the formula :math:`(V + n)d + L(4d^2 + 2d\,d_{ff} + 9d + d_{ff}) + 2d` for GPT-2's kind of decoder.

    >>> decoder_parameters(GPT2_VOCABULARY, GPT2_SMALL), round(decoder_parameters(GPT2_VOCABULARY, GPT3) / 1e9, 1)
    (124439808, 174.6)
    """
    d, hidden = config.d_model, config.hidden
    block = 4 * d**2 + 2 * d * hidden + 9 * d + hidden
    return (vocabulary + config.context) * d + config.n_blocks * block + 2 * d


class BertScores(NamedTuple):
    """Scores of every token at every position, (batch, n, vocabulary), and of "next" and "not next", (batch, 2).

    None of a head that the network has not.
    """

    tokens: Tensor | None
    next_sentence: Tensor | None


class BERT(nn.Module):
    """An encoder with embeddings of segments, a pooled first token, and the two heads of its pre-training.

    Networks of others have parts of it: ``n_segments`` 0 adds no segments (DistilBERT), and without ``pooler``,
    ``masked_head`` or ``next_sentence`` that part and its scores are missing. ``model_type`` is whose files it has.

    >>> model = BERT(20, TransformerConfig(d_model=16, n_heads=2, n_blocks=1, context=8, norm_first=False))
    >>> tokens, following = model(torch.zeros(3, 8, dtype=torch.int64))
    >>> tokens.shape, following.shape
    (torch.Size([3, 8, 20]), torch.Size([3, 2]))
    """

    def __init__(
        self,
        vocabulary: int,
        config: TransformerConfig,
        n_segments: int = 2,
        *,
        pooler: bool = True,
        masked_head: bool = True,
        next_sentence: bool = True,
        model_type: str = "bert",
    ):
        super().__init__()
        d = config.d_model
        self.config, self.model_type = config, model_type
        self.embedding = TokenEmbedding(vocabulary, config)
        self.segments = nn.Embedding(n_segments, d) if n_segments else None
        self.embedding_norm = LayerNorm(d, eps=config.norm_eps)
        self.stack = TransformerStack(config)
        self.pooler = nn.Linear(d, d) if pooler else None
        self.transform = nn.Linear(d, d) if masked_head else None
        self.transform_norm = LayerNorm(d, eps=config.norm_eps) if masked_head else None
        # RoBERTa's head has this function whatever its blocks have.
        self.activation = activation_layer("gelu" if model_type == "roberta" else config.activation)
        self.token_bias = nn.Parameter(torch.zeros(vocabulary)) if masked_head else None
        self.next_sentence = nn.Linear(d, 2) if next_sentence else None
        initialize_transformer(self, config)
        if self.segments is not None:
            nn.init.normal_(self.segments.weight, std=config.init_std)

    def states(self, ids: Tensor, segments: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """(batch, n) tokens to (batch, n, d) vectors."""
        x = self.embedding(ids)
        if self.segments is not None:
            x = x + self.segments(torch.zeros_like(ids) if segments is None else segments)
        out: Tensor = self.stack(self.embedding_norm(x), mask=mask)
        return out

    def pool(self, states: Tensor) -> Tensor:
        """What stands for the whole text: the first token through a layer with tanh, (batch, d)."""
        if self.pooler is None:
            raise ValueError("BERT: pooled needs a network with a pooler; this one was built without.")
        return torch.tanh(self.pooler(states[:, 0]))

    def next_scores(self, states: Tensor) -> Tensor:
        """Scores of the two answers, (batch, 2), from the pooled first token; the second is "next"."""
        if self.next_sentence is None:
            raise ValueError("BERT: next_scores needs a network with next_sentence; this one was built without.")
        out: Tensor = self.next_sentence(self.pool(states))
        return out

    def token_scores(self, states: Tensor) -> Tensor:
        """Scores over the vocabulary, with the matrix that embeds tokens."""
        if self.transform is None or self.transform_norm is None:
            raise ValueError("BERT: token_scores needs a network with a masked_head; this one was built without.")
        h = self.transform_norm(self.activation(self.transform(states)))
        return functional.linear(h, self.embedding.tokens.weight, self.token_bias)

    def forward(self, ids: Tensor, segments: Tensor | None = None, mask: Tensor | None = None) -> BertScores:
        states = self.states(ids, segments, mask)
        tokens = None if self.transform is None else self.token_scores(states)
        following = None if self.next_sentence is None else self.next_scores(states)
        return BertScores(tokens, following)


def bert_base(*, device: str = "meta") -> BERT:
    """BERT base: 109,482,240 parameters in encoder and pooler, 110,106,428 with the heads of pre-training.

    >>> count_parameters(bert_base())
    110106428
    """
    with torch.device(device):
        return BERT(BERT_VOCABULARY, BERT_BASE)
