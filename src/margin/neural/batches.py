"""Rows of training data as tensors, with a weight each, and the split of a validation part."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from margin.core.randomness import as_generator

__all__ = ["Rows", "validation_split"]


@dataclass(frozen=True)
class Rows:
    """Tensors with one entry per row (inputs, targets, ...) and the weight of each row."""

    tensors: tuple[Tensor, ...]
    weight: Tensor

    @classmethod
    def of(cls, *arrays: np.ndarray, weight: np.ndarray | None = None) -> Rows:
        """Rows over NumPy arrays, each of weight 1 unless told; weights get the precision of the first array."""
        tensors = tuple(torch.from_numpy(np.require(array, requirements=["C", "W"])) for array in arrays)
        if weight is None:
            return cls(tensors, torch.ones(len(tensors[0]), dtype=tensors[0].dtype))
        return cls(tensors, torch.from_numpy(np.array(weight)).to(tensors[0].dtype))

    def __len__(self) -> int:
        return len(self.weight)

    def take(self, index: Tensor) -> Rows:
        return Rows(tuple(tensor.index_select(0, index) for tensor in self.tensors), self.weight.index_select(0, index))

    def chunks(self, size: int) -> Iterator[Rows]:
        """Consecutive pieces of at most ``size`` rows, without copying."""
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            yield Rows(tuple(tensor[part] for tensor in self.tensors), self.weight[part])


def validation_split(
    n_rows: int, fraction: float, seed: int, labels: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers for training and for validation, both sorted.

    With ``labels`` the rows are laid out label after label, shuffled within each, and validation rows are taken at
    equal distances from a random start: every label gets its share up to one row.

    >>> train, valid = validation_split(10, 0.2, seed=0, labels=np.array([0] * 5 + [1] * 5))
    >>> len(train), [int(row >= 5) for row in valid]
    (8, [0, 1])
    """
    n_valid = math.ceil(fraction * n_rows)
    if n_valid >= n_rows:
        raise ValueError(
            f"validation_split: {n_rows} rows leave nothing to train on with validation_fraction {fraction}."
        )
    rng = as_generator(seed)
    order = rng.permutation(n_rows)
    if labels is not None:
        order = order[np.argsort(labels[order], kind="stable")]
    places = np.floor((np.arange(n_valid) + rng.random()) * n_rows / n_valid).astype(np.intp)
    chosen = np.zeros(n_rows, dtype=bool)
    chosen[order[places]] = True
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)
