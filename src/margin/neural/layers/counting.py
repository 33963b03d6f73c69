"""How many numbers a layer holds."""

from __future__ import annotations

import math
from typing import NamedTuple

from torch import nn

__all__ = ["Counts", "conv_parameters", "count_values", "linear_parameters"]


class Counts(NamedTuple):
    """Numbers that training adjusts, and numbers that are stored beside them, such as running statistics."""

    trainable: int
    running: int


def count_values(layer: nn.Module) -> Counts:
    """Counted from the layer itself; a counter of batches is no value of the network.

    >>> count_values(nn.Conv2d(3, 8, 5)), count_values(nn.BatchNorm2d(7))
    (Counts(trainable=608, running=0), Counts(trainable=14, running=14))
    """
    trainable = sum(p.numel() for p in layer.parameters() if p.requires_grad)
    return Counts(trainable, sum(b.numel() for b in layer.buffers() if b.is_floating_point()))


def conv_parameters(in_channels: int, out_channels: int, kernel_size: tuple[int, ...]) -> int:
    """(inputs times the product of the kernel's sizes, plus a bias) for every output.

    >>> conv_parameters(3, 8, (5, 5))
    608
    """
    return (in_channels * math.prod(kernel_size) + 1) * out_channels


def linear_parameters(n_in: int, n_out: int) -> int:
    """(inputs plus a bias) for every output.

    >>> linear_parameters(10, 4)
    44
    """
    return (n_in + 1) * n_out
