r"""Noise while learning: on the inputs or on the weights of a network, drawn anew for every update.

For a linear model with squared error, noise of variance :math:`s^2` on the inputs adds
:math:`n s^2\lVert w\rVert^2` to the expected sum of squares, so it is ridge regression on average.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from margin.neural.training.steps import Objective, Terms

__all__ = ["with_input_noise", "with_weight_noise"]


def with_input_noise(objective: Objective, deviation: float) -> Objective:
    """``objective`` of inputs (the first tensor of a batch) to which normal noise is added.

    >>> zeros = lambda module, batch, noise: {"loss": module(batch[0]).squeeze(1)}
    >>> noisy = with_input_noise(zeros, 2.0)
    >>> loss = noisy(nn.Identity(), (torch.zeros(10_000, 1),), torch.Generator().manual_seed(0))["loss"]
    >>> 1.9 < float(loss.std()) < 2.1
    True
    """
    if deviation == 0:
        return objective

    def noisy(module: nn.Module, batch: tuple[Tensor, ...], noise: torch.Generator) -> Terms:
        X, *rest = batch
        return objective(module, (X + deviation * _normal(X, noise), *rest), noise)

    return noisy


def with_weight_noise(objective: Objective, deviation: float) -> Objective:
    """``objective`` of the network with normal noise on its parameters; the gradient is taken at the noisy ones."""
    if deviation == 0:
        return objective

    def noisy(module: nn.Module, batch: tuple[Tensor, ...], noise: torch.Generator) -> Terms:
        moved = {name: p + deviation * _normal(p, noise) for name, p in module.named_parameters()}
        return objective(_Moved(module, moved), batch, noise)

    return noisy


class _Moved:
    """A network called with other parameters than its own."""

    def __init__(self, module: nn.Module, parameters: dict[str, Tensor]):
        self.module, self.parameters = module, parameters

    def __call__(self, *inputs: Tensor) -> Any:
        return torch.func.functional_call(self.module, self.parameters, inputs)

    @property
    def training(self) -> bool:
        return self.module.training


def _normal(like: Tensor, noise: torch.Generator) -> Tensor:
    return torch.randn(like.shape, generator=noise, dtype=like.dtype, device=like.device)
