r"""An exponential average of the weights: often a better model than the last weights, at the cost of a copy.

.. math:: \bar\theta_t = d_t\,\bar\theta_{t-1} + (1 - d_t)\,\theta_t, \qquad
          d_t = \min\bigl(d, \tfrac{1 + t}{10 + t}\bigr)

The smaller factor of the first steps lets the average forget the random weights it started from.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import nn

from margin.neural.weights import copy_weights, load_weights

__all__ = ["WeightAverage"]


class WeightAverage:
    """The averaged network beside the one that learns; buffers (running means of norms) are those of the latter."""

    def __init__(self, module: nn.Module, decay: float):
        if not 0 < decay < 1:
            raise ValueError(f"WeightAverage: decay must lie strictly between 0 and 1; got {decay!r}.")
        self.decay, self.updates = decay, 0
        self.module = deepcopy(module).requires_grad_(False)
        self._pairs = list(zip(self.module.parameters(), module.parameters()))
        self._buffers = list(zip(self.module.buffers(), module.buffers()))

    def update(self) -> None:
        """Take in the weights as they are now."""
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        self.updates += 1
        with torch.no_grad():
            averages, weights = map(list, zip(*self._pairs))
            torch._foreach_lerp_(averages, weights, 1 - decay)
            for average, buffer in self._buffers:
                average.copy_(buffer)

    def state(self) -> dict[str, Any]:
        return {"updates": self.updates, "weights": copy_weights(self.module)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.updates = int(state["updates"])
        load_weights(self.module, state["weights"])
