"""The error surface of a small model on a grid, and where it curves downward."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["error_surface", "smallest_curvature"]

Loss = Callable[[Tensor], Tensor]


def error_surface(loss: Loss, *axes: Tensor) -> Tensor:
    """``loss`` of the parameter vector at every point of the grid that the axes span.

    >>> error_surface(lambda w: w.square().sum(), torch.tensor([0.0, 1.0]), torch.tensor([2.0, 3.0]))
    tensor([[ 4.,  9.],
            [ 5., 10.]])
    """
    grid = torch.stack(torch.meshgrid(*axes, indexing="ij"), dim=-1)
    return torch.stack([loss(w) for w in grid.flatten(0, -2)]).view(grid.shape[:-1])


def smallest_curvature(loss: Loss, *axes: Tensor) -> float:
    """The smallest eigenvalue of the Hessian over the grid: below 0, the surface is not convex.

    >>> smallest_curvature(lambda w: w.square().sum(), torch.linspace(-1, 1, 3), torch.linspace(-1, 1, 3))
    2.0
    """
    grid = torch.stack(torch.meshgrid(*axes, indexing="ij"), dim=-1).flatten(0, -2)
    hessians = torch.vmap(torch.func.hessian(loss))(grid)
    return float(torch.linalg.eigvalsh(hessians).min())
