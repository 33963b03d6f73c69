r"""The residual connection: a layer that learns a change of its input."""

from __future__ import annotations

from torch import Tensor, nn

__all__ = ["Residual"]


class Residual(nn.Module):
    r""":math:`h_k = h_{k-1} + f_k[h_{k-1}]`; with f = 0 it is the identity, and its Jacobian is :math:`I + \partial f`.

    >>> import torch
    >>> Residual(nn.Identity())(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, block: nn.Module):
        super().__init__()
        self.block = block

    def forward(self, x: Tensor) -> Tensor:
        change = self.block(x)
        if change.shape != x.shape:
            raise ValueError(
                f"Residual: the block must keep the shape of its input {tuple(x.shape)}; it gave {tuple(change.shape)}."
            )
        return x + change
