"""AdamW: Adam with decoupled weight decay."""

from __future__ import annotations

from typing import ClassVar

from margin.core.domains import Number, Optional
from margin.core.parameters import parameter
from margin.optimize.rules.adam import Adam, AdamMoments
from margin.optimize.rules.base import DECAY, Array

__all__ = ["AdamW"]


class AdamW(Adam):
    r"""Adam with decoupled weight decay, which pulls towards 0: its limit is not the minimum of the loss alone.

    .. math:: \Delta\theta = -\eta \Big( \frac{m/(1-\beta_1^t)}{\sqrt{v/(1-\beta_2^t)} + \epsilon} + \lambda\theta \Big)

    Loshchilov and Hutter, 2019.
    """

    decouples: ClassVar[bool] = True

    weight_decay: float | None = parameter(
        None,
        Optional(Number(low=0)),
        "Decay of the weights per step, times the rate; None: a network's alpha, or 0.01.",
    )

    def update(self, state: AdamMoments, gradient: Array, x: Array, rate: float) -> tuple[AdamMoments, Array]:
        moments, step = super().update(state, gradient, x, rate)
        decay = DECAY if self.weight_decay is None else self.weight_decay
        return moments, step - rate * (decay * x)
