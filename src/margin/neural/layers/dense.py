r"""The fully connected layer, forward and backward, and stacks of it that collapse into one.

.. math:: Z = A W^\top + b
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from margin.neural.activations.table import activation_layer

__all__ = ["Dense", "DenseGradients", "collapse_linear", "dense", "dense_backward"]


def dense(a: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """``a`` of shape (N, n_in), ``weight`` (n_out, n_in) with row i the weights to neuron i: (N, n_out).

    >>> dense(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]), torch.tensor([5.0]))
    tensor([[16.]])
    """
    return a @ weight.T + bias


class DenseGradients(NamedTuple):
    """Derivatives of the loss in the layer's input, weights and biases."""

    a: Tensor
    weight: Tensor
    bias: Tensor


def dense_backward(delta: Tensor, a: Tensor, weight: Tensor) -> DenseGradients:
    r"""From :math:`\delta = \partial L/\partial z`, one row per example:
    :math:`\partial L/\partial a = W^\top\delta`, :math:`\partial L/\partial W = \delta a^\top` and
    :math:`\partial L/\partial b = \delta`, the last two summed over the examples.
    """
    return DenseGradients(delta @ weight, delta.T @ a, delta.sum(dim=0))


class Dense(nn.Module):
    r"""An affine map and an activation, :math:`a[b + Wx]`: :math:`n_{out}(n_{in} + 1)` parameters.

    Inputs of shape (N, C, H, W) are flattened to (N, CHW), as behind the last convolution of a classifier.

    >>> layer = Dense(12, 5, activation="relu")
    >>> layer(torch.zeros(2, 3, 2, 2)).shape, sum(p.numel() for p in layer.parameters())
    (torch.Size([2, 5]), 65)
    """

    def __init__(self, n_in: int, n_out: int, activation: str = "identity"):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.activation = activation_layer(activation)

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.linear(x.flatten(1)))


def collapse_linear(model: nn.Module) -> tuple[Tensor, Tensor]:
    r"""The one affine map that linear layers without activations amount to.

    .. math:: W = W_K \cdots W_1,\qquad b = b_K + W_K b_{K-1} + \dots + W_K \cdots W_2 b_1

    >>> W, b = collapse_linear(nn.Sequential(nn.Linear(3, 4), nn.Identity(), nn.Linear(4, 2)))
    >>> W.shape, b.shape
    (torch.Size([2, 3]), torch.Size([2]))
    """
    layers = [module for module in model.modules() if not any(module.children())]
    for layer in layers:
        if not isinstance(layer, nn.Linear | nn.Identity):
            name = type(layer).__name__
            raise ValueError(f"collapse_linear: model must have linear and identity layers only; got a {name}.")
    linears = [layer for layer in layers if isinstance(layer, nn.Linear)]
    if not linears:
        raise ValueError("collapse_linear: model must have at least one linear layer; got none.")
    W = torch.eye(linears[0].in_features, dtype=linears[0].weight.dtype)
    b = torch.zeros(linears[0].in_features, dtype=linears[0].weight.dtype)
    for layer in linears:
        W, b = layer.weight @ W, layer.weight @ b + (0 if layer.bias is None else layer.bias)
    return W.detach(), b.detach()
