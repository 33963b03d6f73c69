r"""Losses of real targets as objects: what regressors can minimize.

========================  =================================================================================
``"squared_error"``       :class:`SquaredError`, :math:`\tfrac12\,\overline{(y - f)^2}`
``"absolute_error"``      :class:`AbsoluteError`, :math:`\overline{|y - f|}`: medians
``"huber"``               :class:`Huber`: squares of small errors, absolute values of large ones
``"quantile"``            :class:`Pinball`: a quantile instead of the mean
``"poisson"``             :class:`PoissonDeviance`, of counts
``"normal"``              :class:`NormalLikelihood`: the network gives mean and width
``"laplace"``             :class:`LaplaceLikelihood`: the network gives median and width
========================  =================================================================================
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from margin.core.domains import Number
from margin.core.parameters import parameter
from margin.neural.losses.counts import half_poisson_deviance
from margin.neural.losses.fused import fused_huber_loss
from margin.neural.losses.likelihood import build_loss
from margin.neural.losses.network_loss import TargetLoss
from margin.neural.losses.regression import l1_loss, quantile_loss, squared_error

__all__ = [
    "TARGET_LOSSES",
    "AbsoluteError",
    "Huber",
    "LaplaceLikelihood",
    "NormalLikelihood",
    "Pinball",
    "PoissonDeviance",
    "SquaredError",
]


class SquaredError(TargetLoss):
    r"""Half the squared error, averaged over the targets of a row.

    >>> import torch
    >>> SquaredError()(torch.tensor([[1.0, 4.0]]), torch.tensor([[0.0, 2.0]]))
    tensor([1.2500])
    """

    def __call__(self, outputs: Tensor, target: Tensor, training: bool = True) -> Tensor:
        return 0.5 * squared_error(outputs, target).mean(dim=-1)


class AbsoluteError(TargetLoss):
    """The absolute error, averaged over the targets of a row: the median is predicted."""

    def __call__(self, outputs: Tensor, target: Tensor, training: bool = True) -> Tensor:
        return l1_loss(outputs, target, reduction="none").mean(dim=-1)


class Huber(TargetLoss):
    """Squares of small errors and absolute values of large ones, so that outliers pull with a bounded force.

    >>> import torch
    >>> Huber(delta=2.0)(torch.tensor([[4.0]]), torch.tensor([[0.0]]))
    tensor([6.])
    """

    delta: float = parameter(
        1.0, Number(above=0), "Size from which on an error counts linearly, in units of the (standardized) target."
    )

    def __call__(self, outputs: Tensor, target: Tensor, training: bool = True) -> Tensor:
        return fused_huber_loss(outputs, target, self.delta, reduction="none").mean(dim=-1)


class Pinball(TargetLoss):
    """The quantile (pinball) loss, averaged over the targets of a row."""

    quantile: float = parameter(0.5, Number(above=0, below=1), "Which quantile of the target is predicted.")

    def __call__(self, outputs: Tensor, target: Tensor, training: bool = True) -> Tensor:
        return quantile_loss(outputs, target, self.quantile, reduction="none").mean(dim=-1)


class PoissonDeviance(TargetLoss):
    """Half the Poisson deviance of counts, summed over the targets of a row; outputs are logarithms of means."""

    of_counts = True

    def __call__(self, outputs: Tensor, target: Tensor, training: bool = True) -> Tensor:
        return half_poisson_deviance(outputs, target).sum(dim=-1)

    def prediction(self, outputs: Tensor) -> Tensor:
        return outputs.exp()


class _Likelihood(TargetLoss):
    """The negative log-likelihood of a family with a location and a scale, both of which the network gives."""

    outputs_per_target = 2
    family: ClassVar[str]

    def __call__(self, outputs: Tensor, target: Tensor, training: bool = True) -> Tensor:
        return build_loss(self.family)(_pairs(outputs), target, reduction="none").sum(dim=-1)

    def prediction(self, outputs: Tensor) -> Tensor:
        return build_loss(self.family).predict(_pairs(outputs))


class NormalLikelihood(_Likelihood):
    r"""A normal distribution around every prediction, whose width the network gives too, as its logarithm.

    >>> import torch
    >>> NormalLikelihood()(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0]]))  # log sqrt(2 pi)
    tensor([0.9189])
    """

    family = "normal"


class LaplaceLikelihood(_Likelihood):
    """A Laplace distribution around every prediction, whose width the network gives too, as its logarithm."""

    family = "laplace"


def _pairs(outputs: Tensor) -> Tensor:
    """Outputs (..., 2 targets) as (..., targets, 2)."""
    return outputs.unflatten(-1, (-1, 2))


#: Names of losses of real targets; a new one is a class above or in a file of its own, and a line here.
TARGET_LOSSES: dict[str, type[TargetLoss]] = {
    "squared_error": SquaredError,
    "absolute_error": AbsoluteError,
    "huber": Huber,
    "quantile": Pinball,
    "poisson": PoissonDeviance,
    "normal": NormalLikelihood,
    "laplace": LaplaceLikelihood,
}
