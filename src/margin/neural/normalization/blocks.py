"""Convolution, normalization and activation in the usual order."""

from __future__ import annotations

from torch import nn

from margin.neural.activations.table import activation_layer
from margin.neural.normalization.layers import BatchNorm

__all__ = ["conv_bn_act"]

ORDERS = ("conv-bn-act", "conv-act-bn")


def conv_bn_act(
    in_channels: int,
    out_channels: int,
    kernel_size: int,
    *,
    activation: str = "relu",
    order: str = "conv-bn-act",
    bias: bool = False,
) -> nn.Sequential:
    """A block whose batch norm stands before the activation, or behind it for comparison.

    The convolution has no bias by default: batch norm behind it takes any constant out again.

    >>> [type(layer).__name__ for layer in conv_bn_act(3, 8, 3)]
    ['Conv2d', 'BatchNorm', 'ReLU']
    """
    if order not in ORDERS:
        raise ValueError(f"conv_bn_act: order must be one of {', '.join(ORDERS)}; got {order!r}.")
    parts = {
        "conv": nn.Conv2d(in_channels, out_channels, kernel_size, padding=kernel_size // 2, bias=bias),
        "bn": BatchNorm(out_channels),
        "act": activation_layer(activation),
    }
    return nn.Sequential(*(parts[name] for name in order.split("-")))
