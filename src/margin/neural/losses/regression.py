r"""Losses of real targets: squared and absolute errors."""

from __future__ import annotations

from torch import Tensor

from margin.neural.losses.reduction import reduce, same_shape

__all__ = ["half_squared_error", "l1_loss", "mse_loss", "squared_error", "sse"]


def squared_error(input: Tensor, target: Tensor, reduction: str = "none") -> Tensor:
    r""":math:`(\hat y - y)^2` for every entry, gradient :math:`2(\hat y - y)`.

    Parameters
    ----------
    input : Tensor
        Predictions.
    target : Tensor of the shape of ``input``
        Targets.
    reduction : {"mean", "sum", "none"}
        How the values of the entries are put together.

    Examples
    --------
    >>> import torch
    >>> squared_error(torch.tensor([1.0, 4.0]), torch.tensor([0.0, 2.0]))
    tensor([1., 4.])
    """
    same_shape("squared_error", input, target)
    return reduce("squared_error", (input - target).square(), reduction)


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    r"""The mean squared error :math:`\frac1n\sum_i(\hat y_i - y_i)^2`, gradient :math:`2(\hat y - y)/n`.

    Parameters
    ----------
    input : Tensor
        Predictions.
    target : Tensor of the shape of ``input``
        Targets.
    reduction : {"mean", "sum", "none"}
        How the values of the entries are put together.

    Examples
    --------
    >>> import torch
    >>> mse_loss(torch.tensor([1.0, 4.0]), torch.tensor([0.0, 2.0]))
    tensor(2.5000)
    """
    same_shape("mse_loss", input, target)
    return reduce("mse_loss", (input - target).square(), reduction)


def sse(input: Tensor, target: Tensor) -> Tensor:
    r"""The sum of squared errors :math:`\sum_i(\hat y_i - y_i)^2 = n\,\mathrm{MSE}`, with the same minimizer.

    Parameters
    ----------
    input : Tensor
        Predictions.
    target : Tensor of the shape of ``input``
        Targets.
    """
    return squared_error(input, target, reduction="sum")


def half_squared_error(input: Tensor, target: Tensor) -> Tensor:
    r""":math:`\frac12\sum_i(a_i - y_i)^2`, whose gradient is :math:`a - y` without a factor.

    Parameters
    ----------
    input : Tensor
        Predictions.
    target : Tensor of the shape of ``input``
        Targets.
    """
    return 0.5 * sse(input, target)


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    r"""The absolute error :math:`|\hat y - y|`, gradient :math:`\mathrm{sign}(\hat y - y)`, taken as 0 at 0.

    Parameters
    ----------
    input : Tensor
        Predictions.
    target : Tensor of the shape of ``input``
        Targets.
    reduction : {"mean", "sum", "none"}
        How the values of the entries are put together.

    Examples
    --------
    >>> import torch
    >>> l1_loss(torch.tensor([1.0, 4.0]), torch.tensor([0.0, 2.0]))
    tensor(1.5000)
    """
    same_shape("l1_loss", input, target)
    return reduce("l1_loss", (input - target).abs(), reduction)
