"""AdaDelta."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from margin.core.parameters import parameter
from margin.optimize.rules.base import EPSILON, FRACTION, Array, Rule, square_root, zeros_like

__all__ = ["AdaDelta"]


class GradientsAndSteps(NamedTuple):
    """Running averages of squared gradients and of squared steps."""

    gradients: Array
    steps: Array


class AdaDelta(Rule):
    r"""The running size of past steps replaces the learning rate (``rate`` only scales, 1 by default).

    .. math:: E_g \leftarrow \rho E_g + (1-\rho) g^2,\quad
              d = \frac{\sqrt{E_d + \epsilon}}{\sqrt{E_g + \epsilon}}\, g,\quad
              E_d \leftarrow \rho E_d + (1-\rho) d^2,\quad \Delta\theta = -\eta d
    """

    usual_rate: ClassVar[float] = 1.0

    rho: float = parameter(0.9, FRACTION, "Decay of the means of squared gradients and of squared steps.")
    epsilon: float = parameter(1e-6, EPSILON, "Added to both means.")

    def _start(self, x: Array) -> GradientsAndSteps:
        return GradientsAndSteps(zeros_like(x), zeros_like(x))

    def update(
        self, state: GradientsAndSteps, gradient: Array, x: Array, rate: float
    ) -> tuple[GradientsAndSteps, Array]:
        gradients = self.rho * state.gradients + (1 - self.rho) * gradient**2
        move = square_root(state.steps + self.epsilon) / square_root(gradients + self.epsilon) * gradient
        steps = self.rho * state.steps + (1 - self.rho) * move**2
        return GradientsAndSteps(gradients, steps), -rate * move
