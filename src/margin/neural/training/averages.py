r"""An exponential average of the weights: often a better model than the last weights, at the cost of a copy.

.. math:: \bar\theta_t = d_t\,\bar\theta_{t-1} + (1 - d_t)\,\theta_t, \qquad d_t = \min\bigl(d, \tfrac{1 + t}{10 + t}\bigr)

The smaller factor of the first steps lets the average forget the random weights it started from.
"""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import nn

__all__ = ["WeightAverage"]


class WeightAverage:
    """The averaged network beside the one that learns; buffers (running means of norms) are those of the latter."""

    def __init__(self, module: nn.Module, decay: float):
        if not 0 < decay < 1:
            raise ValueError(f"WeightAverage: decay must lie strictly between 0 and 1; got {decay!r}.")
        self.decay = decay
        self.module = deepcopy(module).requires_grad_(False)
        self._pairs = list(zip(self.module.parameters(), module.parameters()))
        self._buffers = list(zip(self.module.buffers(), module.buffers()))

    def update(self, step: int) -> None:
        """Take in the weights after update number ``step``, counted from 0."""
        decay = min(self.decay, (1 + step) / (10 + step))
        with torch.no_grad():
            averages, weights = map(list, zip(*self._pairs))
            torch._foreach_lerp_(averages, weights, 1 - decay)
            for average, buffer in self._buffers:
                average.copy_(buffer)
