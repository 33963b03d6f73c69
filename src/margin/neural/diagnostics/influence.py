"""How a small change of one parameter moves every later layer."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from margin.neural.nets.mlp import MLP, Trace

__all__ = ["Influence", "parameter_influence"]


class Influence(NamedTuple):
    """Of one layer's activations: how much they moved, and what their derivative predicts."""

    moved: Tensor
    predicted: Tensor


def parameter_influence(net: MLP, name: str, index: tuple[int, ...], x: Tensor, step: float = 1e-6) -> list[Influence]:
    """For layers 0 (the input) to the output, the effect of adding ``step`` to one entry of the parameter ``name``."""
    parameters = {key: p.detach() for key, p in net.named_parameters()}
    direction = torch.zeros_like(parameters[name])
    direction[index] = 1.0

    def layers(amount: Tensor) -> tuple[Tensor, ...]:
        moved = {**parameters, name: parameters[name] + amount * direction}
        trace = torch.func.functional_call(_Traced(net), {f"net.{key}": p for key, p in moved.items()}, (x,))
        return (*trace.activations, trace.pre_activations[-1])

    zero = torch.zeros((), dtype=x.dtype)
    derivatives: Any = torch.func.jvp(layers, (zero,), (torch.ones_like(zero),))
    before, slopes = derivatives
    after = layers(zero + step)
    return [Influence(b - a, step * slope) for a, b, slope in zip(before, after, slopes)]


class _Traced(torch.nn.Module):
    """A network whose forward pass gives all its layers."""

    def __init__(self, net: MLP):
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Trace:
        return self.net.trace(x)
