r"""Derivatives of the activations, written out: what a backward pass multiplies by."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from margin.neural.activations.functions import (
    GELU_CUBIC,
    GELU_SCALE,
    QUICK_GELU_RATE,
    gaussian,
    sigmoid,
    softplus,
    tanh,
)

__all__ = [
    "elu_slope",
    "gaussian_slope",
    "gelu_slope",
    "gelu_tanh_slope",
    "leaky_relu_slope",
    "mish_slope",
    "one",
    "quick_gelu_slope",
    "relu_slope",
    "sigmoid_slope",
    "silu_slope",
    "tanh_slope",
    "zero",
]


def one(x: Tensor) -> Tensor:
    """The derivative of the identity."""
    return torch.ones_like(x)


def zero(x: Tensor) -> Tensor:
    """The derivative of the step, wherever it has one."""
    return torch.zeros_like(x)


def sigmoid_slope(x: Tensor) -> Tensor:
    r""":math:`\sigma'(x) = \sigma(x)(1 - \sigma(x)) = \sigma(x)\sigma(-x) \le \frac14`.

    The second form keeps all digits for large x, where :math:`1 - \sigma(x)` has none.

    >>> float(sigmoid_slope(torch.tensor(0.0)))
    0.25
    """
    return sigmoid(x) * sigmoid(-x)


def tanh_slope(x: Tensor) -> Tensor:
    r""":math:`\tanh'(x) = 1 - \tanh^2(x) \le 1`."""
    return 1 - tanh(x).square()


def relu_slope(x: Tensor) -> Tensor:
    r""":math:`1(x > 0)`: 0 at 0, one of the values between 0 and 1 that a subgradient may take there."""
    return (x > 0).to(x.dtype)


def leaky_relu_slope(x: Tensor, slope: float = 0.01) -> Tensor:
    """1 for positive inputs, ``slope`` for the others."""
    return torch.where(x > 0, torch.ones_like(x), torch.full_like(x, slope))


def elu_slope(x: Tensor, alpha: float = 1.0) -> Tensor:
    r"""1 for positive inputs, :math:`\alpha e^x` for the others."""
    return torch.where(x > 0, torch.ones_like(x), alpha * torch.exp(x.clamp(max=0.0)))


def gelu_slope(x: Tensor) -> Tensor:
    r""":math:`\Phi(x) + x\,\varphi(x)` with the standard normal density :math:`\varphi`."""
    density = torch.exp(-0.5 * x.square()) / math.sqrt(2 * math.pi)
    return 0.5 * torch.erfc(-x / math.sqrt(2)) + x * density


def gelu_tanh_slope(x: Tensor) -> Tensor:
    r""":math:`\frac12(1 + t) + \frac x2(1 - t^2)\sqrt{2/\pi}\,(1 + 3 \cdot 0.044715x^2)` with t the tanh."""
    t = torch.tanh(GELU_SCALE * (x + GELU_CUBIC * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t.square()) * GELU_SCALE * (1 + 3 * GELU_CUBIC * x.square())


def silu_slope(x: Tensor) -> Tensor:
    r""":math:`\sigma(x) + x\,\sigma'(x)`."""
    return sigmoid(x) + x * sigmoid_slope(x)


def quick_gelu_slope(x: Tensor) -> Tensor:
    r""":math:`\sigma(ax) + ax\,\sigma'(ax)` with :math:`a = 1.702`."""
    return silu_slope(QUICK_GELU_RATE * x)


def mish_slope(x: Tensor) -> Tensor:
    r""":math:`t + x\,(1 - t^2)\,\sigma(x)` with :math:`t = \tanh(\log(1 + e^x))`."""
    t = tanh(softplus(x))
    return t + x * (1 - t.square()) * sigmoid(x)


def gaussian_slope(x: Tensor) -> Tensor:
    r""":math:`-2x e^{-x^2}`."""
    return -2 * x * gaussian(x)
