"""Adam."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from margin.core.parameters import parameter
from margin.optimize.rules.base import EPSILON, FRACTION, Array, Rule, square_root, zeros_like

__all__ = ["Adam", "AdamMoments"]


class AdamMoments(NamedTuple):
    """Adam's state: the number of gradients seen and the raw running moments."""

    t: int
    first: Array
    second: Array

    def with_gradient(self, gradient: Array, beta_1: float, beta_2: float) -> AdamMoments:
        r""":math:`m \leftarrow \beta_1 m + (1-\beta_1) g,\ v \leftarrow \beta_2 v + (1-\beta_2) g^2`."""
        first = beta_1 * self.first + (1 - beta_1) * gradient
        second = beta_2 * self.second + (1 - beta_2) * gradient**2
        return AdamMoments(self.t + 1, first, second)

    def corrected(self, beta_1: float, beta_2: float) -> tuple[Array, Array]:
        r"""Unbiased moments :math:`\hat m = m/(1-\beta_1^t),\ \hat v = v/(1-\beta_2^t)`."""
        return self.first / (1 - beta_1**self.t), self.second / (1 - beta_2**self.t)


class Adam(Rule):
    r"""First and second moments, each divided by the weight it has gathered after t gradients.

    .. math:: m \leftarrow \beta_1 m + (1-\beta_1) g,\quad v \leftarrow \beta_2 v + (1-\beta_2) g^2,\quad
              \Delta\theta = -\eta\, \frac{m/(1-\beta_1^t)}{\sqrt{v/(1-\beta_2^t)} + \epsilon}
    """

    usual_rate: ClassVar[float] = 1e-3

    beta_1: float = parameter(0.9, FRACTION, "Decay of the mean of gradients.")
    beta_2: float = parameter(0.999, FRACTION, "Decay of the mean of squared gradients.")
    epsilon: float = parameter(1e-8, EPSILON, "Added to the root of the mean square.")

    def _start(self, x: Array) -> AdamMoments:
        return AdamMoments(0, zeros_like(x), zeros_like(x))

    def update(self, state: AdamMoments, gradient: Array, x: Array, rate: float) -> tuple[AdamMoments, Array]:
        moments = state.with_gradient(gradient, self.beta_1, self.beta_2)
        m, v = moments.corrected(self.beta_1, self.beta_2)
        return moments, -rate * (m / (square_root(v) + self.epsilon))
