"""Rows of tensors in the order of a permutation drawn anew for every pass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from margin.neural.training.batches import Batch, Batches
from margin.neural.training.generators import generator_array, load_generator

__all__ = ["RowBatches", "TensorRows"]


@dataclass(frozen=True)
class TensorRows:
    """Tensors with one entry per row (inputs, targets, ...) and the weight of each row; ``weight`` None: 1 each."""

    tensors: tuple[Tensor, ...]
    weight: Tensor
    equal: bool = True  # whether every weight is 1

    @classmethod
    def of(cls, *arrays: np.ndarray, weight: np.ndarray | None = None) -> TensorRows:
        """Rows over NumPy arrays, each of weight 1 unless told; weights get the precision of the first array."""
        tensors = tuple(torch.from_numpy(np.require(array, requirements=["C", "W"])) for array in arrays)
        dtype = tensors[0].dtype if tensors[0].is_floating_point() else torch.float32
        if weight is None or bool(np.all(weight == 1)):
            return cls(tensors, torch.ones(len(tensors[0]), dtype=dtype))
        return cls(tensors, torch.from_numpy(np.array(weight)).to(dtype), equal=False)

    def __len__(self) -> int:
        return len(self.weight)

    def take(self, index: Tensor) -> TensorRows:
        tensors = tuple(tensor.index_select(0, index) for tensor in self.tensors)
        return TensorRows(tensors, self.weight.index_select(0, index), self.equal)

    def chunks(self, size: int) -> Iterator[Batch]:
        """Consecutive pieces of at most ``size`` rows, without copying."""
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            yield self._batch(tuple(tensor[part] for tensor in self.tensors), self.weight[part])

    def batch(self, index: Tensor | None = None) -> Batch:
        """The rows numbered ``index``, or all of them."""
        if index is None:
            return self._batch(self.tensors, self.weight)
        tensors = tuple(tensor.index_select(0, index) for tensor in self.tensors)
        # Equal weights need no gathering.
        return self._batch(tensors, self.weight[: len(index)] if self.equal else self.weight.index_select(0, index))

    def _batch(self, tensors: tuple[Tensor, ...], weight: Tensor) -> Batch:
        return Batch(tensors, weight, float(len(weight)) if self.equal else weight.sum())


class RowBatches(Batches):
    """``batch_size`` rows at a time; the last batch of a pass has what is left.

    When one batch holds all rows their order would only change the rounding, so there is none.
    """

    def __init__(self, rows: TensorRows, batch_size: int, seed: int, *, shuffle: bool = True):
        self.rows, self.batch_size = rows, batch_size
        self.whole = batch_size >= len(rows)
        self.shuffle = shuffle and not self.whole
        self.steps_per_epoch = math.ceil(len(rows) / batch_size)
        self.order = torch.Generator().manual_seed(seed)
        self._begin()

    def draw(self) -> Batch:
        if self.whole:
            return self.rows.batch()
        if self.offset == 0:
            self._shuffle()
        batch = self.rows.batch(self.permutation[self.offset : self.offset + self.batch_size])
        self.offset += self.batch_size
        if self.offset >= len(self.rows):
            self._begin()
        return batch

    def state(self) -> dict[str, Any]:
        # The order of this pass follows from where the generator stood before it was drawn.
        before = self.before if self.offset else generator_array(self.order)
        return {"n_rows": len(self.rows), "offset": self.offset, "order": before.copy()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        if state["n_rows"] != len(self.rows):
            raise ValueError(f"RowBatches: the state belongs to {state['n_rows']} rows; got {len(self.rows)}.")
        load_generator(self.order, state["order"])
        self._begin()
        if state["offset"]:
            self._shuffle()
        self.offset = int(state["offset"])

    def _begin(self) -> None:
        self.offset = 0
        self.permutation = torch.empty(0, dtype=torch.int64)

    def _shuffle(self) -> None:
        self.before = generator_array(self.order)
        n = len(self.rows)
        self.permutation = torch.randperm(n, generator=self.order) if self.shuffle else torch.arange(n)
