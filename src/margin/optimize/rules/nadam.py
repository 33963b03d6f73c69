"""NAdam: Adam with Nesterov's look-ahead."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from margin.core.domains import Number
from margin.core.parameters import parameter
from margin.optimize.rules.adam import AdamMoments
from margin.optimize.rules.base import EPSILON, FRACTION, Array, Rule, square_root, zeros_like

__all__ = ["NAdam"]

WARM_UP = 0.96  # base of the momentum's rise (Dozat, 2016)


class NAdamMoments(NamedTuple):
    """Adam's state, and the product of all decays of the mean so far."""

    t: int
    product: float
    first: Array
    second: Array


class NAdam(Rule):
    r"""Adam that looks one momentum step ahead; its momentum rises from about half of beta_1 to beta_1.

    .. math:: \mu_t = \beta_1 (1 - \tfrac12\, 0.96^{t\psi}),\quad
              \Delta\theta = -\eta\,\frac{\mu_{t+1} m / (1 - \prod_{i \le t+1} \mu_i)
              + (1 - \mu_t) g / (1 - \prod_{i \le t} \mu_i)}{\sqrt{v/(1-\beta_2^t)} + \epsilon}

    with Adam's moments m and v, and psi = ``momentum_decay``. Dozat, 2016.
    """

    usual_rate: ClassVar[float] = 2e-3

    beta_1: float = parameter(0.9, FRACTION, "Decay of the mean of gradients.")
    beta_2: float = parameter(0.999, FRACTION, "Decay of the mean of squared gradients.")
    epsilon: float = parameter(1e-8, EPSILON, "Added to the root of the mean square.")
    momentum_decay: float = parameter(4e-3, Number(low=0), "How fast the momentum rises.")

    def _start(self, x: Array) -> NAdamMoments:
        return NAdamMoments(0, 1.0, zeros_like(x), zeros_like(x))

    def update(self, state: NAdamMoments, gradient: Array, x: Array, rate: float) -> tuple[NAdamMoments, Array]:
        moments = AdamMoments(state.t, state.first, state.second).with_gradient(gradient, self.beta_1, self.beta_2)
        now, ahead = self._momentum(moments.t), self._momentum(moments.t + 1)
        product = state.product * now
        mean = ahead / (1 - product * ahead) * moments.first + (1 - now) / (1 - product) * gradient
        scale = square_root(moments.second / (1 - self.beta_2**moments.t)) + self.epsilon
        return NAdamMoments(moments.t, product, moments.first, moments.second), -rate * (mean / scale)

    def _momentum(self, t: int) -> float:
        return self.beta_1 * (1 - 0.5 * WARM_UP ** (t * self.momentum_decay))
