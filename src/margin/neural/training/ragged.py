"""Sequences of integers of any length as rows: a batch is padded to its longest, and like lengths come together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from margin.neural.training.batches import Batch
from margin.neural.training.rows import RowBatches, Rows

__all__ = ["LengthBatches", "RaggedRows", "flat_sequences"]

PADDED_TOKENS = 2**15  # tokens, padding included, that are evaluated at once: bounds the memory of attention
POOL = 32  # batches whose rows are sorted by length among each other


def flat_sequences(sequences: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """All sequences in one array, and where each begins in it, the last end included.

    >>> [part.tolist() for part in flat_sequences([[5, 6], [7]])]
    [[5, 6, 7], [0, 2, 3]]
    """
    starts = np.cumsum([0, *(len(sequence) for sequence in sequences)])
    parts = [np.asarray(sequence, dtype=np.int64) for sequence in sequences]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts]), starts


@dataclass(frozen=True)
class RaggedRows(Rows):
    """Row i has the entries ``starts[i]`` to ``starts[i + 1]`` of every ``flat`` tensor, and entry i of ``tensors``.

    A batch has the flat ones as (rows, longest), 0 after the end of a row, then the others.

    >>> tokens, starts = flat_sequences([[5, 6], [7], [8, 9, 4]])
    >>> rows = RaggedRows.of([tokens], starts, np.array([0, 1, 0]))
    >>> [tensor.tolist() for tensor in rows.batch(torch.tensor([1, 0])).tensors]
    [[[7, 0], [5, 6]], [1, 0]]
    """

    flat: tuple[Tensor, ...]
    starts: Tensor
    tensors: tuple[Tensor, ...]
    weight: Tensor
    equal: bool = True
    dtype = torch.float32

    @classmethod
    def of(
        cls, flat: Sequence[np.ndarray], starts: np.ndarray, *arrays: np.ndarray, weight: np.ndarray | None = None
    ) -> RaggedRows:
        """Rows over NumPy arrays, each of weight 1 by default."""
        equal = weight is None or bool(np.all(weight == 1))
        weights = np.ones(len(starts) - 1) if weight is None else np.array(weight)
        return cls(
            tuple(torch.from_numpy(array) for array in flat),
            torch.from_numpy(starts.astype(np.int64)),
            tuple(torch.from_numpy(array) for array in arrays),
            torch.from_numpy(weights).float(),
            equal,
        )

    @property
    def lengths(self) -> Tensor:
        return self.starts.diff()

    def __len__(self) -> int:
        return len(self.weight)

    def batch(self, index: Tensor | slice) -> Batch:
        rows = torch.arange(len(self))[index] if isinstance(index, slice) else index
        begin, lengths = self.starts[rows], self.lengths[rows]
        steps = torch.arange(int(lengths.max()))
        mask = steps < lengths[:, None]
        entries = (begin[:, None] + steps).where(mask, 0)
        padded = (tensor[entries].where(mask, 0) for tensor in self.flat)
        weight = self.weight[rows]
        mass = float(len(rows)) if self.equal else weight.sum()
        return Batch((*padded, *(tensor[rows] for tensor in self.tensors)), weight, mass)

    def take(self, index: Tensor) -> RaggedRows:
        lengths = self.lengths[index]
        starts = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
        entries = torch.arange(int(starts[-1])) + (self.starts[index] - starts[:-1]).repeat_interleave(lengths)
        flat = tuple(tensor[entries] for tensor in self.flat)
        return RaggedRows(flat, starts, tuple(t[index] for t in self.tensors), self.weight[index], self.equal)

    def chunks(self, size: int) -> Iterator[Batch]:
        """Consecutive pieces of at most ``size`` rows that have, padded, about ``PADDED_TOKENS`` tokens at most."""
        first, longest = 0, 1
        for i, length in enumerate(self.lengths.tolist()):
            longest = max(longest, length)
            if i > first and (i - first >= size or (i - first + 1) * longest > PADDED_TOKENS):
                yield self.batch(slice(first, i))
                first, longest = i, max(1, length)
        yield self.batch(slice(first, len(self)))


class LengthBatches(RowBatches):
    """Batches of rows of like length, so that little is padding.

    Rows are drawn in random order; within every ``POOL`` batches they are sorted by length (rows of one length keep
    their random order), and the sorted batches come in random order.
    """

    rows: RaggedRows

    def _shuffle(self) -> None:
        super()._shuffle()
        if not self.shuffle:
            return
        lengths = self.rows.lengths
        pools = []
        for pool in self.permutation.split(POOL * self.batch_size):
            batches = pool[lengths[pool].argsort(stable=True)].split(self.batch_size)
            full = [batch for batch in batches if len(batch) == self.batch_size]
            order = torch.randperm(len(full), generator=self.order).tolist()
            # A last batch with fewer rows stays last: batches are cut from the permutation at equal distances.
            pools += [full[i] for i in order] + [batch for batch in batches if len(batch) < self.batch_size]
        self.permutation = torch.cat(pools)
