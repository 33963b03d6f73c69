"""Optimizers by name, which parameters they shrink, and what they remember as plain arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import SGD, Optimizer

from margin.neural.training.light_adam import LightAdam, LightAdamW
from margin.neural.training.muon import Muon

__all__ = ["OPTIMIZERS", "Optimization", "decayed_names", "load_slots", "make_optimizers", "slots"]

OPTIMIZERS = ("adam", "adamw", "sgd", "muon")

NORMS = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, nn.modules.batchnorm._NormBase)


@dataclass(frozen=True)
class Optimization:
    """Which direction a step takes.

    ``weight_decay`` is a penalty added to the gradient for SGD and Adam, and the decoupled shrinkage of AdamW and Muon.
    It acts on matrices only: not on biases, norms and embeddings. Muon moves the matrices of hidden layers by their
    orthogonalized momentum and leaves the rest to AdamW. ``momentum`` and ``nesterov`` belong to SGD and Muon.
    """

    name: str = "adam"
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    momentum: float = 0.9
    nesterov: bool = False
    weight_decay: float = 0.0


def decayed_names(module: nn.Module) -> set[str]:
    """Names of the parameters a penalty on the weights acts on: two axes or more, no norm, no embedding.

    A layer that looks vectors up in a table says so by ``embeds``.

    >>> sorted(decayed_names(nn.Sequential(nn.Embedding(5, 4), nn.LayerNorm(4), nn.Linear(4, 2))))
    ['2.weight']
    """
    spared = {
        f"{layer}.{name}" if layer else name
        for layer, part in module.named_modules()
        if isinstance(part, (*NORMS, nn.Embedding, nn.EmbeddingBag)) or getattr(part, "embeds", False)
        for name, _ in part.named_parameters(recurse=False)
    }
    return {name for name, tensor in module.named_parameters() if tensor.ndim >= 2 and name not in spared}


def make_optimizers(module: nn.Module, optimization: Optimization, rate: float) -> list[Optimizer]:
    """The named optimizer over the trainable parameters of ``module``; two of them for Muon.

    They are fused where torch can: one pass over all parameters instead of several small operations on each.
    """
    named = {name: tensor for name, tensor in module.named_parameters() if tensor.requires_grad}
    decayed = decayed_names(module) & named.keys()
    if optimization.name == "muon":
        matrices = _hidden_matrices(module, named, decayed)
        first = Muon(
            [named[name] for name in named if name in matrices], rate, optimization.weight_decay,
            optimization.momentum, optimization.nesterov,
        ) if matrices else None  # fmt: skip
        rest = {name: tensor for name, tensor in named.items() if name not in matrices}
        second = _first_order("adamw", rest, decayed, optimization, rate) if rest else None
        return [optimizer for optimizer in (first, second) if optimizer is not None]
    if optimization.name not in OPTIMIZERS:
        raise ValueError(f"make_optimizers: name must be one of {', '.join(OPTIMIZERS)}; got {optimization.name!r}.")
    return [_first_order(optimization.name, named, decayed, optimization, rate)]


def _hidden_matrices(module: nn.Module, named: Mapping[str, Tensor], decayed: set[str]) -> set[str]:
    """Muon's rule is for maps from hidden units to hidden units: not for the first matrix, nor for the last.

    Where an embedding is the first and, ``tied``, also the last of them, all the others are hidden.
    """
    matrices = [name for name in named if name in decayed and named[name].ndim == 2]
    return set(matrices if getattr(module, "tied", False) else matrices[1:-1])


def _first_order(
    name: str, named: Mapping[str, Tensor], decayed: set[str], optimization: Optimization, rate: float
) -> Optimizer:
    groups = [
        [named[name] for name in named if name in decayed],
        [named[name] for name in named if name not in decayed],
    ]
    decays = [optimization.weight_decay, 0.0]
    if not all(groups) or not optimization.weight_decay:  # one kind only: one fused update instead of two
        groups, decays = [list(named.values())], decays[:1] if groups[0] else decays[1:]
    given: Any = [{"params": group, "weight_decay": decay} for group, decay in zip(groups, decays)]
    if name == "sgd":
        nesterov = optimization.nesterov and optimization.momentum > 0
        return SGD(given, rate, momentum=optimization.momentum, nesterov=nesterov, fused=True)
    kind = LightAdam if name == "adam" else LightAdamW
    return kind(given, rate, betas=optimization.betas, eps=optimization.eps, fused=True)


def slots(optimizers: Sequence[Optimizer], named: Iterable[tuple[str, Tensor]]) -> dict[str, np.ndarray]:
    """Copies of what the optimizers remember, named ``<parameter>:<slot>``."""
    return {
        f"{name}:{slot}": value.detach().cpu().numpy().copy()
        for name, memory in _memories(optimizers, named)
        for slot, value in memory.items()
        if value is not None
    }


def load_slots(optimizers: Sequence[Optimizer], named: Iterable[tuple[str, Tensor]], saved: Mapping[str, Any]) -> None:
    """Put back what :func:`slots` gave."""
    owners = {id(tensor): optimizer for optimizer in optimizers for tensor in _parameters(optimizer)}
    tensors = dict(named)
    for key, value in saved.items():
        name, slot = key.rsplit(":", 1)
        tensor = torch.from_numpy(np.array(value))
        parameter = tensors[name]
        if slot != "step":  # Adam counts its steps on the CPU by default
            # A fused update walks through memory, so a slot must have the strides of its parameter.
            tensor = torch.empty_like(parameter, dtype=tensor.dtype).copy_(tensor)
        owners[id(parameter)].state[parameter][slot] = tensor


def _memories(
    optimizers: Sequence[Optimizer], named: Iterable[tuple[str, Tensor]]
) -> Iterator[tuple[str, dict[str, Tensor]]]:
    for name, tensor in named:
        for optimizer in optimizers:
            if tensor in optimizer.state:
                yield name, optimizer.state[tensor]


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
