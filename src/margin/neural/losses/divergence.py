r"""The Kullback-Leibler divergence as a loss."""

from __future__ import annotations

import torch
from torch import Tensor

from margin.neural.losses.reduction import reduce, same_shape

__all__ = ["kl_div_loss"]


def kl_div_loss(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    r""":math:`p(\log p - \log q)` for ``input`` :math:`\log q` and ``target`` p (or :math:`\log p`), of one shape.

    The reduction "batchmean" adds over everything and divides by the rows: the mean divergence. torch's default,
    "mean", divides by the classes too. p = 0 contributes 0.

    Parameters
    ----------
    input : Tensor
        Log-probabilities.
    target : Tensor of the shape of ``input``
        Probabilities, or their logarithms with ``log_target``.
    reduction : {"mean", "batchmean", "sum", "none"}
        How the values of the entries are put together.
    log_target : bool
        Whether ``target`` holds logarithms.

    Examples
    --------
    >>> log_q = torch.log(torch.tensor([[0.25, 0.75]]))
    >>> kl_div_loss(log_q, torch.tensor([[0.0, 1.0]]), reduction="batchmean")
    tensor(0.2877)
    """
    same_shape("kl_div_loss", input, target)
    if log_target:
        values = torch.exp(target) * (target - input)
    else:
        values = torch.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return values.sum() / input.shape[0]
    return reduce("kl_div_loss", values, reduction)
