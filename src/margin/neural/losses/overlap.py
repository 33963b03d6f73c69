r"""The overlap of two masks as a loss."""

from __future__ import annotations

from torch import Tensor

from margin.neural.losses.reduction import same_shape

__all__ = ["dice_loss"]


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
