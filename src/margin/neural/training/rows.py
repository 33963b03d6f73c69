"""Rows in the order of a permutation drawn anew for every pass: of tensors in memory, or of a sparse matrix."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from margin.neural.generators import generator_array, load_generator
from margin.neural.scaling import Scaling
from margin.neural.training.batches import Batch, Batches

__all__ = ["RowBatches", "Rows", "SparseRows", "TensorRows"]

# Tables up to this size are brought into the order of a pass at once, which is cheaper than gathering every batch.
COPIED_BYTES = 2**21


class Rows(ABC):
    """Something with rows of which a batch can be taken."""

    dtype: torch.dtype  # of the inputs, and so of the network

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def batch(self, index: Tensor | slice) -> Batch:
        """The rows numbered ``index``."""

    @abstractmethod
    def take(self, index: Tensor) -> Rows:
        """A copy with the rows numbered ``index``."""

    def chunks(self, size: int) -> Iterator[Batch]:
        """Consecutive pieces of at most ``size`` rows."""
        for start in range(0, len(self), size):
            yield self.batch(slice(start, start + size))


@dataclass(frozen=True)
class TensorRows(Rows):
    """Tensors with one entry per row (inputs, targets, ...) and the weight of each row; ``equal``: all are 1."""

    tensors: tuple[Tensor, ...]
    weight: Tensor
    equal: bool = True

    @classmethod
    def of(cls, *arrays: np.ndarray, weight: np.ndarray | None = None) -> TensorRows:
        """Rows over NumPy arrays, each of weight 1 by default; weights get the precision of the first array."""
        tensors = tuple(map(cls._tensor, arrays))
        return cls(tensors, *_weights(weight, len(tensors[0]), _floating(tensors[0].dtype)))

    @staticmethod
    def _tensor(array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.require(array, requirements=["C", "W"]))

    @property
    def dtype(self) -> torch.dtype:  # type: ignore[override]
        return _floating(self.tensors[0].dtype)

    def __len__(self) -> int:
        return len(self.weight)

    def batch(self, index: Tensor | slice) -> Batch:
        if isinstance(index, slice):
            return _batch(tuple(tensor[index] for tensor in self.tensors), self.weight[index], self.equal)
        tensors = tuple(tensor.index_select(0, index) for tensor in self.tensors)
        # Equal weights need no gathering.
        weight = self.weight[: len(index)] if self.equal else self.weight.index_select(0, index)
        return _batch(tensors, weight, self.equal)

    def take(self, index: Tensor) -> TensorRows:
        tensors = tuple(tensor.index_select(0, index) for tensor in self.tensors)
        return TensorRows(tensors, self.weight.index_select(0, index), self.equal)


@dataclass(frozen=True)
class SparseRows(Rows):
    """Rows of a SciPy CSR matrix, made dense and scaled batch by batch, with tensors beside them."""

    matrix: Any
    scaling: Scaling
    tensors: tuple[Tensor, ...]
    weight: Tensor
    equal: bool = True

    @classmethod
    def of(cls, matrix: Any, scaling: Scaling, *arrays: np.ndarray, weight: np.ndarray | None = None) -> SparseRows:
        tensors = tuple(torch.from_numpy(np.require(array, requirements=["C", "W"])) for array in arrays)
        dtype = torch.from_numpy(np.empty(0, matrix.dtype)).dtype
        return cls(matrix, scaling, tensors, *_weights(weight, matrix.shape[0], dtype))

    @property
    def dtype(self) -> torch.dtype:  # type: ignore[override]
        return self.weight.dtype

    def __len__(self) -> int:
        return len(self.weight)

    def batch(self, index: Tensor | slice) -> Batch:
        chosen = index if isinstance(index, slice) else index.numpy()
        dense = torch.from_numpy(self.scaling.apply(self.matrix[chosen].toarray()))
        return _batch((dense, *(tensor[index] for tensor in self.tensors)), self.weight[index], self.equal)

    def take(self, index: Tensor) -> SparseRows:
        tensors = tuple(tensor[index] for tensor in self.tensors)
        return SparseRows(self.matrix[index.numpy()], self.scaling, tensors, self.weight[index], self.equal)


def _floating(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype.is_floating_point else torch.float32


def _weights(weight: np.ndarray | None, n: int, dtype: torch.dtype) -> tuple[Tensor, bool]:
    if weight is None or bool(np.all(weight == 1)):
        return torch.ones(n, dtype=dtype), True
    return torch.from_numpy(np.array(weight)).to(dtype), False


def _batch(tensors: tuple[Tensor, ...], weight: Tensor, equal: bool) -> Batch:
    return Batch(tensors, weight, float(len(weight)) if equal else weight.sum())


class RowBatches(Batches):
    """``batch_size`` rows at a time; the last batch of a pass has what is left.

    When one batch holds all rows their order would only change the rounding, so there is none.
    """

    def __init__(self, rows: Rows, batch_size: int, seed: int, *, shuffle: bool = True):
        self.rows, self.batch_size, self.shuffle = rows, batch_size, shuffle
        self.steps_per_epoch = math.ceil(len(rows) / batch_size)
        self.order = torch.Generator().manual_seed(seed)
        self.everything = rows.batch(slice(None)) if batch_size >= len(rows) else None
        self._begin()

    def draw(self) -> Batch:
        if self.everything is not None:
            return self.everything
        if self.offset == 0:
            self._shuffle()
        here = slice(self.offset, self.offset + self.batch_size)
        batch = self.rows.batch(self.permutation[here]) if self.shuffled is None else self.shuffled.batch(here)
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
        self.shuffled: Rows | None = None

    def _shuffle(self) -> None:
        self.before = generator_array(self.order)
        n = len(self.rows)
        self.permutation = torch.randperm(n, generator=self.order) if self.shuffle else torch.arange(n)
        if isinstance(self.rows, TensorRows) and sum(t.nbytes for t in self.rows.tensors) <= COPIED_BYTES:
            self.shuffled = self.rows.take(self.permutation)
