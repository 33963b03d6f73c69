"""Derivatives of a network by automatic differentiation, row by row: what residuals of equations are written with.

Where the network has carried its derivatives forward with its values (:mod:`margin.physics.taylor`), they are looked
up: a solution and every derivative that was looked up is a column of one array, and its place there says which it is.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from margin.physics.taylor import Key, Layout

__all__ = ["NotCarried", "derivative", "gradient", "laplacian", "with_derivatives"]


class NotCarried(LookupError):
    """A derivative that was not carried forward with the values."""

    def __init__(self, *keys: Key):
        super().__init__(f"derivatives in the coordinates {keys} were not carried forward")
        self.keys = keys


class Carried(NamedTuple):
    """A column of an array of values and derivatives (J, n, outputs)."""

    array: Tensor
    layout: Layout
    key: Key
    column: int

    def derivative(self, *axes: int) -> Tensor:
        key = tuple(sorted(self.key + axes))
        if key not in self.layout.keys:
            raise NotCarried(key)
        return self.array[self.layout.keys.index(key), :, self.column]

    def gradient(self, d: int) -> Tensor:
        keys = [tuple(sorted((*self.key, axis))) for axis in range(d)]
        missing = [key for key in keys if key not in self.layout.keys]
        if missing:
            raise NotCarried(*missing)
        positions = [self.layout.keys.index(key) for key in keys]
        if positions == list(range(positions[0], positions[0] + d)):  # a view, of which columns are known again
            return self.array[positions[0] : positions[0] + d, :, self.column].T
        return self.array[positions, :, self.column].T


def with_derivatives(array: Tensor, layout: Layout, x: Tensor) -> Tensor:
    """The values (n, outputs) of ``array`` (J, n, outputs), whose derivatives at ``x`` are found in it."""
    array.carried = (layout, x)  # type: ignore[attr-defined]
    return array[0]


def _find_carried(u: Tensor, x: Tensor) -> Carried | None:
    """Which column of an array of derivatives ``u`` is; None for anything else."""
    array = u._base
    carried = getattr(array, "carried", None)
    if array is None or carried is None or carried[1] is not x or u.numel() != len(x):
        return None
    n, outputs = array.shape[1:]
    position, column = divmod(int(u.storage_offset()), n * outputs)
    if column >= outputs or (n > 1 and u.stride(0) != outputs):
        return None
    return Carried(array, carried[0], carried[0].keys[position], column)


def gradient(u: Tensor, x: Tensor) -> Tensor:
    """Derivatives of ``u`` (n,) or (n, 1) in every coordinate of ``x`` (n, d); row i of u depends on row i of x only.

    >>> x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    >>> gradient(x[:, 0] * x[:, 1] ** 2, x).tolist()
    [[4.0, 4.0]]
    """
    if u.shape not in ((len(x),), (len(x), 1)):
        raise ValueError(f"gradient: u must be one number per point, ({len(x)},); got {tuple(u.shape)}.")
    carried = _find_carried(u, x)
    if carried is not None:
        return carried.gradient(x.shape[1])
    (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True, allow_unused=True, materialize_grads=True)
    return slope


def derivative(u: Tensor, x: Tensor, *axes: int) -> Tensor:
    """The derivative of ``u`` in the coordinates ``axes``, one after the other: ``derivative(u, x, 1, 1)`` is u_11."""
    carried = _find_carried(u, x) if axes and u.shape in ((len(x),), (len(x), 1)) else None
    if carried is not None:
        return carried.derivative(*(axis % x.shape[1] for axis in axes))
    for axis in axes:
        u = gradient(u, x)[:, axis]
    return u


def laplacian(u: Tensor, x: Tensor) -> Tensor:
    r""":math:`\Delta u = \sum_i \partial^2 u / \partial x_i^2`."""
    first = gradient(u, x)
    return torch.stack([derivative(first[:, i], x, i) for i in range(x.shape[1])]).sum(dim=0)
