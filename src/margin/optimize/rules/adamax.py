"""AdaMax: Adam by the largest gradient."""

from __future__ import annotations

from typing import ClassVar

from margin.core.parameters import parameter
from margin.optimize.rules.adam import AdamMoments
from margin.optimize.rules.base import EPSILON, FRACTION, Array, Rule, largest, zeros_like

__all__ = ["AdaMax"]


class AdaMax(Rule):
    r"""Adam whose second moment is a decaying maximum of the gradients' sizes.

    .. math:: m \leftarrow \beta_1 m + (1-\beta_1) g,\quad u \leftarrow \max(\beta_2 u, |g| + \epsilon),\quad
              \Delta\theta = -\eta\, \frac{m}{(1-\beta_1^t)\,u}

    Kingma and Ba, 2015, section 7.1.
    """

    usual_rate: ClassVar[float] = 2e-3

    beta_1: float = parameter(0.9, FRACTION, "Decay of the mean of gradients.")
    beta_2: float = parameter(0.999, FRACTION, "Decay of the largest size of a gradient.")
    epsilon: float = parameter(1e-8, EPSILON, "Added to the size of a gradient.")

    def _start(self, x: Array) -> AdamMoments:
        return AdamMoments(0, zeros_like(x), zeros_like(x))

    def update(self, state: AdamMoments, gradient: Array, x: Array, rate: float) -> tuple[AdamMoments, Array]:
        t = state.t + 1
        first = self.beta_1 * state.first + (1 - self.beta_1) * gradient
        size = largest(self.beta_2 * state.second, abs(gradient) + self.epsilon)
        return AdamMoments(t, first, size), -rate / (1 - self.beta_1**t) * first / size
