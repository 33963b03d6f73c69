"""Which cells share a mean and a variance, found by asking the layer."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["pooled_cells"]


def pooled_cells(normalize: Callable[[Tensor], Tensor], x: Tensor, cell: tuple[int, ...]) -> Tensor:
    """Mask of the cells of ``x`` that the output at ``cell`` depends on.

    >>> from margin.neural.normalization.functions import layer_norm
    >>> x = torch.arange(6.0).view(2, 3).double()
    >>> pooled_cells(lambda t: layer_norm(t, [3]), x, (0, 1))
    tensor([[ True,  True,  True],
            [False, False, False]])
    """
    leaf = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(normalize(leaf)[cell], leaf)
    return gradient != 0
