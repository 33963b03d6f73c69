r"""Average pooling to a given size."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["adaptive_avg_pool2d"]


def adaptive_avg_pool2d(x: Tensor, output_size: tuple[int, int]) -> Tensor:
    r"""Means over windows that cover the image evenly: (N, C, H, W) becomes (N, C, h, w).

    Output i of h averages rows :math:`\lfloor iH/h\rfloor` to :math:`\lceil (i+1)H/h\rceil - 1`; neighboring windows
    overlap by a row where h does not divide H.

    >>> adaptive_avg_pool2d(torch.arange(6.0).view(1, 1, 2, 3), (1, 2))
    tensor([[[[2., 3.]]]])
    """
    h, w = output_size
    if x.ndim != 4 or h < 1 or w < 1:
        raise ValueError(
            f"adaptive_avg_pool2d: x must have shape (N, C, H, W) and output_size be positive; "
            f"got {tuple(x.shape)} and {output_size!r}."
        )
    return _averages(_averages(x, h, dim=2), w, dim=3)  # a mean over a window is a mean of the means of its rows


def _averages(x: Tensor, size: int, dim: int) -> Tensor:
    length = x.shape[dim]
    windows = ((i * length // size, -(-(i + 1) * length // size)) for i in range(size))
    return torch.stack([x.narrow(dim, start, end - start).mean(dim=dim) for start, end in windows], dim=dim)
