r"""Families of distributions whose parameters a network can predict.

A family has a logarithm of its density :math:`\log P(y\mid\theta)` and a link, which maps what a network gives (any
real numbers) to admissible :math:`\theta`. Its mode is the point prediction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from margin.neural.activations.functions import identity
from margin.neural.losses.binary import bce_with_logits
from margin.neural.losses.classes import cross_entropy

__all__ = ["FAMILIES", "LikelihoodFamily", "register_family"]


class LikelihoodFamily(NamedTuple):
    """``log_prob(theta, y)`` gives one number per example; ``link(raw)`` gives theta; ``mode(theta)`` predicts."""

    log_prob: Callable[[Tensor, Tensor], Tensor]
    link: Callable[[Tensor], Tensor] = identity
    mode: Callable[[Tensor], Tensor] | None = None


def _normal(theta: Tensor, y: Tensor) -> Tensor:
    """theta (..., 2): mean and standard deviation."""
    mean, sigma = theta.unbind(-1)
    return -0.5 * ((y - mean) / sigma).square() - torch.log(sigma) - 0.5 * math.log(2 * math.pi)


def _laplace(theta: Tensor, y: Tensor) -> Tensor:
    """theta (..., 2): location and scale."""
    location, scale = theta.unbind(-1)
    return -(y - location).abs() / scale - torch.log(2 * scale)


def _poisson(theta: Tensor, y: Tensor) -> Tensor:
    """theta: rate."""
    return torch.xlogy(y, theta) - theta - torch.lgamma(y + 1)


def _bernoulli(theta: Tensor, y: Tensor) -> Tensor:
    """theta: logit, so that no digits are lost near 0 and 1."""
    return -bce_with_logits(theta, y.to(theta.dtype), reduction="none")


def _categorical(theta: Tensor, y: Tensor) -> Tensor:
    """theta (..., K): logits; y: labels."""
    return -cross_entropy(theta.reshape(-1, theta.shape[-1]), y.reshape(-1), reduction="none").reshape(y.shape)


def _positive_second(raw: Tensor) -> Tensor:
    """A location as it is and a positive scale, the exponential of the second entry."""
    first, second = raw.unbind(-1)
    return torch.stack([first, torch.exp(second)], dim=-1)


FAMILIES: dict[str, LikelihoodFamily] = {
    "normal": LikelihoodFamily(_normal, _positive_second, lambda theta: theta[..., 0]),
    "laplace": LikelihoodFamily(_laplace, _positive_second, lambda theta: theta[..., 0]),
    "poisson": LikelihoodFamily(_poisson, torch.exp, torch.floor),
    "bernoulli": LikelihoodFamily(_bernoulli, identity, lambda theta: (theta > 0).to(theta.dtype)),
    "categorical": LikelihoodFamily(_categorical, identity, lambda theta: theta.argmax(dim=-1)),
}


def register_family(
    name: str,
    log_prob: Callable[[Tensor, Tensor], Tensor],
    link: Callable[[Tensor], Tensor] = identity,
    mode: Callable[[Tensor], Tensor] | None = None,
) -> LikelihoodFamily:
    """Add a family under a new name, for :func:`~margin.neural.losses.likelihood.build_loss`.

    Parameters
    ----------
    name : str
        The new name.
    log_prob : callable
        Log-density of targets given parameters, ``log_prob(parameters, y)``.
    link : callable
        From outputs of a network to parameters.
    mode : callable, optional
        From parameters to the prediction; without it the family cannot predict.
    """
    if name in FAMILIES:
        raise ValueError(f"register_family: name must be new; {name!r} is a family already.")
    FAMILIES[name] = LikelihoodFamily(log_prob, link, mode)
    return FAMILIES[name]
