r"""Losses of real targets: squared and absolute errors, what lies between them, and quantiles."""

from __future__ import annotations

import torch
from torch import Tensor

from margin.core.docstrings import with_parameters
from margin.neural.losses.parameter_texts import LOSS
from margin.neural.losses.reduction import reduce, same_shape

__all__ = [
    "half_squared_error",
    "huber_loss",
    "l1_loss",
    "mse_loss",
    "quantile_loss",
    "squared_error",
    "sse",
]


@with_parameters(LOSS)
def squared_error(input: Tensor, target: Tensor, reduction: str = "none") -> Tensor:
    r""":math:`(\hat y - y)^2` for every entry, gradient :math:`2(\hat y - y)`.

    Examples
    --------
    >>> import torch
    >>> squared_error(torch.tensor([1.0, 4.0]), torch.tensor([0.0, 2.0]))
    tensor([1., 4.])
    """
    same_shape("squared_error", input, target)
    return reduce("squared_error", (input - target).square(), reduction)


@with_parameters(LOSS)
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    r"""The mean squared error :math:`\frac1n\sum_i(\hat y_i - y_i)^2`, gradient :math:`2(\hat y - y)/n`.

    Examples
    --------
    >>> import torch
    >>> mse_loss(torch.tensor([1.0, 4.0]), torch.tensor([0.0, 2.0]))
    tensor(2.5000)
    """
    same_shape("mse_loss", input, target)
    return reduce("mse_loss", squared_error(input, target), reduction)


@with_parameters(LOSS)
def sse(input: Tensor, target: Tensor) -> Tensor:
    r"""The sum of squared errors :math:`\sum_i(\hat y_i - y_i)^2 = n\,\mathrm{MSE}`, with the same minimizer."""
    return squared_error(input, target, reduction="sum")


@with_parameters(LOSS)
def half_squared_error(input: Tensor, target: Tensor) -> Tensor:
    r""":math:`\frac12\sum_i(a_i - y_i)^2`, whose gradient is :math:`a - y` without a factor."""
    return 0.5 * sse(input, target)


@with_parameters(LOSS)
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    r"""The absolute error :math:`|\hat y - y|`, gradient :math:`\mathrm{sign}(\hat y - y)`, taken as 0 at 0.

    Examples
    --------
    >>> import torch
    >>> l1_loss(torch.tensor([1.0, 4.0]), torch.tensor([0.0, 2.0]))
    tensor(1.5000)
    """
    same_shape("l1_loss", input, target)
    return reduce("l1_loss", (input - target).abs(), reduction)


@with_parameters(LOSS)
def huber_loss(input: Tensor, target: Tensor, delta: float = 1.0, reduction: str = "mean") -> Tensor:
    r""":math:`\frac12 e^2` for :math:`|e| \le \delta` and :math:`\delta(|e| - \frac12\delta)` beyond, :math:`e = \hat y
    - y`: squares near 0, absolute values far away, with a gradient of at most :math:`\delta`.

    Examples
    --------
    >>> import torch
    >>> huber_loss(torch.tensor([0.5, 4.0]), torch.zeros(2), delta=2.0, reduction="none")
    tensor([0.1250, 6.0000])
    """
    same_shape("huber_loss", input, target)
    if not delta > 0:
        raise ValueError(f"huber_loss: delta must be above 0; got {delta!r}.")
    size = (input - target).abs()
    near = size.clamp(max=delta)  # beyond it the square's share of the gradient is 0
    return reduce("huber_loss", near * (size - 0.5 * near), reduction)


@with_parameters(LOSS)
def quantile_loss(input: Tensor, target: Tensor, quantile: float = 0.5, reduction: str = "mean") -> Tensor:
    r""":math:`\max(q e, (q - 1) e)` with :math:`e = y - \hat y`: the constant that minimizes it is the q-quantile.

    Parameters
    ----------
    quantile : float
        q, between 0 and 1; at one half the loss is half the absolute error.

    Examples
    --------
    >>> import torch
    >>> quantile_loss(torch.zeros(2), torch.tensor([1.0, -1.0]), quantile=0.9, reduction="none")
    tensor([0.9000, 0.1000])
    """
    same_shape("quantile_loss", input, target)
    if not 0 < quantile < 1:
        raise ValueError(f"quantile_loss: quantile must be above 0 and below 1; got {quantile!r}.")
    error = target - input
    return reduce("quantile_loss", torch.maximum(quantile * error, (quantile - 1) * error), reduction)
