r"""Several perceptrons for tables side by side, in the parametrization whose learning rate suits every width.

.. math:: h_k = a\Bigl(\frac{W_k h_{k-1}}{\sqrt{n_{k-1}}} + \tfrac{1}{10} b_k\Bigr), \qquad W_k, b_k / 10 \sim N(0, 1)

With weights of size 1 and the factor outside, Adam moves the function by as much in a wide layer as in a narrow one;
biases move ten times less.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from margin.neural.activations import activation_layer

__all__ = ["TabularNet"]

BIAS_SCALE = 0.1


class TabularNet(nn.Module):
    """``n_networks`` perceptrons of the given ``sizes``: rows (N, in) give outputs (networks, N, out).

    >>> TabularNet(4, [3, 8, 2])(torch.zeros(5, 3)).shape
    torch.Size([4, 5, 2])
    """

    def __init__(self, n_networks: int, sizes: Sequence[int], activation: Any = "silu", zero_output: bool = False):
        super().__init__()
        self.weights = nn.ParameterList(torch.randn(n_networks, a, b) for a, b in pairwise(sizes))
        self.biases = nn.ParameterList(torch.randn(n_networks, 1, b) / BIAS_SCALE for b in sizes[1:])
        self.scales = [a**-0.5 for a in sizes[:-1]]
        self.activation = activation_layer(activation)
        with torch.no_grad():
            self.biases[-1].zero_()
            if zero_output:  # standardized numbers: the best guess before anything is known is their mean
                self.weights[-1].zero_()

    def forward(self, x: Tensor) -> Tensor:
        h = x.expand(self.weights[0].shape[0], *x.shape)
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            h = torch.baddbmm(bias, h, weight, beta=BIAS_SCALE, alpha=self.scales[k])
            if k < len(self.weights) - 1:
                h = self.activation(h)
        return h
