"""Nesterov's accelerated gradient."""

from __future__ import annotations

from margin.core.domains import Choice, Flag
from margin.core.parameters import parameter
from margin.optimize.rules.base import FRACTION, Array, Rule, zeros_like
from margin.optimize.rules.momentum import Velocity

__all__ = ["Nesterov"]


class Nesterov(Rule):
    r"""Nesterov momentum: the gradient is taken where the velocity is about to carry the iterate.

    .. math:: v \leftarrow \gamma v + \eta\,\nabla f(\theta - \gamma v), \qquad \Delta\theta = -v

    With ``shifted=True`` the iterate is that look-ahead point itself, as networks and torch keep it: then
    :math:`v \leftarrow \gamma v + \eta g,\ \Delta = -(\gamma v + \eta g)` with g taken at the iterate. The convention
    ``unscaled`` leaves the rate out of v, as torch does: :math:`v \leftarrow \gamma v + g`, and v is multiplied by
    :math:`\eta` where it is used. It is the same as long as the rate does not change.
    """

    gamma: float = parameter(0.9, FRACTION, "Fraction of the velocity that is kept.")
    shifted: bool = parameter(False, Flag(), "Whether the iterates are the look-ahead points.")
    convention: str = parameter("sum", Choice("sum", "unscaled"), "Whether the velocity contains the rate.")

    def _start(self, x: Array) -> Velocity:
        return Velocity(zeros_like(x))

    def point(self, state: Velocity, x: Array) -> Array:
        return x if self.shifted else x - self.gamma * state.velocity

    def on_gradient_points(self) -> Nesterov:
        return self.replace(shifted=True)

    def update(self, state: Velocity, gradient: Array, x: Array, rate: float) -> tuple[Velocity, Array]:
        weight, size = (1.0, rate) if self.convention == "unscaled" else (rate, 1.0)
        velocity = self.gamma * state.velocity + weight * gradient
        if self.shifted:
            return Velocity(velocity), -size * (self.gamma * velocity + weight * gradient)
        return Velocity(velocity), -size * velocity
