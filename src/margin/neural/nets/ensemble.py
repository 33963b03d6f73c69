r"""Several perceptrons of one shape side by side, computed as one batched product.

Members have their own weights and never see each other, so M of them learn in little more time than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from margin.neural.activations import activation_layer
from margin.neural.initialize.moments import he_variance

__all__ = ["MLPEnsemble"]


class MLPEnsemble(nn.Module):
    """``n_members`` networks: rows (N, in), or rows of their own (M, N, in), give outputs (M, N, out).

    Weights start from He's normal distribution and biases from torch's uniform one, as in a single perceptron.

    >>> MLPEnsemble(4, [3, 8, 2])(torch.zeros(5, 3)).shape
    torch.Size([4, 5, 2])
    """

    def __init__(self, n_members: int, sizes: Sequence[int], activation: str = "relu"):
        super().__init__()
        if n_members < 1 or len(sizes) < 2:
            raise ValueError(
                f"MLPEnsemble: needs at least one member and two sizes; got {n_members!r} and {list(sizes)!r}."
            )
        pairs = list(pairwise(sizes))
        self.weights = nn.ParameterList(torch.randn(n_members, a, b) * he_variance(a, b) ** 0.5 for a, b in pairs)
        self.biases = nn.ParameterList((2 * torch.rand(n_members, 1, b) - 1) / a**0.5 for a, b in pairs)
        self.activation = activation_layer(activation)

    def forward(self, x: Tensor) -> Tensor:
        h = x.expand(self.weights[0].shape[0], *x.shape[-2:])
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            h = torch.baddbmm(bias.to(h.dtype), h, weight)
            if k < len(self.weights) - 1:
                h = self.activation(h)
        return h
