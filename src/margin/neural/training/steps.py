r"""One update from one batch.

A step owns what it moves: networks, optimizer slots, the generator of its noise, an average of the weights. ``state``
has all of it, so that a step of equal parts continues with the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from margin.neural.generators import GlobalStream
from margin.neural.training.batches import Batch
from margin.neural.training.meter import Mean

__all__ = ["Objective", "Step", "Terms", "measure"]

# Named numbers: one per row, a scalar that is a mean over the batch, or a mean with a count of its own.
Terms = Mapping[str, Tensor | Mean]

# The terms of a batch; "loss" is what is minimized, the others are only reported. Noise comes from the generator.
Objective = Callable[[Any, tuple[Tensor, ...], torch.Generator], Terms]


class Step(ABC):
    """What a training repeats. ``modules`` are the networks it moves, by name; ``result`` is the one that predicts."""

    modules: dict[str, nn.Module]
    converged: bool = False  # a method that knows when nothing is left to do says so here
    stream: GlobalStream | None = None  # in the place of torch's global generator, where layers draw from that
    rate_factor: float = 1.0  # by which the learning rates are multiplied: an adaptive rate falls with the loss

    @property
    @abstractmethod
    def result(self) -> nn.Module:
        """The network to use: the average of the weights where there is one."""

    @abstractmethod
    def __call__(self, batch: Batch, step: int) -> dict[str, Mean]:
        """Update number ``step``, counted from 0; what was measured on the way."""

    @abstractmethod
    def rates(self) -> dict[str, float]:
        """Learning rates of the last update, by the name they have in a record."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Everything that decides what the next updates do."""

    @abstractmethod
    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue where ``state`` was taken."""

    def train(self) -> None:
        """Set every network to learn."""
        for module in self.modules.values():
            module.train()


def measure(terms: Terms, batch: Batch) -> dict[str, Mean]:
    r"""Terms as means with their counts: :math:`\sum_i w_i v_i` over :math:`\sum_i w_i` for values per row."""
    means = {}
    for name, value in terms.items():
        if isinstance(value, Mean):
            means[name] = value
        elif value.ndim == 0:
            means[name] = Mean(value * batch.mass, batch.mass)
        elif batch.weight is None:
            means[name] = Mean(value.sum(), float(value.numel()))
        else:
            means[name] = Mean(value @ batch.weight, batch.mass)
    return means
