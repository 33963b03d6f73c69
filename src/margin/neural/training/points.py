"""Points that nobody measured: drawn from a function as often as the training asks (equations, densities, games)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from margin.neural.generators import generator_array, load_generator
from margin.neural.training.batches import Batch, Batches

__all__ = ["DrawnPoints"]


class DrawnPoints(Batches):
    """Batches made by ``sample(generator)``, a new one every ``redraw_every`` steps (None: the first one stays).

    >>> points = DrawnPoints(lambda generator: (torch.rand(4, 1, generator=generator),), seed=0, redraw_every=2)
    >>> a, b, c = (points.draw().tensors[0] for _ in range(3))
    >>> a is b, torch.equal(b, c)
    (True, False)
    """

    def __init__(
        self,
        sample: Callable[[torch.Generator], tuple[Tensor, ...]],
        seed: int,
        *,
        redraw_every: int | None = 1,
        steps_per_epoch: int = 100,
    ):
        self.sample, self.redraw_every, self.steps_per_epoch = sample, redraw_every, steps_per_epoch
        self.generator = torch.Generator().manual_seed(seed)
        self.drawn = 0  # batches given
        self.number = 0  # samples taken
        self.before = generator_array(self.generator)
        self.current: tuple[Tensor, ...] | None = None

    def draw(self) -> Batch:
        due = self.drawn == 0 if self.redraw_every is None else self.drawn % self.redraw_every == 0
        if due:
            self._sample()
            self.number += 1
        self.drawn += 1
        assert self.current is not None
        return Batch(self.current, number=self.number)

    def state(self) -> dict[str, Any]:
        # The current points follow from where the generator stood before they were drawn.
        return {"drawn": self.drawn, "number": self.number, "before": self.before.copy()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.drawn, self.number = int(state["drawn"]), int(state["number"])
        load_generator(self.generator, np.array(state["before"]))
        if self.drawn:
            self._sample()

    def _sample(self) -> None:
        self.before = generator_array(self.generator)
        self.current = self.sample(self.generator)
