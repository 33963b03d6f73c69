r"""A perceptron applied to every pixel at once, by convolutions with kernels of one pixel."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from margin.neural.layers.dropout import Dropout

__all__ = ["PixelMLP"]

CONVOLUTIONS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}


class PixelMLP(nn.Module):
    """``n_layers`` convolutions of kernel size 1 over (N, C, *space), GELU and dropout between them, the last linear.

    >>> import torch
    >>> PixelMLP(3, 2, hidden=8)(torch.zeros(5, 3, 4, 6)).shape
    torch.Size([5, 2, 4, 6])
    """

    def __init__(
        self, in_channels: int, out_channels: int, hidden: int, n_layers: int = 2, n_dim: int = 2, dropout: float = 0.0
    ):
        super().__init__()
        if n_layers < 1 or n_dim not in CONVOLUTIONS:
            raise ValueError(
                f"PixelMLP: n_layers must be at least 1 and n_dim 1, 2 or 3; got {n_layers!r} and {n_dim!r}."
            )
        sizes = [in_channels, *[hidden] * (n_layers - 1), out_channels]
        self.convolutions = nn.ModuleList(CONVOLUTIONS[n_dim](a, b, kernel_size=1) for a, b in pairwise(sizes))
        self.activation = nn.GELU()
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        for convolution in self.convolutions[:-1]:
            x = self.dropout(self.activation(convolution(x)))
        return self.convolutions[-1](x)
