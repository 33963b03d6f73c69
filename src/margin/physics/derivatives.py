"""Derivatives of a network by automatic differentiation, row by row: what residuals of equations are written with."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["derivative", "gradient", "laplacian"]


def gradient(u: Tensor, x: Tensor) -> Tensor:
    """Derivatives of ``u`` (n,) or (n, 1) in every coordinate of ``x`` (n, d); row i of u depends on row i of x only.

    >>> x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    >>> gradient(x[:, 0] * x[:, 1] ** 2, x).tolist()
    [[4.0, 4.0]]
    """
    if u.shape not in ((len(x),), (len(x), 1)):
        raise ValueError(f"gradient: u must be one number per point, ({len(x)},); got {tuple(u.shape)}.")
    (found,) = torch.autograd.grad(u.sum(), x, create_graph=True, allow_unused=True, materialize_grads=True)
    return found


def derivative(u: Tensor, x: Tensor, *axes: int) -> Tensor:
    """The derivative of ``u`` in the coordinates ``axes``, one after the other: ``derivative(u, x, 1, 1)`` is u_11."""
    for axis in axes:
        u = gradient(u, x)[:, axis]
    return u


def laplacian(u: Tensor, x: Tensor) -> Tensor:
    r""":math:`\Delta u = \sum_i \partial^2 u / \partial x_i^2`."""
    first = gradient(u, x)
    return torch.stack([gradient(first[:, i], x)[:, i] for i in range(x.shape[1])]).sum(dim=0)
