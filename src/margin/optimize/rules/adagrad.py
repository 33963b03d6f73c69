"""AdaGrad."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from margin.core.domains import Flag
from margin.core.parameters import parameter
from margin.optimize.rules.base import EPSILON, Array, Rule, square_root, zeros_like

__all__ = ["AdaGrad"]


class SquareSum(NamedTuple):
    """The sum of all squared gradients."""

    squares: Array


class AdaGrad(Rule):
    r"""A rate per coordinate that shrinks with all squared gradients so far (squares are element-wise).

    .. math:: G \leftarrow G + g^2, \qquad \Delta\theta = -\eta\, g / (\sqrt G + \epsilon)

    ``root=False`` drops the square root: an ablation, not a method to use.
    """

    usual_rate: ClassVar[float] = 0.1

    epsilon: float = parameter(1e-10, EPSILON, "Added to the denominator.")
    root: bool = parameter(True, Flag(), "Whether the root of the sum is taken.")

    def _start(self, x: Array) -> SquareSum:
        return SquareSum(zeros_like(x))

    def update(self, state: SquareSum, gradient: Array, x: Array, rate: float) -> tuple[SquareSum, Array]:
        total = state.squares + gradient**2
        scale = square_root(total) if self.root else total
        return SquareSum(total), -rate * gradient / (scale + self.epsilon)
