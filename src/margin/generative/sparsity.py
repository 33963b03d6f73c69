r"""What makes the code of an autoencoder sparse, as functions of tensors: rows on the first axis, units on the last."""

from __future__ import annotations

import math

import torch
from torch import Tensor

__all__ = ["bernoulli_kl", "keep_largest", "l1_activity", "laplace_negative_log_density", "mean_activity_kl"]

EDGE = 1e-6  # a mean activity nearer to 0 or 1 would make the divergence infinite


def l1_activity(code: Tensor) -> Tensor:
    r""":math:`\sum_j |h_j|` of every row."""
    return code.abs().sum(dim=-1)


def laplace_negative_log_density(code: Tensor, rate: float) -> Tensor:
    r"""Minus the logarithm of the Laplace density :math:`p(h_j) = \frac\lambda2 e^{-\lambda|h_j|}` of every row.

    .. math:: -\log p(h) = \lambda\sum_{j=1}^k|h_j| - k\log\frac\lambda2

    >>> round(float(laplace_negative_log_density(torch.tensor([1.0, -2.0]), 2.0)), 6)
    6.0
    """
    return rate * l1_activity(code) - code.shape[-1] * math.log(rate / 2)


def bernoulli_kl(target: float, activity: Tensor) -> Tensor:
    r""":math:`\rho\log\frac{\rho}{\hat\rho} + (1 - \rho)\log\frac{1 - \rho}{1 - \hat\rho}`, 0 only at the target."""
    activity = activity.clamp(EDGE, 1 - EDGE)
    return target * torch.log(target / activity) + (1 - target) * torch.log((1 - target) / (1 - activity))


def mean_activity_kl(code: Tensor, target: float) -> Tensor:
    r""":math:`\sum_j \mathrm{KL}(\rho\,\|\,\hat\rho_j)`, :math:`\hat\rho_j` the mean of unit j over the rows."""
    return bernoulli_kl(target, code.mean(dim=0)).sum()


def keep_largest(code: Tensor, k: int) -> Tensor:
    """The k entries of largest absolute value of every row; the others become 0.

    >>> keep_largest(torch.tensor([[1.0, -3.0, 2.0]]), 2)
    tensor([[ 0., -3.,  2.]])
    """
    kept = code.abs().topk(k, dim=-1).indices
    return torch.zeros_like(code).scatter(-1, kept, code.gather(-1, kept))
