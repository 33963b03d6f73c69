r"""A recurrent encoder-decoder with attention: the source is read in both directions, the target written step by step.

.. math::
    h_m = \mathrm{GRU}(x_m, h_{m\pm1}),\qquad s_n = \mathrm{GRU}(y_{n-1}, s_{n-1}),\qquad
    c_n = \sum_m a_{nm} h_m,\qquad o_n = E \tanh(W [s_n; c_n])

The weights :math:`a_{nm}` are the softmax over the source of the products of :math:`W_q s_n` and :math:`h_m` (Luong,
Pham and Manning, 2015). The state does not depend on what was attended to, so a known target is read in one pass.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.dot_product import Attended, attention
from margin.neural.layers.dropout import Dropout

__all__ = ["RecurrentEncoderDecoder", "StateCache"]


class StateCache:
    """The states (layers, batch, d) after the tokens that were written: all a recurrent decoder has to remember."""

    def __init__(self) -> None:
        self.states: Tensor | None = None

    def select(self, rows: Tensor) -> None:
        """Keep the sequences numbered ``rows`` of the batch, in this order: what a beam search goes on with."""
        if self.states is not None:
            self.states = self.states[:, rows]


class RecurrentEncoderDecoder(nn.Module):
    """Scores of the tokens of a target, each from those before it and from the source.

    Of ``config`` the width, the number of layers (``n_blocks``) and the dropout count. Masks (batch, 1, 1, n) are those
    of :class:`~margin.neural.nets.transformer.EncoderDecoderTransformer`; padding stands at the end.

    >>> net = RecurrentEncoderDecoder(7, 5, TransformerConfig(d_model=8, n_heads=1, n_blocks=2))
    >>> net(torch.zeros(3, 4, dtype=torch.int64), torch.zeros(3, 6, dtype=torch.int64)).shape
    torch.Size([3, 6, 5])
    """

    def __init__(self, source_vocabulary: int, target_vocabulary: int, config: TransformerConfig):
        super().__init__()
        d, layers = config.d_model, config.n_blocks
        self.config = config
        self.source, self.target = nn.Embedding(source_vocabulary, d), nn.Embedding(target_vocabulary, d)
        self.readers = nn.ModuleList(nn.GRU(d, d, batch_first=True, bidirectional=True) for _ in range(layers))
        self.joins = nn.ModuleList(nn.Linear(2 * d, d) for _ in range(layers))
        self.writers = nn.ModuleList(nn.GRU(d, d, batch_first=True) for _ in range(layers))
        self.begins = nn.ModuleList(nn.Linear(d, d) for _ in range(layers))
        self.query = nn.Linear(d, d, bias=False)
        self.mix = nn.Linear(2 * d, d)
        self.dropout = Dropout(config.dropout)
        for embedding in (self.source, self.target):  # the target's also scores: inputs and scores of variance 1
            nn.init.normal_(embedding.weight, std=1 / math.sqrt(d))

    def new_cache(self) -> StateCache:
        return StateCache()

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        """What the decoder looks at, (batch, n, d): at every token both directions joined, added to their input."""
        x = self.dropout(self.source(source) * math.sqrt(self.config.d_model))
        steps = torch.full((len(source),), source.shape[1]) if mask is None else mask.flatten(1).sum(dim=1).cpu()
        for reader, join in zip(self.readers, self.joins):
            packed = pack_padded_sequence(x, steps, batch_first=True, enforce_sorted=False)
            states, _ = pad_packed_sequence(reader(packed)[0], batch_first=True, total_length=source.shape[1])
            x = x + self.dropout(torch.tanh(join(states)))
        return x

    def decode(
        self, target: Tensor, memory: Tensor, memory_mask: Tensor | None = None, cache: StateCache | None = None
    ) -> Tensor:
        """Scores of the token after each of ``target``; with a cache, after the new ones."""
        written, attended = self._write(target, memory, memory_mask, cache)
        mixed = torch.tanh(self.mix(torch.cat([written, attended.output], dim=-1)))
        return nn.functional.linear(self.dropout(mixed), self.target.weight)

    def forward(self, source: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.decode(target, self.encode(source, mask), mask)

    def alignment(self, source: Tensor, target: Tensor, mask: Tensor | None = None) -> list[Tensor]:
        """Where the decoder looks, as one layer with one head: (batch, 1, target, source)."""
        return [self._write(target, self.encode(source, mask), mask, None)[1].weights[:, None]]

    def _write(
        self, target: Tensor, memory: Tensor, memory_mask: Tensor | None, cache: StateCache | None
    ) -> tuple[Tensor, Attended]:
        """States after every token of the target, and what each attends to."""
        before = None if cache is None else cache.states
        if before is None:
            before = self._first_states(memory, memory_mask)
        x, after = self.dropout(self.target(target) * math.sqrt(self.config.d_model)), []
        for writer, state in zip(self.writers, before):
            h, last = writer(x, state[None].contiguous())
            x = x + self.dropout(h)
            after.append(last[0])
        if cache is not None:
            cache.states = torch.stack(after)
        visible = None if memory_mask is None else memory_mask[:, 0]
        return x, attention(self.query(x), memory, memory, mask=visible)

    def _first_states(self, memory: Tensor, memory_mask: Tensor | None) -> Tensor:
        """Every layer begins with what it makes of the mean of the source, (layers, batch, d)."""
        if memory_mask is None:
            mean = memory.mean(dim=1)
        else:
            seen = memory_mask[:, 0, 0, :, None]
            mean = torch.where(seen, memory, 0.0).sum(dim=1) / seen.sum(dim=1)
        return torch.stack([torch.tanh(begin(mean)) for begin in self.begins])
