"""Inputs times a smooth gate of themselves: none of these is monotone."""

from __future__ import annotations

from torch import Tensor, nn

from margin.neural.activations import functions, layers, slopes
from margin.neural.activations.activation import Activation

__all__ = ["GELU", "GELU_MINIMUM", "MISH_MINIMUM", "SILU_MINIMUM", "Mish", "QuickGELU", "SiLU", "TanhGELU"]

GELU_MINIMUM = -0.1699712074799  # at x = -0.7517915247
SILU_MINIMUM = -0.2784645427611  # at x = -1.2784645428, where x = value - 1
MISH_MINIMUM = -0.3088434130173  # at x = -1.1924312030


class _Gated(Activation):
    attained, monotone = (True, False), False


class GELU(_Gated):
    r""":math:`x\,\Phi(x)` with the standard normal distribution."""

    name, formula = "gelu", r"\frac x2 (1 + \mathrm{erf}(x/\sqrt2))"

    @property
    def low(self) -> float:
        return GELU_MINIMUM

    def function(self, x: Tensor) -> Tensor:
        return functions.gelu(x)

    def slope(self, x: Tensor) -> Tensor:
        return slopes.gelu_slope(x)

    def layer(self) -> nn.Module:
        return nn.GELU()


class TanhGELU(GELU):
    r"""GPT-2's approximation :math:`\frac x2\bigl(1 + \tanh(\sqrt{2/\pi}(x + 0.044715x^3))\bigr)` of GELU."""

    name, formula = "gelu_tanh", r"\frac x2 (1 + \tanh(\sqrt{2/\pi}(x + 0.044715 x^3)))"

    def function(self, x: Tensor) -> Tensor:
        return functions.gelu_tanh(x)

    def slope(self, x: Tensor) -> Tensor:
        return slopes.gelu_tanh_slope(x)

    def layer(self) -> nn.Module:
        return nn.GELU(approximate="tanh")


class QuickGELU(_Gated):
    r"""CLIP's approximation :math:`x\,\sigma(1.702x)` of GELU."""

    name, formula = "quick_gelu", r"x\,\sigma(1.702x)"

    @property
    def low(self) -> float:
        return SILU_MINIMUM / functions.QUICK_GELU_RATE

    def function(self, x: Tensor) -> Tensor:
        return functions.quick_gelu(x)

    def slope(self, x: Tensor) -> Tensor:
        return slopes.quick_gelu_slope(x)

    def layer(self) -> nn.Module:
        return layers.QuickGELULayer()


class SiLU(_Gated):
    r""":math:`x\,\sigma(x)`."""

    name, formula = "silu", r"x\,\sigma(x)"

    @property
    def low(self) -> float:
        return SILU_MINIMUM

    def function(self, x: Tensor) -> Tensor:
        return functions.silu(x)

    def slope(self, x: Tensor) -> Tensor:
        return slopes.silu_slope(x)

    def layer(self) -> nn.Module:
        return nn.SiLU()


class Mish(_Gated):
    r""":math:`x\tanh(\log(1 + e^x))` (Misra, 2019)."""

    name, formula = "mish", r"x\tanh(\log(1 + e^x))"

    @property
    def low(self) -> float:
        return MISH_MINIMUM

    def function(self, x: Tensor) -> Tensor:
        return functions.mish(x)

    def slope(self, x: Tensor) -> Tensor:
        return slopes.mish_slope(x)

    def layer(self) -> nn.Module:
        return nn.Mish()
