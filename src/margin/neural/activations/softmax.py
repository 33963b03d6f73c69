r"""Softmax and its logarithm, both through the log-sum-exp trick."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["log_softmax", "logsumexp", "softmax", "softmax_jacobian"]


def logsumexp(x: Tensor, dim: int = -1, keepdim: bool = False) -> Tensor:
    r""":math:`\log\sum_j e^{x_j} = m + \log\sum_j e^{x_j - m}` with :math:`m = \max_j x_j`.

    The largest exponential is then 1: none overflows, and not all vanish.

    >>> [round(float(logsumexp(torch.tensor([x, x]))), 2) for x in (1000.0, -1000.0)]
    [1000.69, -999.31]
    """
    m = x.detach().amax(dim=dim, keepdim=True)
    m = torch.where(m.isfinite(), m, torch.zeros_like(m))  # all -inf: the sum is 0, not exp(-inf + inf)
    total = m + torch.log(torch.exp(x - m).sum(dim=dim, keepdim=True))
    return total if keepdim else total.squeeze(dim)


def log_softmax(x: Tensor, dim: int = -1) -> Tensor:
    r""":math:`\log\frac{e^{x_i}}{\sum_j e^{x_j}} = x_i - \log\sum_j e^{x_j}`.

    >>> log_softmax(torch.tensor([200.0, 0.0]))
    tensor([   0., -200.])
    """
    x = x - x.detach().amax(dim=dim, keepdim=True)  # first, so that the digits of large inputs cancel exactly
    return x - logsumexp(x, dim=dim, keepdim=True)


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    r""":math:`s_i = e^{x_i} / \sum_j e^{x_j}`: positive, of sum 1, and unchanged when all inputs move together.

    >>> softmax(torch.tensor([1000.0, 1000.0, -1000.0]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    grown = torch.exp(x - x.detach().amax(dim=dim, keepdim=True))
    return grown / grown.sum(dim=dim, keepdim=True)


def softmax_jacobian(s: Tensor) -> Tensor:
    r""":math:`\partial s/\partial x = \mathrm{diag}(s) - s s^\top` at the softmax values ``s`` of shape (..., K).

    >>> softmax_jacobian(torch.tensor([0.5, 0.5]))
    tensor([[ 0.2500, -0.2500],
            [-0.2500,  0.2500]])
    """
    return torch.diag_embed(s) - s.unsqueeze(-1) * s.unsqueeze(-2)
