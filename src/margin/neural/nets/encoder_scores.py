r"""Scores from a pretrained encoder: of classes from its first token, or of tags from every token.

.. math:: W\,\sigma(W_1 h_1 + b_1) + b \qquad\text{or}\qquad W h_t + b

BERT's :math:`\sigma` is tanh, and :math:`W_1` its pooler; RoBERTa has layers of its own of this form, and DistilBERT
one with a rectifier.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from margin.neural.attention.config import TransformerConfig
from margin.neural.layers.dropout import Dropout
from margin.neural.nets.language_nets import BERT

__all__ = ["EncoderScores", "RaggedEncoderScores", "ragged_encoder"]


class EncoderScores(nn.Module):
    """Ids (N, T) to scores (N, n_outputs), or (N, T, n_outputs) with ``per_token``.

    >>> encoder = BERT(20, TransformerConfig(d_model=16, n_heads=2, norm_first=False), masked_head=False)
    >>> EncoderScores(encoder, 3)(torch.zeros(2, 5, dtype=torch.int64)).shape
    torch.Size([2, 3])
    """

    def __init__(self, encoder: BERT, n_outputs: int, *, per_token: bool = False):
        super().__init__()
        d = encoder.config.d_model
        self.encoder, self.per_token = encoder, per_token
        self.dense = None if per_token else nn.Linear(d, d)
        self.rectify = encoder.model_type == "distilbert"
        self.dropout = Dropout(encoder.config.dropout)
        self.head = nn.Linear(d, n_outputs)
        for layer in (self.dense, self.head):
            if layer is not None:
                nn.init.normal_(layer.weight, std=encoder.config.init_std)
                nn.init.zeros_(layer.bias)

    def forward(self, ids: Tensor, segments: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        h = self.encoder.states(ids, segments, mask)
        if self.dense is not None:
            first = self.dense(h[:, 0])
            h = torch.relu(first) if self.rectify else torch.tanh(first)
        out: Tensor = self.head(self.dropout(h))
        return out


class RaggedEncoderScores(EncoderScores):
    """The same from ids that are one higher, (N, T), with 0 after the end of a text."""

    def forward(self, ids: Tensor) -> Tensor:  # type: ignore[override]
        mask = (ids != 0)[:, None, None, :]
        return super().forward((ids - 1).clamp(min=0), None, mask)


def ragged_encoder(described: Mapping[str, Any]) -> RaggedEncoderScores:
    """The network that an estimator describes by plain values."""
    encoder = BERT(
        described["n_tokens"],
        TransformerConfig(**described["config"]),
        described["n_segments"],
        pooler=False,
        masked_head=False,
        next_sentence=False,
        model_type=described["model_type"],
    )
    return RaggedEncoderScores(encoder, described["n_outputs"], per_token=described["per_token"])
