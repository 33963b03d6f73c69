r"""Penalties and bounds on weights: the equations.

.. math:: \lambda\|W\|_1 = \lambda\sum_{ij}|w_{ij}|, \qquad \tfrac\alpha2\|W\|^2, \qquad \|w_i\| \le c
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["l1_gradient", "l1_penalty", "l2_gradient", "l2_penalty", "max_norm_"]


def l1_penalty(weight: Tensor, strength: float) -> Tensor:
    r""":math:`\lambda\sum|w|`, which pulls every weight to 0 with the same force.

    >>> l1_penalty(torch.tensor([3.0, -4.0]), 0.5)
    tensor(3.5000)
    """
    return strength * weight.abs().sum()


def l1_gradient(weight: Tensor, strength: float) -> Tensor:
    r""":math:`\lambda\,\mathrm{sign}(w)`, 0 at 0."""
    return strength * torch.sign(weight)


def l2_penalty(weight: Tensor, strength: float) -> Tensor:
    r""":math:`\frac\alpha2\sum w^2`, which pulls a weight to 0 in proportion to it.

    >>> l2_penalty(torch.tensor([3.0, -4.0]), 0.5)
    tensor(6.2500)
    """
    return 0.5 * strength * weight.square().sum()


def l2_gradient(weight: Tensor, strength: float) -> Tensor:
    r""":math:`\alpha w`: what an optimizer's weight decay adds to a gradient."""
    return strength * weight


def max_norm_(weight: Tensor, bound: float) -> Tensor:
    """Shrink, in place, the weights (n_out, ...) into a unit whose Euclidean norm is above ``bound``, to that bound.

    >>> max_norm_(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    with torch.no_grad():
        rows = weight.flatten(1)
        length = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
        rows.mul_(torch.where(length > bound, bound / length, torch.ones_like(length)))
        return weight
