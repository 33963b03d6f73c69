r"""The losses of this package in torch's fused kernels: what networks minimize where speed asks for it.

Each has the arguments of its plain form, whose checks of the input are left out: torch has its own. One test holds
values and gradients of every pair of :data:`FUSED` together.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional

from margin.core.docstrings import with_parameters
from margin.neural.losses.binary import bce_with_logits
from margin.neural.losses.classes import cross_entropy, nll_loss
from margin.neural.losses.parameter_texts import LOSS
from margin.neural.losses.regression import huber_loss, mse_loss

__all__ = [
    "FUSED",
    "fused_bce_with_logits",
    "fused_cross_entropy",
    "fused_huber_loss",
    "fused_mse_loss",
    "fused_nll_loss",
]


@with_parameters(LOSS)
def fused_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    r""":math:`-w_y\log\mathrm{softmax}_y(x)` of raw scores (N, C, ...): :func:`~margin.neural.losses.cross_entropy`.

    Parameters
    ----------
    input : Tensor of shape (N, C, ...)
        Logits of the classes.
    target : Tensor of shape (N, ...) or (N, C, ...)
        Labels, or probabilities of the classes.

    Examples
    --------
    >>> import torch
    >>> fused_cross_entropy(torch.tensor([[2.0, 0.0, -1.0], [0.5, 1.0, 0.0]]), torch.tensor([0, 2]))
    tensor(0.9251)
    """
    return functional.cross_entropy(
        input, target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    )


@with_parameters(LOSS)
def fused_nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    r""":math:`-w_y\,x_y` of log-probabilities (N, C, ...): :func:`~margin.neural.losses.nll_loss`.

    Parameters
    ----------
    input : Tensor of shape (N, C, ...)
        Log-probabilities of the classes.
    target : Tensor of shape (N, ...)
        Labels.
    """
    return functional.nll_loss(input, target, weight, ignore_index=ignore_index, reduction=reduction)


@with_parameters(LOSS)
def fused_bce_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    r""":math:`y\,\zeta(-z) + (1 - y)\,\zeta(z)` of logits: :func:`~margin.neural.losses.bce_with_logits`.

    Parameters
    ----------
    input : Tensor
        Logits.
    weight : Tensor, optional
        Weights that multiply the values of the entries.
    """
    return functional.binary_cross_entropy_with_logits(
        input, target, weight, reduction=reduction, pos_weight=pos_weight
    )


@with_parameters(LOSS)
def fused_mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    r""":math:`(\hat y - y)^2`: :func:`~margin.neural.losses.mse_loss`."""
    return functional.mse_loss(input, target, reduction=reduction)


@with_parameters(LOSS)
def fused_huber_loss(input: Tensor, target: Tensor, delta: float = 1.0, reduction: str = "mean") -> Tensor:
    r"""Squares of small errors, absolute values of large ones: :func:`~margin.neural.losses.huber_loss`."""
    return functional.huber_loss(input, target, reduction=reduction, delta=delta)


#: Every plain form with the fused one that runs in its place.
FUSED: dict[Callable[..., Tensor], Callable[..., Tensor]] = {
    cross_entropy: fused_cross_entropy,
    nll_loss: fused_nll_loss,
    bce_with_logits: fused_bce_with_logits,
    mse_loss: fused_mse_loss,
    huber_loss: fused_huber_loss,
}
