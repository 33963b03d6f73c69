"""Bounded activations, and the identity, which is none at all."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from margin.neural.activations import functions, slopes
from margin.neural.activations.activation import Activation
from margin.neural.activations.layers import BinaryStep, Gaussian, Sine

__all__ = ["GaussianBump", "Heaviside", "LinearUnit", "Sigmoid", "Sinusoid", "Tanh"]


class LinearUnit(Activation):
    """The input itself."""

    name, formula, rectifies = "identity", "x", False

    @property
    def low(self) -> float:
        return -math.inf

    def function(self, x: Tensor) -> Tensor:
        return functions.identity(x)

    def slope(self, x: Tensor) -> Tensor:
        return slopes.one(x)

    def layer(self) -> nn.Module:
        return nn.Identity()


class Heaviside(Activation):
    """1 from 0 on and 0 before. Its gradient is 0, so layers below it never learn: it is here to show that."""

    name, formula, high, continuity, attained = "binary_step", r"1(x \ge 0)", 1.0, -1, (True, True)

    def function(self, x: Tensor) -> Tensor:
        return functions.binary_step(x)

    def slope(self, x: Tensor) -> Tensor:
        return slopes.zero(x)

    def layer(self) -> nn.Module:
        return BinaryStep()


class Sigmoid(Activation):
    r""":math:`1/(1 + e^{-x})`."""

    name, formula, high, rectifies = "sigmoid", r"1/(1 + e^{-x})", 1.0, False

    def function(self, x: Tensor) -> Tensor:
        return functions.sigmoid(x)

    def slope(self, x: Tensor) -> Tensor:
        return slopes.sigmoid_slope(x)

    def layer(self) -> nn.Module:
        return nn.Sigmoid()


class Tanh(Activation):
    r""":math:`\tanh x`."""

    name, formula, high, rectifies = "tanh", r"(e^x - e^{-x})/(e^x + e^{-x})", 1.0, False

    @property
    def low(self) -> float:
        return -1.0

    def function(self, x: Tensor) -> Tensor:
        return functions.tanh(x)

    def slope(self, x: Tensor) -> Tensor:
        return slopes.tanh_slope(x)

    def layer(self) -> nn.Module:
        return nn.Tanh()


class Sinusoid(Activation):
    r""":math:`\sin x`, a periodic activation."""

    name, formula, high, attained, monotone, rectifies = "sine", r"\sin x", 1.0, (True, True), False, False

    @property
    def low(self) -> float:
        return -1.0

    def function(self, x: Tensor) -> Tensor:
        return torch.sin(x)

    def slope(self, x: Tensor) -> Tensor:
        return torch.cos(x)

    def layer(self) -> nn.Module:
        return Sine()


class GaussianBump(Activation):
    r""":math:`e^{-x^2}`, a bump."""

    name, formula, high, attained, monotone = "gaussian", r"e^{-x^2}", 1.0, (False, True), False

    def function(self, x: Tensor) -> Tensor:
        return functions.gaussian(x)

    def slope(self, x: Tensor) -> Tensor:
        return slopes.gaussian_slope(x)

    def layer(self) -> nn.Module:
        return Gaussian()
