r"""Binary cross-entropy, from probabilities and from logits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from margin.core.docstrings import with_parameters
from margin.neural.activations.functions import softplus
from margin.neural.losses.parameter_texts import LOSS
from margin.neural.losses.reduction import reduce, same_shape

__all__ = ["bce_loss", "bce_with_logits", "bernoulli_log_likelihood", "multilabel_bce"]

LOWEST_LOG = -100.0  # torch's: a totally wrong probability costs 100 instead of infinity
SMALLEST_PRODUCT = 1e-12  # torch's bound of p(1 - p) in the gradient


class _ClampedCrossEntropy(torch.autograd.Function):
    r"""The cross-entropy with its logarithms bounded below, whose derivative is finite at p = 0 and p = 1.

    .. math:: \frac{\partial\ell}{\partial p} = \frac{p - y}{p(1 - p)}

    Differentiating the bounded logarithms instead would give 0 times infinity there.
    """

    @staticmethod
    def forward(ctx: Any, p: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(p, y)
        log_p, log_q = torch.log(p).clamp(min=LOWEST_LOG), torch.log1p(-p).clamp(min=LOWEST_LOG)
        return -(y * log_p + (1 - y) * log_q)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        p, y = ctx.saved_tensors
        dp = outer[0] * (p - y) / (p * (1 - p)).clamp(min=SMALLEST_PRODUCT) if ctx.needs_input_grad[0] else None
        dy = None
        if ctx.needs_input_grad[1]:
            dy = outer[0] * (torch.log1p(-p).clamp(min=LOWEST_LOG) - torch.log(p).clamp(min=LOWEST_LOG))
        return dp, dy


@with_parameters(LOSS)
def bce_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean") -> Tensor:
    r""":math:`-w\,[y\log p + (1 - y)\log(1 - p)]` of probabilities p, any shape, targets y in [0, 1].

    Logarithms are at least -100, so the loss of a totally wrong prediction is 100.

    Parameters
    ----------
    input : Tensor
        Probabilities.
    weight : Tensor, optional
        Weights that multiply the values of the entries.

    Examples
    --------
    >>> bce_loss(torch.tensor([0.0, 1.0, 0.0]), torch.tensor([1.0, 0.0, 0.0]), reduction="none").tolist()
    [100.0, 100.0, 0.0]
    """
    same_shape("bce_loss", input, target)
    if input.numel() and not bool(((input >= 0) & (input <= 1)).all()):
        low, high = float(input.min()), float(input.max())
        raise ValueError(f"bce_loss: input must be probabilities in [0, 1]; got values from {low:g} to {high:g}.")
    values = _ClampedCrossEntropy.apply(input, target)
    return reduce("bce_loss", values if weight is None else weight * values, reduction)


@with_parameters(LOSS)
def bce_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    r"""Sigmoid and cross-entropy in one: :math:`y\,\zeta(-z) + (1 - y)\,\zeta(z)` with softplus :math:`\zeta`.

    Exact for logits z of any size; the gradient is :math:`\sigma(z) - y`. ``pos_weight`` multiplies the first term.

    Parameters
    ----------
    input : Tensor
        Logits.
    weight : Tensor, optional
        Weights that multiply the values of the entries.

    Examples
    --------
    >>> bce_with_logits(torch.tensor([-200.0]), torch.tensor([1.0]))
    tensor(200.)
    """
    same_shape("bce_with_logits", input, target)
    positive = softplus(-input) if pos_weight is None else pos_weight * softplus(-input)
    values = target * positive + (1 - target) * softplus(input)
    return reduce("bce_with_logits", values if weight is None else weight * values, reduction)


@with_parameters(LOSS)
def bernoulli_log_likelihood(theta: Tensor, X: Tensor, y: Tensor) -> Tensor:
    r"""Of logistic regression, :math:`\sum_i\bigl[-\log(1 + e^{-\theta^\top x_i}) - (1 - y_i)\theta^\top x_i\bigr]`.

    Its gradient is :math:`\sum_i(y_i - h_i)x_i` with :math:`h_i = \sigma(\theta^\top x_i)`.

    Parameters
    ----------
    theta : Tensor of shape (d,)
        Coefficients.
    y : Tensor of shape (n,)
        Targets, 0 or 1.
    """
    z = X @ theta
    return (-softplus(-z) - (1 - y) * z).sum()


@with_parameters(LOSS)
def multilabel_bce(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Binary cross-entropy of every label on its own: logits and targets (n, labels), averaged over both.

    Parameters
    ----------
    input : Tensor of shape (n, labels)
        Logits.

    Examples
    --------
    >>> multilabel_bce(torch.zeros(4, 3), torch.ones(4, 3))
    tensor(0.6931)
    """
    if input.ndim != 2:
        raise ValueError(f"multilabel_bce: input must have shape (n, labels); got {tuple(input.shape)}.")
    return bce_with_logits(input, target, reduction=reduction)
