"""Momentum, the heavy ball."""

from __future__ import annotations

from typing import NamedTuple

from margin.core.domains import Choice
from margin.core.parameters import parameter
from margin.optimize.rules.base import FRACTION, Array, Rule, zeros_like

__all__ = ["Momentum", "Velocity"]


class Velocity(NamedTuple):
    """What momentum has gathered."""

    velocity: Array


class Momentum(Rule):
    r"""Heavy ball. Three conventions for what the velocity ``v`` accumulates:

    ``sum``:       :math:`v \leftarrow \gamma v + \eta g,\quad \Delta\theta = -v` (weights add to 1/(1-gamma));
    ``average``:   :math:`v \leftarrow \gamma v + (1-\gamma) g,\quad \Delta\theta = -\eta v` (weights add to 1);
    ``unscaled``:  :math:`v \leftarrow \gamma v + g,\quad \Delta\theta = -\eta v` (torch).

    ``sum`` with rate eta equals ``average`` with rate eta/(1-gamma); ``sum`` equals ``unscaled`` as long as
    the rate does not change.
    """

    gamma: float = parameter(0.9, FRACTION, "Fraction of the velocity that is kept.")
    convention: str = parameter("sum", Choice("sum", "average", "unscaled"), "What the velocity accumulates.")

    def _start(self, x: Array) -> Velocity:
        return Velocity(zeros_like(x))

    def update(self, state: Velocity, gradient: Array, x: Array, rate: float) -> tuple[Velocity, Array]:
        if self.convention == "sum":
            velocity = self.gamma * state.velocity + rate * gradient
            return Velocity(velocity), -velocity
        weight = 1 - self.gamma if self.convention == "average" else 1.0
        velocity = self.gamma * state.velocity + weight * gradient
        return Velocity(velocity), -rate * velocity
