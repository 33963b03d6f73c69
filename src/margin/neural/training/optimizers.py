"""The optimizers of a network by its update rule, which parameters they shrink, and what they remember as plain arrays.

Every rule of :mod:`margin.optimize.rules` moves a network. Where a faster form of the same equation exists, it is used:
``LightAdam`` for Adam and AdamW, torch's fused SGD for descent and for momentum without the rate in it, ``BatchedMuon``
for Muon. The others are run as they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import SGD, Optimizer

from margin.neural.training.light_adam import LightAdam, LightAdamW
from margin.neural.training.muon import BatchedMuon
from margin.neural.training.rule_optimizer import RuleOptimizer
from margin.optimize.rules import Adam, AdamW, Descent, Momentum, Muon, Nesterov, Rule
from margin.optimize.rules.base import DECAY

__all__ = ["decayed_names", "load_slots", "make_optimizers", "own_decay", "slots"]

NORMS = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, nn.modules.batchnorm._NormBase)

NUMBERS = {"step", "t", "product"}  # slots that are one number, whatever the shape of the parameter

Groups = list[dict[str, Any]]


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


def own_decay(rule: Rule) -> float:
    """By how much the rule itself shrinks weights, per step and over the rate."""
    if not rule.decouples:
        return 0.0
    decay = rule.weight_decay  # type: ignore[attr-defined]
    return DECAY if decay is None else float(decay)


def make_optimizers(module: nn.Module, rule: Rule, rate: float, *, penalty: float = 0.0) -> list[Optimizer]:
    """Optimizers by ``rule`` over the trainable parameters of ``module``; two of them for Muon.

    A ``penalty`` that is added to the gradient acts on matrices only, and so does the decay of a rule that decouples
    it: not on biases, norms and embeddings. Muon moves the matrices of hidden layers and leaves the rest to another.
    """
    rule.check()
    named = {name: tensor for name, tensor in module.named_parameters() if tensor.requires_grad}
    decayed = decayed_names(module) & named.keys()
    if not isinstance(rule, Muon):
        return [_optimizer(rule, named, decayed, rate, penalty)]
    matrices = _hidden_matrices(module, named, decayed)
    optimizers: list[Optimizer] = []
    if matrices:
        hidden = [named[name] for name in named if name in matrices]
        optimizers.append(BatchedMuon(hidden, rate, own_decay(rule), rule.momentum, rule.nesterov))
    others = {name: tensor for name, tensor in named.items() if name not in matrices}
    if others:
        rest = AdamW(weight_decay=rule.weight_decay) if rule.rest is None else rule.rest
        optimizers.append(_optimizer(rest, others, decayed, rate, 0.0))
    return optimizers


def _hidden_matrices(module: nn.Module, named: Mapping[str, Tensor], decayed: set[str]) -> set[str]:
    """Muon's rule is for maps from hidden units to hidden units: not for the first matrix, nor for the last.

    Where an embedding is the first and, ``tied``, also the last of them, all the others are hidden.
    """
    matrices = [name for name in named if name in decayed and named[name].ndim == 2]
    return set(matrices if getattr(module, "tied", False) else matrices[1:-1])


def _optimizer(rule: Rule, named: Mapping[str, Tensor], decayed: set[str], rate: float, penalty: float) -> Optimizer:
    rule, decay = rule.on_gradient_points(), penalty or own_decay(rule)
    groups = []
    for factor in sorted({_rate_factor(tensor) for tensor in named.values()} or {1.0}, reverse=True):
        some = {name: tensor for name, tensor in named.items() if _rate_factor(tensor) == factor}
        groups += [group | {"rate_factor": factor} for group in _decay_groups(some, decayed, decay)]
    fused = FUSED.get(type(rule), RuleOptimizer)(groups, rate, rule)
    return RuleOptimizer(groups, rate, rule) if fused is None else fused


def _rate_factor(tensor: Tensor) -> float:
    """By how much the rate of one parameter differs from that of the others."""
    return float(getattr(tensor, "rate_factor", 1.0))


def _decay_groups(named: Mapping[str, Tensor], decayed: set[str], decay: float) -> Groups:
    parts = [
        [named[name] for name in named if name in decayed],
        [named[name] for name in named if name not in decayed],
    ]
    decays = [decay, 0.0]
    if not all(parts) or not decay:  # one kind only: one fused update instead of two
        parts, decays = [list(named.values())], decays[:1] if parts[0] else decays[1:]
    return [{"params": part, "weight_decay": decay} for part, decay in zip(parts, decays)]


def _light_adam(groups: Groups, rate: float, rule: Adam) -> Optimizer:
    kind = LightAdamW if isinstance(rule, AdamW) else LightAdam
    return kind(groups, rate, betas=(float(rule.beta_1), float(rule.beta_2)), eps=rule.epsilon, fused=True)


def _fused_sgd(groups: Groups, rate: float, rule: Momentum | Nesterov) -> Optimizer | None:
    """None for velocities that contain the rate, or are averages: torch has no such form."""
    if rule.convention != "unscaled":
        return None
    nesterov = isinstance(rule, Nesterov) and rule.gamma > 0
    return SGD(groups, rate, momentum=rule.gamma, nesterov=nesterov, fused=True)


# Faster forms of the same equations; a test holds each of them against the rule.
FUSED: dict[type[Rule], Callable[[Groups, float, Any], Optimizer | None]] = {
    Adam: _light_adam,
    AdamW: _light_adam,
    Descent: lambda groups, rate, _: SGD(groups, rate, fused=True),
    Momentum: _fused_sgd,
    Nesterov: _fused_sgd,
}


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
        if slot not in NUMBERS:  # which are counted on the CPU, in a precision of their own
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
