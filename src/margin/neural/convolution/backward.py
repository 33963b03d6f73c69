r"""The backward pass of a convolution, by hand.

With :math:`\delta = \partial L/\partial F`: the gradient of a filter is the correlation of the input with
:math:`\delta`, the gradient of the input the full convolution of :math:`\delta` with the filter, and the gradient of a
bias the sum of its :math:`\delta`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from margin.neural.convolution.equations import Numbers, patches
from margin.neural.convolution.padding import pad, per_axis
from margin.neural.convolution.transposed import conv_transpose

__all__ = ["ConvGradients", "conv_backward"]


class ConvGradients(NamedTuple):
    """Derivatives of the loss in the layer's input, weights and biases."""

    x: np.ndarray
    weight: np.ndarray
    bias: np.ndarray


def conv_backward(
    delta: np.ndarray,
    x: np.ndarray,
    weight: np.ndarray,
    *,
    stride: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
) -> ConvGradients:
    """Gradients of ``correlate(x, weight, bias)`` with the same options, from that of its output (N, O, *positions)."""
    d = weight.ndim - 2
    steps, cuts, gaps = (
        per_axis(v, d, n) for v, n in ((stride, "stride"), (padding, "padding"), (dilation, "dilation"))
    )
    kernel, positions = weight.shape[2:], list(range(2, 2 + d))
    seen = patches(pad(x, [(c, c) for c in cuts]), kernel, steps, gaps)
    grad_weight = np.tensordot(delta, seen, axes=([0, *positions], [0, *positions]))  # (O, C, *kernel)
    # Entries at the far end that no position of the kernel reached get no gradient: zeros behind the full convolution.
    missing = [
        n - ((m - 1) * s - 2 * c + g * (k - 1) + 1)
        for n, m, s, c, g, k in zip(x.shape[2:], delta.shape[2:], steps, cuts, gaps, kernel)
    ]
    grad_x = conv_transpose(delta, weight, stride=steps, padding=cuts, dilation=gaps, output_padding=missing)
    return ConvGradients(grad_x, grad_weight, delta.sum(axis=(0, *positions)))
