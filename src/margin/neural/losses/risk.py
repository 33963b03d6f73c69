r"""From a loss of one prediction to the loss of a model on data, and which loss a task asks for."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from margin.neural.losses.binary import bce_with_logits, multilabel_bce
from margin.neural.losses.classes import cross_entropy
from margin.neural.losses.regression import mse_loss

__all__ = ["default_loss", "empirical_risk"]

Loss = Callable[..., Tensor]

DEFAULT: dict[str, Loss] = {
    "binary": bce_with_logits,
    "multiclass": cross_entropy,
    "regression": mse_loss,
    "multilabel": multilabel_bce,
}


def default_loss(task: str) -> Loss:
    """The loss that is the negative log-likelihood of the task's distribution, up to constants.

    >>> default_loss("multiclass").__name__
    'cross_entropy'
    """
    if task not in DEFAULT:
        raise ValueError(f"default_loss: task must be one of {', '.join(DEFAULT)}; got {task!r}.")
    return DEFAULT[task]


def empirical_risk(
    model: Callable[[Tensor], Tensor], X: Tensor, y: Tensor, loss: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    r""":math:`\mathcal L(\theta) = \frac1n\sum_i d(f_\theta(x_i), y_i)`: one number for the mismatch, differentiable.

    ``loss(prediction, target)`` may return one value per row or their mean.

    Parameters
    ----------
    model : callable
        Maps rows to predictions.
    X : Tensor of shape (n, ...)
        Rows.
    y : Tensor of shape (n, ...)
        Targets.
    loss : callable
        ``loss(prediction, target)``.
    """
    return loss(model(X), y).mean()
