"""RMSProp."""

from __future__ import annotations

from typing import NamedTuple

from margin.core.parameters import parameter
from margin.optimize.rules.base import EPSILON, FRACTION, Array, Rule, square_root, zeros_like

__all__ = ["RMSProp"]


class SquareMean(NamedTuple):
    """The decaying average of the squared gradients."""

    squares: Array


class RMSProp(Rule):
    r"""AdaGrad with a decaying average, so that the rate does not vanish.

    .. math:: s \leftarrow \beta s + (1-\beta) g^2, \qquad \Delta\theta = -\eta\, g / (\sqrt s + \epsilon)

    With a constant rate it hovers around a minimum.
    """

    beta: float = parameter(0.99, FRACTION, "Decay of the mean of squared gradients.")
    epsilon: float = parameter(1e-8, EPSILON, "Added to the denominator.")

    def _start(self, x: Array) -> SquareMean:
        return SquareMean(zeros_like(x))

    def update(self, state: SquareMean, gradient: Array, x: Array, rate: float) -> tuple[SquareMean, Array]:
        average = self.beta * state.squares + (1 - self.beta) * gradient**2
        return SquareMean(average), -rate * gradient / (square_root(average) + self.epsilon)
