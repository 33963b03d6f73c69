r"""Losses that are 0 once a margin is kept."""

from __future__ import annotations

import torch
from torch import Tensor

from margin.core.docstrings import with_parameters
from margin.neural.losses.parameter_texts import LOSS
from margin.neural.losses.reduction import reduce, same_shape

__all__ = ["hinge_loss", "multiclass_hinge_loss", "soft_margin_objective", "triplet_loss"]


@with_parameters(LOSS)
def hinge_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    r""":math:`\max(0, 1 - yf)` for scores f and labels y of -1 or 1; at the corner yf = 1 the subgradient is 0.

    Parameters
    ----------
    input : Tensor
        Scores.
    target : Tensor of the shape of ``input``
        Labels, -1 or 1.

    Examples
    --------
    >>> hinge_loss(torch.tensor([2.0, 0.5, -2.0]), torch.ones(3), reduction="none")
    tensor([0.0000, 0.5000, 3.0000])
    """
    same_shape("hinge_loss", input, target)
    return reduce("hinge_loss", (1 - target * input).relu(), reduction)


def multiclass_hinge_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    r""":math:`\max(0, m - (f_y - \max_{k \ne y} f_k))` for scores f of shape (n, classes): 0 once the class leads by m.

    For two classes and :math:`m = 1` it is the :func:`hinge_loss` of the difference of their scores.

    Parameters
    ----------
    input : Tensor of shape (n, classes)
        Scores.
    target : Tensor of shape (n,)
        Labels from 0 to classes - 1.
    margin : float
        The lead m.
    reduction : {"mean", "sum", "none"}
        How the values of the rows are put together.

    Examples
    --------
    >>> multiclass_hinge_loss(torch.tensor([[3.0, 1.0, 2.5], [0.0, 2.0, 5.0]]), torch.tensor([0, 2]), reduction="none")
    tensor([0.5000, 0.0000])
    """
    if input.ndim != 2 or input.shape[1] < 2 or target.shape != input.shape[:1]:
        raise ValueError(
            "multiclass_hinge_loss: input must have shape (n, classes) and target (n,), with two classes or more; "
            f"got {tuple(input.shape)} and {tuple(target.shape)}."
        )
    own = target[:, None]
    others = input.scatter(1, own, -torch.inf).amax(dim=1)
    lead = input.gather(1, own).squeeze(1) - others
    return reduce("multiclass_hinge_loss", (margin - lead).relu(), reduction)


@with_parameters(LOSS)
def soft_margin_objective(w: Tensor, b: Tensor, X: Tensor, y: Tensor, penalty: float) -> Tensor:
    r""":math:`\|w\|^2 + \lambda\sum_i\max(0, 1 - y_i(w^\top x_i + b))`, the support vector machine without slacks.

    Parameters
    ----------
    w : Tensor of shape (d,)
        Weights.
    b : Tensor
        Intercept.
    y : Tensor of shape (n,)
        Labels, -1 or 1.
    penalty : float
        Price of a violation, :math:`\lambda`.
    """
    return w.square().sum() + penalty * hinge_loss(X @ w + b, y, reduction="sum")


@with_parameters(LOSS)
def triplet_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    r""":math:`\max(\|a - p\|^2 - \|a - n\|^2 + \alpha,\,0)` for embeddings (..., d) of an anchor, a row of its class
    and a row of another; the loss is 0 when the other is farther by the ``margin`` :math:`\alpha`.

    Parameters
    ----------
    anchor : Tensor of shape (..., d)
        Embeddings.
    positive : Tensor of the shape of ``anchor``
        Embeddings of rows of the same classes.
    negative : Tensor of the shape of ``anchor``
        Embeddings of rows of other classes.
    margin : float
        How much farther the other row should be, :math:`\alpha`.

    Examples
    --------
    >>> a, far = torch.zeros(1, 2), torch.full((1, 2), 3.0)
    >>> triplet_loss(a, a, far), triplet_loss(a, far, a)
    (tensor(0.), tensor(19.))
    """
    same_shape("triplet_loss", anchor, positive)
    same_shape("triplet_loss", anchor, negative)
    to_positive, to_negative = ((anchor - other).square().sum(dim=-1) for other in (positive, negative))
    return reduce("triplet_loss", (to_positive - to_negative + margin).relu(), reduction)
