"""Texts as rows for an encoder: marks around them, segments, and tokens hidden anew in every batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from margin.neural.losses.fused import fused_cross_entropy
from margin.neural.nets.language_nets import BERT
from margin.neural.training import Mean, TensorRows
from margin.neural.training.steps import Terms

__all__ = ["PAD", "Hidden", "Marks", "TokenRows", "hide_tokens", "masked_objective", "rows_of"]

PAD = 0  # the end of a text where a decoder reads; here what fills a row up
CHUNK_TOKENS = 2**15  # tokens evaluated at once: bounds the memory of the scores


class Marks(NamedTuple):
    """Codes behind those of the text: the first token of a row, what ends a text, and what hides a token."""

    first: int
    separator: int
    mask: int

    @classmethod
    def after(cls, size: int) -> Marks:
        return cls(size, size + 1, size + 2)


class TokenRows(TensorRows):
    """Rows of tokens, evaluated in chunks that are the smaller the longer the rows are."""

    def chunks(self, size: int) -> Any:
        return super().chunks(min(size, max(1, CHUNK_TOKENS // self.tensors[0].shape[1])))

    def take(self, index: Tensor) -> TokenRows:
        tensors = tuple(tensor.index_select(0, index) for tensor in self.tensors)
        return TokenRows(tensors, self.weight.index_select(0, index), self.equal)


def rows_of(texts: Sequence[Sequence[np.ndarray]], marks: Marks) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and segments, (n, longest): the first mark, then each part of a text with a separator behind it.

    >>> ids, segments = rows_of([[np.array([5, 6]), np.array([7])], [np.array([8])]], Marks(10, 11, 12))
    >>> ids.tolist(), segments.tolist()
    ([[10, 5, 6, 11, 7, 11], [10, 8, 11, 0, 0, 0]], [[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0]])
    """
    longest = max(1 + sum(len(part) + 1 for part in parts) for parts in texts)
    ids, segments = (np.zeros((len(texts), longest), dtype=np.int64) for _ in range(2))
    for row, segment, parts in zip(ids, segments, texts):
        row[0], end = marks.first, 1
        for number, part in enumerate(parts):
            start, end = end, end + len(part) + 1
            row[start:end] = [*part, marks.separator]
            segment[start:end] = number
    return ids, segments


class Hidden(NamedTuple):
    """Inputs of the network, and the positions at which it predicts the original token."""

    inputs: Tensor
    positions: Tensor


def hide_tokens(ids: Tensor, marks: Marks, rate: float, noise: torch.Generator) -> Hidden:
    """Choose tokens of the text with probability ``rate``: BERT's 80 % mask, 10 % another token, 10 % as it is.

    Marks and padding are never chosen; the codes of the text are those from 1 to ``marks.first``.
    """
    chance, luck = (torch.rand(ids.shape, generator=noise, device=noise.device) for _ in range(2))
    positions = (ids != PAD) & (ids < marks.first) & (chance < rate)
    others = torch.randint(1, marks.first, ids.shape, generator=noise, device=noise.device)
    replaced = torch.where(luck < 0.8, marks.mask, torch.where(luck < 0.9, others, ids))
    return Hidden(torch.where(positions, replaced, ids), positions)


def masked_objective(marks: Marks, rate: float) -> Callable[[BERT, tuple[Tensor, ...], torch.Generator], Terms]:
    """Cross-entropy of the hidden tokens in nats, and of whether the second text follows where a batch says so."""

    def objective(module: BERT, batch: tuple[Tensor, ...], noise: torch.Generator) -> Terms:
        ids, segments, *follows = batch
        length = int((ids != PAD).sum(dim=1).max())  # no row of the batch is longer
        ids, segments = ids[:, :length], segments[:, :length]
        inputs, positions = hide_tokens(ids, marks, rate, noise)
        states = module.states(inputs, segments, mask=(ids != PAD)[:, None, None, :])
        total = fused_cross_entropy(module.token_scores(states[positions]), ids[positions], reduction="sum")
        count = float(max(1, int(positions.sum())))
        if not follows:
            return {"loss": Mean(total, count)}
        pair = fused_cross_entropy(module.next_scores(states), follows[0])
        masked = Mean(total.detach(), count)
        return {"loss": total / count + pair, "masked_loss": masked, "next_sentence_loss": pair.detach()}

    return objective
