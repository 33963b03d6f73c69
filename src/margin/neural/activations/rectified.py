"""Rectifiers: 0, or nearly so, for negative inputs and growing for positive ones."""

from __future__ import annotations

import math

from torch import Tensor, nn

from margin.core.domains import Number
from margin.core.parameters import parameter
from margin.neural.activations import functions, slopes
from margin.neural.activations.activation import Activation
from margin.neural.activations.layers import SquaredReLU

__all__ = ["ELU", "LeakyReLU", "ReLU", "Softplus", "SquaredRectifier"]


class ReLU(Activation):
    r""":math:`\max(0, x)`."""

    name, formula, continuity, attained = "relu", r"\max(0, x)", 0, (True, False)

    def function(self, x: Tensor) -> Tensor:
        return functions.relu(x)

    def slope(self, x: Tensor) -> Tensor:
        return slopes.relu_slope(x)

    def layer(self) -> nn.Module:
        return nn.ReLU()


class LeakyReLU(Activation):
    """x where it is positive, a small multiple of it elsewhere: no unit dies."""

    name, formula, continuity = "leaky_relu", r"x \text{ if } x > 0 \text{ else } 0.01 x", 0

    negative_slope: float = parameter(0.01, Number(low=0), "Slope for negative inputs.")

    @property
    def low(self) -> float:
        return -math.inf

    def function(self, x: Tensor) -> Tensor:
        return functions.leaky_relu(x, self.negative_slope)

    def slope(self, x: Tensor) -> Tensor:
        return slopes.leaky_relu_slope(x, self.negative_slope)

    def layer(self) -> nn.Module:
        return nn.LeakyReLU(self.negative_slope)


class ELU(Activation):
    r"""x where it is positive, :math:`\alpha(e^x - 1)` elsewhere."""

    name, formula, continuity = "elu", r"x \text{ if } x > 0 \text{ else } \alpha(e^x - 1)", 1

    alpha: float = parameter(1.0, Number(above=0), "Where the function ends on the left, minus this.")

    @property
    def low(self) -> float:
        return -self.alpha

    def function(self, x: Tensor) -> Tensor:
        return functions.elu(x, self.alpha)

    def slope(self, x: Tensor) -> Tensor:
        return slopes.elu_slope(x, self.alpha)

    def layer(self) -> nn.Module:
        return nn.ELU(self.alpha)


class Softplus(Activation):
    r""":math:`\log(1 + e^x)`, a rectifier without a corner."""

    name, formula = "softplus", r"\log(1 + e^x)"

    def function(self, x: Tensor) -> Tensor:
        return functions.softplus(x)

    def slope(self, x: Tensor) -> Tensor:
        return functions.sigmoid(x)

    def layer(self) -> nn.Module:
        return nn.Softplus()


class SquaredRectifier(Activation):
    r""":math:`\max(0, x)^2` (So et al., 2021)."""

    name, formula, continuity, attained = "relu_squared", r"\max(0, x)^2", 1, (True, False)

    def function(self, x: Tensor) -> Tensor:
        return functions.relu(x).square()

    def slope(self, x: Tensor) -> Tensor:
        return 2 * functions.relu(x)

    def layer(self) -> nn.Module:
        return SquaredReLU()
