"""Optimizers by name, and their slots (moments, step counts) as plain arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch.optim import SGD, Adam, AdamW, Optimizer

__all__ = ["OPTIMIZERS", "load_slots", "make_optimizer", "slots"]

OPTIMIZERS = ("adam", "adamw", "sgd")


def make_optimizer(
    name: str, parameters: Iterable[torch.nn.Parameter], learning_rate: float, momentum: float, weight_decay: float
) -> Optimizer:
    """The named optimizer, fused: one pass over all parameters instead of several small operations on each.

    ``momentum`` belongs to SGD. ``weight_decay`` is a penalty added to the gradient for SGD and Adam, and the
    decoupled shrinkage of AdamW.
    """
    if name == "sgd":
        return SGD(parameters, learning_rate, momentum=momentum, weight_decay=weight_decay, fused=True)
    if name == "adam":
        return Adam(parameters, learning_rate, weight_decay=weight_decay, fused=True)
    if name == "adamw":
        return AdamW(parameters, learning_rate, weight_decay=weight_decay, fused=True)
    raise ValueError(f"make_optimizer: name must be one of {', '.join(OPTIMIZERS)}; got {name!r}.")


def slots(optimizer: Optimizer) -> dict[str, np.ndarray]:
    """Copies of what the optimizer remembers, named ``<number of the parameter>.<slot>``."""
    return {
        f"{number}.{name}": value.detach().numpy().copy()
        for number, parameter in enumerate(_parameters(optimizer))
        for name, value in optimizer.state.get(parameter, {}).items()
        if value is not None
    }


def load_slots(optimizer: Optimizer, saved: Mapping[str, Any]) -> None:
    """Put back what :func:`slots` gave."""
    parameters = _parameters(optimizer)
    for key, value in saved.items():
        number, name = key.split(".", 1)
        optimizer.state[parameters[int(number)]][name] = torch.from_numpy(np.array(value))


def _parameters(optimizer: Optimizer) -> list[torch.nn.Parameter]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
