"""Activation layers that torch does not have."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from margin.neural.activations.functions import QUICK_GELU_RATE, binary_step, gaussian
from margin.neural.written_gradients import squared_rectifier

__all__ = ["BinaryStep", "Gaussian", "LargestOfGroup", "Maxout", "QuickGELULayer", "Sine", "SquaredReLU", "maxout"]


class BinaryStep(nn.Module):
    """1 from 0 on and 0 before. Its gradient is 0, so layers below it never learn: it is here to show that."""

    def forward(self, x: Tensor) -> Tensor:
        return binary_step(x)


class Sine(nn.Module):
    r""":math:`\sin(x)`, a periodic activation."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(x)


class Gaussian(nn.Module):
    r""":math:`e^{-x^2}`, a bump."""

    def forward(self, x: Tensor) -> Tensor:
        return gaussian(x)


class QuickGELULayer(nn.Module):
    r""":math:`x\,\sigma(1.702x)`, as CLIP has it."""

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(QUICK_GELU_RATE * x)


class SquaredReLU(nn.Module):
    r""":math:`\max(x, 0)^2` (So et al., 2021)."""

    def forward(self, x: Tensor) -> Tensor:
        return squared_rectifier(x)


def maxout(z: Tensor, pieces: int) -> Tensor:
    r""":math:`\max_k z_{ok}`: the largest of every ``pieces`` neighboring entries of the last axis.

    >>> maxout(torch.tensor([[1.0, 5.0, -2.0, -3.0]]), 2)
    tensor([[ 5., -2.]])
    """
    return z.unflatten(-1, (-1, pieces)).amax(dim=-1)


class LargestOfGroup(nn.Module):
    """The largest of every ``pieces`` units."""

    def __init__(self, pieces: int):
        super().__init__()
        self.pieces = pieces

    def forward(self, z: Tensor) -> Tensor:
        return maxout(z, self.pieces)

    def extra_repr(self) -> str:
        return f"pieces={self.pieces}"


class Maxout(nn.Module):
    r"""The largest of several affine maps of the same input, for every output.

    .. math:: y_o = \max_{k=1..K}\,(w_{ok}^\top x + b_{ok})

    A convex piecewise linear function; K = 2 holds the rectifier (x and 0) and the absolute value (x and -x). Only the
    winning piece receives a gradient. ``linear`` maps (..., in) to (..., out * pieces), pieces of an output adjacent.

    >>> layer = Maxout(1, 1, pieces=2)
    >>> with torch.no_grad():
    ...     _ = layer.linear.weight.copy_(torch.tensor([[1.0], [-1.0]])), layer.linear.bias.zero_()
    ...     layer(torch.tensor([[-3.0], [2.0]]))
    tensor([[3.],
            [2.]])
    """

    def __init__(self, in_features: int, out_features: int, pieces: int):
        super().__init__()
        if pieces < 1:
            raise ValueError(f"Maxout: pieces must be at least 1; got {pieces!r}.")
        self.out_features, self.pieces = out_features, pieces
        self.linear = nn.Linear(in_features, out_features * pieces)

    def forward(self, x: Tensor) -> Tensor:
        return maxout(self.linear(x), self.pieces)

    def extra_repr(self) -> str:
        return f"pieces={self.pieces}"
