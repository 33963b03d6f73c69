r"""Output sizes and parameter counts of convolutions and pooling.

.. math:: W' = \left\lfloor\frac{W + 2P - D(F - 1) - 1}{S}\right\rfloor + 1
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

__all__ = [
    "ConvArithmetic",
    "conv_arithmetic",
    "conv_output_size",
    "count_positions",
    "pool_output_size",
    "transposed_output_size",
]


def count_positions(size: int, kernel: int, padding: int = 0, stride: int = 1, dilation: int = 1) -> int:
    """Positions of a kernel along one side, 0 or less where it does not fit; what a last step skips is left out.

    >>> count_positions(28, 5, padding=2), count_positions(6, 3, stride=2)
    (28, 2)
    """
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def conv_output_size(size: int, kernel: int, padding: int = 0, stride: int = 1, dilation: int = 1) -> int:
    """Positions of a kernel along one side; where the last step does not fit it is left out, with a warning.

    >>> conv_output_size(227, 11, stride=4)
    55
    """
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    if room < 0:
        raise ValueError(
            f"conv_output_size: a kernel that covers {dilation * (kernel - 1) + 1} entries does not fit into "
            f"{size} with padding {padding}."
        )
    if room % stride:
        warnings.warn(
            f"conv_output_size: the last {room % stride} of {size + 2 * padding} entries are not reached with "
            f"kernel {kernel} and stride {stride}; the quotient is rounded down.",
            stacklevel=2,
        )
    return count_positions(size, kernel, padding, stride, dilation)


def pool_output_size(size: int, window: int, stride: int | None = None) -> int:
    """Windows along one side, ``stride`` apart (their own width by default); the number of channels stays.

    >>> pool_output_size(4, 2), pool_output_size(55, 3, 2)
    (2, 27)
    """
    return conv_output_size(size, window, stride=window if stride is None else stride)


def transposed_output_size(size: int, kernel: int, padding: int = 0, stride: int = 1) -> int:
    """Side of a transposed convolution's output.

    >>> transposed_output_size(5, 4, padding=1, stride=2)
    10
    """
    return (size - 1) * stride - 2 * padding + kernel


class ConvArithmetic(NamedTuple):
    """What one convolutional layer costs, with one set of weights per output map and with one per neuron."""

    side: int
    neurons: int
    parameters_per_neuron: int
    unshared_parameters: int
    shared_weights: int
    shared_parameters: int


def conv_arithmetic(size: int, kernel: int, stride: int, padding: int, filters: int, channels: int) -> ConvArithmetic:
    """The numbers of a layer of ``filters`` square filters on a square image with ``channels`` channels.

    >>> conv_arithmetic(227, 11, 4, 0, filters=96, channels=3).shared_parameters
    34944
    """
    side = conv_output_size(size, kernel, padding, stride)
    neurons, weights = side * side * filters, kernel * kernel * channels
    return ConvArithmetic(
        side, neurons, weights + 1, neurons * (weights + 1), filters * weights, filters * (weights + 1)
    )
