"""Where the next batch of a training comes from: the interface, and what a batch is.

A source of batches owns its sampler. Everything random about it follows from a generator in its state, so a training
that is killed continues with the batch that would have come next. What is written here for rows
(:mod:`~margin.neural.training.rows`), windows of tokens (:mod:`~margin.neural.training.tokens`) and drawn points
(:mod:`~margin.neural.training.points`) holds for any other source: images augmented as a batch, sequences in buckets of
equal length, disjoint unions of graphs, episodes of tasks. Each is one more class with ``draw`` and a state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torch import Tensor

__all__ = ["Batch", "Batches"]


class Batch(NamedTuple):
    """Tensors of one step, and how much its means count.

    ``weight`` has one entry per row for objectives that give a loss per row; without it every row counts 1. ``mass``
    is what the mean over this batch weighs in a running mean: the sum of the weights, the number of tokens, or 1.
    ``number`` changes when the tensors do, so that a method that works on one batch for long notices a new one.
    """

    tensors: tuple[Tensor, ...]
    weight: Tensor | None = None
    mass: float | Tensor = 1.0
    number: int = 0

    def parts(self, n: int) -> Iterator[Batch]:
        """At most ``n`` consecutive pieces, by the first axis of every tensor; their sizes differ by at most a row."""
        rows = len(self.tensors[0])
        n = min(n, rows)
        for k in range(n):
            cut = slice(k * rows // n, (k + 1) * rows // n)
            tensors = tuple(tensor[cut] for tensor in self.tensors)
            weight = None if self.weight is None else self.weight[cut]
            fraction = len(tensors[0]) / rows
            yield Batch(tensors, weight, self.mass * fraction if weight is None else weight.sum(), self.number)


class Batches(ABC):
    """An endless source of batches; ``steps_per_epoch`` of them are one pass, or what counts as one."""

    steps_per_epoch: int

    @abstractmethod
    def draw(self) -> Batch:
        """The next batch."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Plain values and arrays from which the same batches follow."""

    @abstractmethod
    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue where ``state`` was taken."""
