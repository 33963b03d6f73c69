r"""Losses from distributions: the negative log-likelihood

.. math:: L[\phi] = -\sum_i\log P\bigl(y_i \mid \mathrm{link}(f[x_i, \phi])\bigr).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from torch import Tensor

from margin.core.docstrings import with_parameters
from margin.neural.losses.families import FAMILIES, LikelihoodFamily
from margin.neural.losses.parameter_texts import LOSS
from margin.neural.losses.reduction import reduce, same_shape
from margin.neural.losses.regression import squared_error

__all__ = ["NegativeLogLikelihood", "SumOfLosses", "build_loss", "gaussian_nll", "sum_of"]


class NegativeLogLikelihood:
    """The loss of a family: called with what a network gives and the targets; predicts by the mode."""

    def __init__(self, name: str, family: LikelihoodFamily):
        self.name, self.family = name, family

    def __call__(self, raw: Tensor, target: Tensor, reduction: str = "sum") -> Tensor:
        return reduce(f"The {self.name} loss", -self.family.log_prob(self.family.link(raw), target), reduction)

    def parameters(self, raw: Tensor) -> Tensor:
        """The predicted distribution."""
        return self.family.link(raw)

    def predict(self, raw: Tensor) -> Tensor:
        """The most probable target."""
        if self.family.mode is None:
            raise ValueError(f"The {self.name} loss cannot predict: its family was registered without a mode.")
        return self.family.mode(self.family.link(raw))


def build_loss(distribution: str) -> NegativeLogLikelihood:
    """The recipe: choose a distribution, let the network give its parameters, minimize this, predict by its mode.

    >>> import torch
    >>> loss = build_loss("poisson")
    >>> raw = torch.log(torch.tensor([2.5]))
    >>> loss(raw, torch.tensor([3.0])), loss.predict(raw)
    (tensor(1.5429), tensor([2.]))
    """
    if distribution not in FAMILIES:
        raise ValueError(f"build_loss: distribution must be one of {', '.join(FAMILIES)}; got {distribution!r}.")
    return NegativeLogLikelihood(distribution, FAMILIES[distribution])


@with_parameters(LOSS)
def gaussian_nll(input: Tensor, target: Tensor, sigma: float = 1.0, reduction: str = "sum") -> Tensor:
    r"""Of a normal distribution of fixed width around the prediction.

    .. math:: \tfrac12\log(2\pi\sigma^2) + \frac{(y - f)^2}{2\sigma^2}

    Parameters
    ----------
    sigma : float
        Standard deviation.
    """
    same_shape("gaussian_nll", input, target)
    values = 0.5 * math.log(2 * math.pi * sigma**2) + squared_error(input, target) / (2 * sigma**2)
    return reduce("gaussian_nll", values, reduction)


class SumOfLosses:
    r"""Several outputs treated as independent: :math:`L = -\sum_i\sum_j\log P(y_{ij}\mid f_j[x_i, \phi])`."""

    def __init__(self, heads: Mapping[str, NegativeLogLikelihood]):
        self.heads = dict(heads)

    def __call__(self, raw: Mapping[str, Tensor], target: Mapping[str, Tensor], reduction: str = "sum") -> Tensor:
        terms = [loss(raw[name], target[name], reduction) for name, loss in self.heads.items()]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total


def sum_of(heads: Sequence[tuple[str, str]]) -> SumOfLosses:
    """The loss of several heads, given by name and distribution: ``[("y1", "normal"), ("y2", "categorical")]``."""
    if not heads:
        raise ValueError("sum_of: heads must name at least one output and its distribution; got none.")
    return SumOfLosses({name: build_loss(distribution) for name, distribution in heads})
