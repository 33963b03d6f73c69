"""Lion: steps by sign."""

from __future__ import annotations

from typing import ClassVar

from margin.core.domains import Number, Optional
from margin.core.parameters import parameter
from margin.optimize.rules.base import DECAY, FRACTION, Array, Rule, sign, zeros_like
from margin.optimize.rules.momentum import Velocity

__all__ = ["Lion"]


class Lion(Rule):
    r"""The sign of a mean of gradients: every entry moves by the rate; with decoupled weight decay.

    .. math:: \Delta\theta = -\eta\,\big(\mathrm{sign}(\beta_1 m + (1-\beta_1) g) + \lambda\theta\big),\qquad
              m \leftarrow \beta_2 m + (1-\beta_2) g

    Chen et al., 2023. Rates are three to ten times smaller than Adam's.
    """

    usual_rate: ClassVar[float] = 1e-4
    decouples: ClassVar[bool] = True

    beta_1: float = parameter(0.9, FRACTION, "Weight of the mean in the direction of a step.")
    beta_2: float = parameter(0.99, FRACTION, "Decay of the mean of gradients.")
    weight_decay: float | None = parameter(
        None,
        Optional(Number(low=0)),
        "Decay of the weights per step, times the rate; None: a network's alpha, or 0.01.",
    )

    def _start(self, x: Array) -> Velocity:
        return Velocity(zeros_like(x))

    def update(self, state: Velocity, gradient: Array, x: Array, rate: float) -> tuple[Velocity, Array]:
        direction = sign(self.beta_1 * state.velocity + (1 - self.beta_1) * gradient)
        decay = DECAY if self.weight_decay is None else self.weight_decay
        mean = self.beta_2 * state.velocity + (1 - self.beta_2) * gradient
        return Velocity(mean), -rate * (direction + decay * x)
