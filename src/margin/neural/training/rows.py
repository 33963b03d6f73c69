"""Rows in the order of a permutation drawn anew for every pass: of tensors, of a sparse matrix, of a file."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor

from margin.neural.generators import generator_array, load_generator
from margin.neural.training.batches import Batch, Batches

__all__ = ["ChosenRows", "LazyRows", "RowBatches", "Rows", "TensorRows"]

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
        """The rows numbered ``index``: a copy, unless the rows lie in a file."""

    def chunk_rows(self, size: int) -> int:
        """How many rows to take at once where ``size`` would do."""
        return size

    def chunks(self, size: int) -> Iterator[Batch]:
        """Consecutive pieces of at most ``size`` rows."""
        size = self.chunk_rows(size)
        for start in range(0, len(self), size):
            yield self.batch(slice(start, start + size))


@dataclass(frozen=True)
class ChosenRows(Rows):
    """The rows numbered ``index`` of a ``source`` that is not copied."""

    source: Rows
    index: Tensor

    @property
    def dtype(self) -> torch.dtype:  # type: ignore[override]
        return self.source.dtype

    def __len__(self) -> int:
        return len(self.index)

    def batch(self, index: Tensor | slice) -> Batch:
        return self.source.batch(self.index[index])

    def take(self, index: Tensor) -> Rows:
        return ChosenRows(self.source, self.index[index])

    def chunk_rows(self, size: int) -> int:
        return self.source.chunk_rows(size)


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

    def take(self, index: Tensor) -> Rows:
        tensors = tuple(tensor.index_select(0, index) for tensor in self.tensors)
        return TensorRows(tensors, self.weight.index_select(0, index), self.equal)


@dataclass(frozen=True)
class LazyRows(Rows):
    """Rows of a SciPy CSR matrix, or of an array in a file, which ``prepare`` makes inputs batch by batch; tensors
    beside them."""

    matrix: Any
    prepare: Callable[[np.ndarray], np.ndarray]
    tensors: tuple[Tensor, ...]
    weight: Tensor
    equal: bool = True

    @classmethod
    def of(
        cls,
        matrix: Any,
        prepare: Callable[[np.ndarray], np.ndarray],
        *arrays: np.ndarray,
        weight: np.ndarray | None = None,
    ) -> LazyRows:
        tensors = tuple(torch.from_numpy(np.require(array, requirements=["C", "W"])) for array in arrays)
        dtype = _floating(torch.from_numpy(prepare(np.empty((1, *matrix.shape[1:]), matrix.dtype))).dtype)
        return cls(matrix, prepare, tensors, *_weights(weight, matrix.shape[0], dtype))

    @property
    def dtype(self) -> torch.dtype:  # type: ignore[override]
        return self.weight.dtype

    def __len__(self) -> int:
        return len(self.weight)

    def batch(self, index: Tensor | slice) -> Batch:
        rows = self.matrix[index if isinstance(index, slice) else index.numpy()]
        inputs = self.prepare(rows.toarray() if issparse(rows) else np.asarray(rows))
        first = torch.from_numpy(np.require(inputs, requirements=["C", "W"]))
        return _batch((first, *(tensor[index] for tensor in self.tensors)), self.weight[index], self.equal)

    def take(self, index: Tensor) -> Rows:
        if not issparse(self.matrix):
            return ChosenRows(self, index)
        tensors = tuple(tensor[index] for tensor in self.tensors)
        return LazyRows(self.matrix[index.numpy()], self.prepare, tensors, self.weight[index], self.equal)


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
