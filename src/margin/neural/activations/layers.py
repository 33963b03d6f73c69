"""Activation layers by name: what a network parameter such as ``activation="relu"`` stands for."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from margin.neural.activations.functions import binary_step

__all__ = ["ACTIVATIONS", "BinaryStep", "Maxout", "Sine", "activation_layer"]

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "softplus": nn.Softplus,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "logistic": nn.Sigmoid,  # the name scikit-learn has for it
    "identity": nn.Identity,
}


def activation_layer(name: str, **options: Any) -> nn.Module:
    """The layer that applies the named function to every entry; ``options`` are those of the layer's class.

    >>> activation_layer("relu")
    ReLU()
    >>> activation_layer("leaky_relu", negative_slope=0.2)
    LeakyReLU(negative_slope=0.2)
    """
    if name not in ACTIVATIONS:
        raise ValueError(f"activation_layer: name must be one of {', '.join(ACTIVATIONS)}; got {name!r}.")
    return ACTIVATIONS[name](**options)


class BinaryStep(nn.Module):
    """1 from 0 on and 0 before. Its gradient is 0, so layers below it never learn: it is here to show that."""

    def forward(self, x: Tensor) -> Tensor:
        return binary_step(x)


class Sine(nn.Module):
    r""":math:`\sin(x)`, a periodic activation."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(x)


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
        return self.linear(x).unflatten(-1, (self.out_features, self.pieces)).amax(dim=-1)

    def extra_repr(self) -> str:
        return f"pieces={self.pieces}"
