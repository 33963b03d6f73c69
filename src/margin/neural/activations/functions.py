r"""Activations of one input, entry by entry: tensor in, tensor of the same shape out.

Each is its equation in a form that neither overflows nor loses its gradient; torch's own kernels
(:data:`~margin.neural.activations.table.ACTIVATIONS`) compute the same and are what networks use.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

__all__ = [
    "binary_step",
    "elu",
    "gaussian",
    "gelu",
    "gelu_tanh",
    "identity",
    "leaky_relu",
    "mish",
    "quick_gelu",
    "relu",
    "sigmoid",
    "silu",
    "smooth_relu",
    "softplus",
    "steep_sigmoid",
    "tanh",
]

QUICK_GELU_RATE = 1.702  # at which the logistic function is nearest to the normal distribution
GELU_SCALE, GELU_CUBIC = math.sqrt(2 / math.pi), 0.044715  # of the approximation of GELU by a tanh
TANH_IS_ONE = 20.0  # 1 - tanh(20) = 8.5e-18 is lost in double precision


def identity(x: Tensor) -> Tensor:
    """:math:`x`."""
    return x


def binary_step(x: Tensor) -> Tensor:
    r"""Heaviside's :math:`H(x) = 1(x \ge 0)`: 1 from 0 on, 0 before; its derivative is 0 wherever it exists.

    >>> binary_step(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 1., 1.])
    """
    # Built from signs, whose gradient torch knows to be 0; a comparison would have no gradient at all.
    return 0.5 * (1 + torch.sign(torch.sign(x) + 0.5))


def softplus(x: Tensor) -> Tensor:
    r""":math:`\zeta(x) = \log(1 + e^x)`, a rectifier without a corner; :math:`\zeta - \mathrm{relu} \le \log 2`.

    >>> softplus(torch.tensor([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.693147..., 1000.0]
    """
    return torch.logaddexp(x, torch.zeros_like(x))


smooth_relu = softplus


def sigmoid(x: Tensor) -> Tensor:
    r""":math:`\sigma(x) = \frac{1}{1 + e^{-x}} = e^{-\zeta(-x)}`, between 0 and 1.

    >>> sigmoid(torch.tensor([-1000.0, 0.0, 1000.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return torch.exp(-softplus(-x))


def steep_sigmoid(x: Tensor, slope: float, shift: float = 0.0) -> Tensor:
    r""":math:`\sigma(a(x - s))` for ``slope`` a and ``shift`` s, which tends to :math:`H(x - s)` as a grows.

    Where :math:`|x - s| \ge w` the two differ by at most :math:`e^{-aw}`; at x = s it is 1/2 for every slope.

    >>> steep_sigmoid(torch.tensor([1.0, 2.0, 3.0]), slope=1000.0, shift=2.0)
    tensor([0.0000, 0.5000, 1.0000])
    """
    return sigmoid(slope * (x - shift))


def tanh(x: Tensor) -> Tensor:
    r""":math:`\tanh(x) = \frac{e^{2x} - 1}{e^{2x} + 1} = 2\sigma(2x) - 1`, between -1 and 1.

    >>> tanh(torch.tensor([-1000.0, 0.0, 1000.0]))
    tensor([-1.,  0.,  1.])
    """
    grown = torch.expm1(2 * x.clamp(max=TANH_IS_ONE))  # e^{2x} - 1, exact near 0
    return grown / (grown + 2)


def relu(x: Tensor) -> Tensor:
    r""":math:`\max(0, x)`; the derivative at 0, where there is none, is taken as 0.

    >>> relu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """
    return torch.where(x > 0, x, torch.zeros_like(x))


def leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    r""":math:`x` for :math:`x > 0` and ``slope`` times x otherwise; :math:`\max(x, ax)` only for slopes in [0, 1].

    >>> leaky_relu(torch.tensor([-2.0, 2.0]))
    tensor([-0.0200,  2.0000])
    """
    return torch.where(x > 0, x, slope * x)


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    r""":math:`x` for :math:`x > 0` and :math:`\alpha(e^x - 1)` otherwise; slopes at 0 are 1 and :math:`\alpha`.

    >>> elu(torch.tensor([-1000.0, 2.0]), alpha=0.5)
    tensor([-0.5000,  2.0000])
    """
    # The clamp keeps the branch that is not taken finite, so that its gradient is 0 and not 0 * inf.
    return torch.where(x > 0, x, alpha * torch.expm1(x.clamp(max=0.0)))


def gelu(x: Tensor) -> Tensor:
    r""":math:`x\,\Phi(x) = \frac x2\bigl(1 + \mathrm{erf}(x/\sqrt2)\bigr)`, x times the standard normal distribution.

    >>> gelu(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    return 0.5 * x * torch.erfc(-x / math.sqrt(2))


def gelu_tanh(x: Tensor) -> Tensor:
    r"""The approximation :math:`\frac x2\bigl(1 + \tanh(\sqrt{2/\pi}\,(x + 0.044715x^3))\bigr)` of :func:`gelu`.

    >>> gelu_tanh(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1588,  0.0000,  0.8412])
    """
    return 0.5 * x * (1 + torch.tanh(GELU_SCALE * (x + GELU_CUBIC * x**3)))


def silu(x: Tensor) -> Tensor:
    r""":math:`x\,\sigma(x)`.

    >>> silu(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2689,  0.0000,  0.7311])
    """
    return x * sigmoid(x)


def quick_gelu(x: Tensor) -> Tensor:
    r""":math:`x\,\sigma(1.702x)`, CLIP's approximation of :func:`gelu`.

    >>> quick_gelu(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1542,  0.0000,  0.8458])
    """
    return x * sigmoid(QUICK_GELU_RATE * x)


def mish(x: Tensor) -> Tensor:
    r""":math:`x\tanh(\log(1 + e^x))`.

    >>> mish(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.3034,  0.0000,  0.8651])
    """
    return x * tanh(softplus(x))


def gaussian(x: Tensor) -> Tensor:
    r""":math:`e^{-x^2}`, a bump: an activation that is not monotone.

    >>> gaussian(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([0.3679, 1.0000, 0.3679])
    """
    return torch.exp(-x.square())
