r"""Losses of classes: negative log-likelihood and cross-entropy, classes along axis 1 as in torch."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from margin.core.docstrings import with_parameters
from margin.neural.activations.softmax import log_softmax, logsumexp
from margin.neural.losses.parameter_texts import LOSS
from margin.neural.losses.reduction import reduce

__all__ = ["cross_entropy", "nll_loss"]

NOT_NORMALIZED = 1e-2  # how far the log of the sum of the probabilities may be from 0 before a warning


@with_parameters(LOSS)
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    r""":math:`-w_{y_n}\,x_{n,y_n}` for log-probabilities x of shape (N, C, ...) and labels y (N, ...) in 0..C-1.

    The mean divides by the sum of the targets' weights. Targets equal to ``ignore_index`` count nothing.

    Parameters
    ----------
    input : Tensor of shape (N, C, ...)
        Log-probabilities of the classes.
    target : Tensor of shape (N, ...)
        Labels.

    Examples
    --------
    >>> log_p = torch.log(torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]]))
    >>> nll_loss(log_p, torch.tensor([0, 1]))
    tensor(0.4581)
    """
    _check("nll_loss", input, target, weight, ignore_index)
    total = logsumexp(input.detach(), dim=_class_axis(input))
    if total.numel() and float(total.abs().max()) > NOT_NORMALIZED:
        warnings.warn("nll_loss: input should be log-probabilities; these do not sum to 1.", stacklevel=2)
    return _pick("nll_loss", input, target, weight, ignore_index, reduction)


@with_parameters(LOSS)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    r""":math:`-w_y\log\mathrm{softmax}_y(x) = w_y\bigl(\log\sum_k e^{x_k} - x_y\bigr)` of raw scores x (N, C, ...).

    The gradient is :math:`\mathrm{softmax}(x) - \mathrm{onehot}(y)`. Targets are labels (N, ...), or probabilities of
    the shape of x. ``label_smoothing`` :math:`\epsilon` mixes them with the uniform distribution,
    :math:`(1 - \epsilon)\,q + \epsilon/C`.

    Parameters
    ----------
    input : Tensor of shape (N, C, ...)
        Logits of the classes.
    target : Tensor of shape (N, ...) or (N, C, ...)
        Labels, or probabilities of the classes.

    Examples
    --------
    >>> cross_entropy(torch.tensor([[2.0, 0.0, -1.0], [0.5, 1.0, 0.0]]), torch.tensor([0, 2]))
    tensor(0.9251)
    """
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"cross_entropy: label_smoothing must be between 0 and 1; got {label_smoothing!r}.")
    axis = _class_axis(input)
    log_p = log_softmax(input, dim=axis)
    if target.is_floating_point():
        return _soft(log_p, target, weight, reduction, label_smoothing, axis)
    _check("cross_entropy", input, target, weight, ignore_index)
    loss = _pick("cross_entropy", log_p, target, weight, ignore_index, reduction)
    if label_smoothing == 0:
        return loss
    # Every class is a target with probability epsilon / C; the mean still divides by the weights of the labels.
    kept = target != ignore_index
    spread = (-_along(weight, log_p, axis) * log_p).sum(dim=axis) * kept / input.shape[axis]
    if reduction == "mean":
        spread = spread.sum() / _label_weights(log_p, target, weight, kept).sum()
    elif reduction == "sum":
        spread = spread.sum()
    return (1 - label_smoothing) * loss + label_smoothing * spread


def _soft(
    log_p: Tensor, target: Tensor, weight: Tensor | None, reduction: str, label_smoothing: float, axis: int
) -> Tensor:
    """Cross-entropy with probabilities as targets; the mean is over the predictions."""
    if target.shape != log_p.shape:
        shapes = f"{tuple(log_p.shape)} and {tuple(target.shape)}"
        raise ValueError(f"cross_entropy: probabilities as target must have the shape of input; got {shapes}.")
    target = (1 - label_smoothing) * target + label_smoothing / log_p.shape[axis]
    return reduce("cross_entropy", -(_along(weight, log_p, axis) * target * log_p).sum(dim=axis), reduction)


def _pick(name: str, log_p: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str) -> Tensor:
    """The weighted entry of every label."""
    axis = _class_axis(log_p)
    kept = target != ignore_index
    index = torch.where(kept, target, torch.zeros_like(target))
    of_label = log_p.gather(axis, index.unsqueeze(axis)).squeeze(axis)
    w = _label_weights(log_p, target, weight, kept)
    values = torch.where(kept, -w * of_label, torch.zeros_like(of_label))
    return values.sum() / w.sum() if reduction == "mean" else reduce(name, values, reduction)


def _label_weights(log_p: Tensor, target: Tensor, weight: Tensor | None, kept: Tensor) -> Tensor:
    """The weight of every target's class, 0 for the ignored ones."""
    if weight is None:
        return kept.to(log_p.dtype)
    return weight[torch.where(kept, target, torch.zeros_like(target))] * kept


def _along(weight: Tensor | None, like: Tensor, axis: int) -> Tensor:
    """Class weights in a shape that broadcasts along the class axis."""
    if weight is None:
        return torch.ones((), dtype=like.dtype, device=like.device)
    return weight.view([-1 if k == axis else 1 for k in range(like.ndim)])


def _class_axis(input: Tensor) -> int:
    return 0 if input.ndim == 1 else 1


def _check(name: str, input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> None:
    n_classes = input.shape[_class_axis(input)]
    expected = tuple(input.shape[:1] * (input.ndim > 1) + input.shape[2:])
    if tuple(target.shape) != expected:
        raise ValueError(f"{name}: target must have shape {expected}, without the classes; got {tuple(target.shape)}.")
    if weight is not None and tuple(weight.shape) != (n_classes,):
        raise ValueError(
            f"{name}: weight must have one entry for each of {n_classes} classes; got {tuple(weight.shape)}."
        )
    bad = target[(target != ignore_index) & ((target < 0) | (target >= n_classes))]
    if bad.numel():
        raise ValueError(f"{name}: target must be labels from 0 to {n_classes - 1}; got {int(bad.flatten()[0])}.")
