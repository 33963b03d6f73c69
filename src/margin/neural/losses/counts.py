r"""The loss of counts."""

from __future__ import annotations

import torch
from torch import Tensor

from margin.core.docstrings import with_parameters
from margin.neural.losses.parameter_texts import LOSS
from margin.neural.losses.reduction import reduce, same_shape

__all__ = ["half_poisson_deviance"]


@with_parameters(LOSS)
def half_poisson_deviance(input: Tensor, target: Tensor, reduction: str = "none") -> Tensor:
    r""":math:`y\log(y/\lambda) - y + \lambda` for ``input`` :math:`\log\lambda`: how much likelier counts would be
    under the best rate for each of them; 0 where :math:`\lambda = y`, gradient :math:`\lambda - y`.

    Parameters
    ----------
    input : Tensor
        Logarithms of means.
    target : Tensor of the shape of ``input``
        Counts, or other numbers that are not negative.

    Examples
    --------
    >>> half_poisson_deviance(torch.log(torch.tensor([2.0, 3.0])), torch.tensor([2.0, 0.0]))
    tensor([0., 3.])
    """
    same_shape("half_poisson_deviance", input, target)
    values = torch.xlogy(target, target) - target * input - target + input.exp()
    return reduce("half_poisson_deviance", values, reduction)
