"""AMSGrad: Adam whose rates never grow."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from margin.core.parameters import parameter
from margin.optimize.rules.adam import AdamMoments
from margin.optimize.rules.base import EPSILON, FRACTION, Array, Rule, largest, square_root, zeros_like

__all__ = ["AMSGrad"]


class LargestMoments(NamedTuple):
    """Adam's state, and the largest second moment so far."""

    t: int
    first: Array
    second: Array
    largest: Array


class AMSGrad(Rule):
    r"""Adam with the largest second moment so far in place of the last one.

    .. math:: \hat v \leftarrow \max(\hat v, v),\qquad
              \Delta\theta = -\eta\, \frac{m/(1-\beta_1^t)}{\sqrt{\hat v/(1-\beta_2^t)} + \epsilon}

    Reddi, Kale and Kumar, 2018, with Adam's corrections, as torch has them.
    """

    usual_rate: ClassVar[float] = 1e-3

    beta_1: float = parameter(0.9, FRACTION, "Decay of the mean of gradients.")
    beta_2: float = parameter(0.999, FRACTION, "Decay of the mean of squared gradients.")
    epsilon: float = parameter(1e-8, EPSILON, "Added to the root of the mean square.")

    def _start(self, x: Array) -> LargestMoments:
        return LargestMoments(0, zeros_like(x), zeros_like(x), zeros_like(x))

    def update(self, state: LargestMoments, gradient: Array, x: Array, rate: float) -> tuple[LargestMoments, Array]:
        moments = AdamMoments(*state[:3]).with_gradient(gradient, self.beta_1, self.beta_2)
        most = largest(state.largest, moments.second)
        m, v = moments._replace(second=most).corrected(self.beta_1, self.beta_2)
        return LargestMoments(*moments, most), -rate * (m / (square_root(v) + self.epsilon))
