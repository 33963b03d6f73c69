"""Predicting with layers that know two modes, and what their batch statistics say about uncertainty."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn

from margin.neural.layers.dropout import Dropout
from margin.neural.normalization.layers import BatchNorm

__all__ = ["mc_batchnorm_predict", "predict", "uses_batch_statistics"]

TWO_MODES = (BatchNorm, nn.modules.batchnorm._BatchNorm, Dropout, nn.Dropout)
BATCH_NORMS = (BatchNorm, nn.modules.batchnorm._BatchNorm)


def uses_batch_statistics(model: nn.Module) -> bool:
    """Whether a layer of ``model`` that behaves differently in training is in training mode."""
    return any(isinstance(layer, TWO_MODES) and layer.training for layer in model.modules())


@torch.no_grad()
def predict(model: nn.Module, x: Tensor) -> Tensor:
    """What ``model`` gives for ``x``, with a warning if layers such as batch norm are still in training mode.

    >>> predict(nn.Linear(2, 1).eval(), torch.zeros(3, 2)).shape
    torch.Size([3, 1])
    """
    if uses_batch_statistics(model):
        warnings.warn("predict: the model is in training mode; call its eval() first.", stacklevel=2)
    return model(x)


@torch.no_grad()
def mc_batchnorm_predict(
    model: nn.Module, x: Tensor, train: Tensor, *, batch_size: int, samples: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Predictive mean and standard deviation from the randomness of training batches.

    Each of ``samples`` passes normalizes by the statistics of a freshly drawn batch of ``train``, as in training, and
    predicts ``x`` with them: the spread is that of networks which the batches could have made. The running statistics
    of ``model`` and its mode are left as they were.
    """
    if not 2 <= batch_size <= len(train):
        raise ValueError(f"mc_batchnorm_predict: batch_size must be from 2 to {len(train)}; got {batch_size!r}.")
    layers: list[Any] = [layer for layer in model.modules() if isinstance(layer, BATCH_NORMS)]
    if not layers:
        raise ValueError("mc_batchnorm_predict: model must have a batch normalization layer; got none.")
    modes = {module: module.training for module in model.modules()}
    kept = [(layer.running_mean.clone(), layer.running_var.clone(), layer.momentum) for layer in layers]
    outputs = []
    try:
        for _ in range(samples):
            batch = train[torch.randint(len(train), (batch_size,), generator=generator)]
            model.eval()
            for layer in layers:
                layer.train()
                layer.momentum = 1.0  # the running statistics become those of this batch
            model(batch)
            model.eval()
            outputs.append(model(x))
    finally:
        for layer, (mean, variance, momentum) in zip(layers, kept):
            layer.running_mean.copy_(mean)
            layer.running_var.copy_(variance)
            layer.momentum = momentum
        for module, mode in modes.items():
            module.training = mode
    stacked = torch.stack(outputs)
    return stacked.mean(dim=0), stacked.std(dim=0)
