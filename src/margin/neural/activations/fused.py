r"""The functions of :mod:`~margin.neural.activations.softmax` and a few others in torch's own kernels: what runs.

A kernel reads its input once where the plain form reads it several times. Values and gradients are those of the plain
form to rounding, which one test holds for every pair of :data:`FUSED`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from margin.neural.activations.functions import softplus
from margin.neural.activations.softmax import log_softmax, logsumexp, softmax

__all__ = [
    "FUSED",
    "fused_log_softmax",
    "fused_logsumexp",
    "fused_softmax",
    "fused_softplus",
]


def fused_softmax(x: Tensor, dim: int = -1) -> Tensor:
    r""":math:`e^{x_i} / \sum_j e^{x_j}` along ``dim``.

    >>> fused_softmax(torch.tensor([1000.0, 1000.0, -1000.0]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    return torch.softmax(x, dim=dim)


def fused_log_softmax(x: Tensor, dim: int = -1) -> Tensor:
    r""":math:`x_i - \log\sum_j e^{x_j}` along ``dim``.

    >>> fused_log_softmax(torch.tensor([200.0, 0.0]))
    tensor([   0., -200.])
    """
    return torch.log_softmax(x, dim=dim)


def fused_logsumexp(x: Tensor, dim: int = -1, keepdim: bool = False) -> Tensor:
    r""":math:`\log\sum_j e^{x_j}` along ``dim``."""
    return torch.logsumexp(x, dim=dim, keepdim=keepdim)


def fused_softplus(x: Tensor) -> Tensor:
    r""":math:`\log(1 + e^x)`; from 20 on it is x itself, which differs by less than :math:`3 \cdot 10^{-9}`."""
    return functional.softplus(x)


#: Every plain form with the fused one that runs in its place.
FUSED: dict[Callable[..., Tensor], Callable[..., Tensor]] = {
    softmax: fused_softmax,
    log_softmax: fused_log_softmax,
    logsumexp: fused_logsumexp,
    softplus: fused_softplus,
}
