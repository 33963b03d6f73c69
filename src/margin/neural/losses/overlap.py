r"""The overlap of two masks as a loss."""

from __future__ import annotations

from torch import Tensor

from margin.neural.losses.reduction import same_shape

__all__ = ["dice_loss", "soft_dice"]


def dice_loss(input: Tensor, target: Tensor, eps: float = 1e-7) -> Tensor:
    r""":math:`-\frac{2\langle v, v'\rangle}{\|v\|^2 + \|v'\|^2 + \epsilon} = -\frac{2TP}{2TP + FP + FN}` on masks.

    -1 for equal masks (up to ``eps``), 0 for disjoint ones; differentiable for soft masks.

    Parameters
    ----------
    input : Tensor
        A mask with values in [0, 1].
    target : Tensor of the shape of ``input``
        The other mask.
    eps : float
        Added to the denominator.

    Examples
    --------
    >>> import torch
    >>> a, b = torch.tensor([1.0, 1.0, 0.0]), torch.tensor([0.0, 1.0, 1.0])
    >>> round(float(dice_loss(a, b)), 6), float(dice_loss(a, 1 - a))
    (-0.5, -0.0)
    """
    same_shape("dice_loss", input, target)
    return -2 * (input * target).sum() / (input.square().sum() + target.square().sum() + eps)


def soft_dice(input: Tensor, target: Tensor, smoothing: float = 1.0) -> Tensor:
    r""":math:`\frac{2\sum v v' + s}{\sum v + \sum v' + s}` of every mask (N, classes, ...): (N, classes).

    On binary masks, whose squares are themselves, minus the :func:`dice_loss` for s = 0; with s = 1 a class that is
    absent from both masks counts as found.

    Parameters
    ----------
    input : Tensor of shape (N, classes, ...)
        Masks with values in [0, 1].
    target : Tensor of the shape of ``input``
        The other masks.
    smoothing : float
        s, added to both sides of the fraction.
    """
    same_shape("soft_dice", input, target)
    axes = tuple(range(2, input.ndim))
    shared = (input * target).sum(dim=axes)
    return (2 * shared + smoothing) / (input.sum(dim=axes) + target.sum(dim=axes) + smoothing)
