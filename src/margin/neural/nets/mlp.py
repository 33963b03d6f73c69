r"""The multi-layer perceptron as a plain module.

.. math:: h_0 = x,\qquad h_k = a(W_k h_{k-1} + b_k),\qquad y = W_{K+1} h_K + b_{K+1}
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast

from torch import Tensor, nn
from torch.nn import functional

from margin.neural.activations.rectified import LeakyReLU
from margin.neural.activations.table import ACTIVATIONS, COMPETING
from margin.neural.initialize.initializers import INITIALIZERS
from margin.neural.initialize.schemes import he_, xavier_
from margin.neural.layers.dropout import Dropout
from margin.neural.normalization.normalizations import NORMALIZATIONS
from margin.neural.parts import choose

__all__ = ["MLP", "Trace", "TwoClassMLP"]


class Trace(NamedTuple):
    """What a forward pass computes on its way."""

    pre_activations: list[Tensor]  # W_k h_{k-1} + b_k for k = 1..K+1; the last is the output
    activations: list[Tensor]  # h_0 = x, h_1, ..., h_K


class MLP(nn.Module):
    r"""Fully connected layers of the given ``sizes`` (input, hidden..., output).

    Weights start from He's normal distribution :math:`N(0, 2/n_{in})`, which keeps the size of the activations of
    rectified units through the layers, and the last layer from Glorot's :math:`N(0, 2/(n_{in}+n_{out}))`. Biases keep
    torch's :math:`U(-n_{in}^{-1/2}, n_{in}^{-1/2})`: all 0, they would put all joints of the first layer at the origin.

    ``activation``, ``norm`` and ``initializer`` are names or objects of :data:`ACTIVATIONS`, :data:`NORMALIZATIONS` and
    :data:`INITIALIZERS`; a norm stands before every activation, an initializer draws all weights.

    >>> import torch
    >>> net = MLP([4, 8, 3], activation="tanh")
    >>> net(torch.zeros(5, 4)).shape
    torch.Size([5, 3])
    >>> net.widths, net.depth, net.capacity
    ([8], 1, 8)
    """

    def __init__(
        self,
        sizes: Sequence[int],
        activation: Any = "relu",
        dropout: float = 0.0,
        negative_slope: float = 0.01,
        norm: Any = None,
        initializer: Any = None,
    ):
        super().__init__()
        if len(sizes) < 2 or min(sizes) < 1:
            raise ValueError(f"MLP: sizes must be at least an input and an output size, all positive; got {sizes!r}.")
        self.sizes = [int(size) for size in sizes]
        if activation == "leaky_relu":  # the name has a slope beside it; an object has its own
            activation = LeakyReLU(negative_slope)
        part = choose("MLP: activation", activation, {**ACTIVATIONS, **COMPETING})
        inputs = [*(part.pieces * width for width in self.sizes[1:-1]), self.sizes[-1]]
        linears = nn.ModuleList(nn.Linear(a, b) for a, b in zip(self.sizes, inputs))
        self.linears = cast(Sequence[nn.Linear], linears)  # a list of modules does not tell their class
        self.activation = part.layer()
        self.dropout = Dropout(dropout)
        self.norms: Sequence[nn.Module] | None = None
        if norm is not None:
            normalization = choose("MLP: norm", norm, NORMALIZATIONS)
            self.norms = cast(Sequence[nn.Module], nn.ModuleList(normalization.of_rows(b) for b in inputs[:-1]))
        self._draw(initializer)

    def _draw(self, initializer: Any) -> None:
        fill = he_ if initializer is None else choose("MLP: initializer", initializer, INITIALIZERS)
        for linear in self.linears:
            fill(linear.weight)
        if initializer is None:
            xavier_(self.linears[-1].weight)

    def forward(self, x: Tensor) -> Tensor:
        *hidden, last = self.linears  # a slice of a list of modules would build a new one at every pass
        h = x
        if self.norms is None:
            for linear in hidden:
                h = self.dropout(self.activation(linear(h)))
        else:
            for linear, norm in zip(hidden, self.norms):
                h = self.dropout(self.activation(norm(linear(h))))
        return last(h)

    def trace(self, x: Tensor) -> Trace:
        """Every pre-activation (normalized, with a norm) and activation for ``x``, without dropout."""
        trace = Trace([], [x])
        for k, linear in enumerate(self.linears[:-1]):
            z = linear(trace.activations[-1])
            trace.pre_activations.append(z if self.norms is None else self.norms[k](z))
            trace.activations.append(self.activation(trace.pre_activations[-1]))
        trace.pre_activations.append(self.linears[-1](trace.activations[-1]))
        return trace

    @property
    def widths(self) -> list[int]:
        """Units per hidden layer."""
        return self.sizes[1:-1]

    @property
    def depth(self) -> int:
        """Number of hidden layers."""
        return len(self.widths)

    @property
    def kind(self) -> str:
        """A network with one hidden layer is shallow, with more it is deep, without any it is linear."""
        return ("linear", "shallow", "deep")[min(self.depth, 2)]

    @property
    def capacity(self) -> int:
        """Number of hidden units."""
        return sum(self.widths)

    @property
    def multiply_adds(self) -> int:
        r""":math:`\sum_{j=1}^{K+1} n_{j-1} n_j`, the cost of the forward pass of one row."""
        return sum(a * b for a, b in pairwise(self.sizes))


class TwoClassMLP(MLP):
    r"""A perceptron with one output z, the logits (0, z) of two classes: their softmax is :math:`\sigma(z)`.

    Two outputs would say the same twice, and an optimizer that moves each of them moves their difference twice as far.

    >>> import torch
    >>> TwoClassMLP([4, 8, 1])(torch.zeros(5, 4))[:, 0].tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0]
    """

    def forward(self, x: Tensor) -> Tensor:
        return functional.pad(super().forward(x), (1, 0))
