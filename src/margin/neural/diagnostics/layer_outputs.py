"""What layers of a network give, recorded while it runs once."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["layer_outputs"]


def layer_outputs(model: nn.Module, x: Tensor, kinds: type[nn.Module] | tuple[type[nn.Module], ...]) -> list[Tensor]:
    """What every layer of these ``kinds`` gives for ``x``, in the order in which they act.

    >>> net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> [output.shape for output in layer_outputs(net, torch.zeros(5, 2), nn.Linear)]
    [torch.Size([5, 3]), torch.Size([5, 1])]
    """
    outputs: list[Tensor] = []
    hooks = [
        module.register_forward_hook(lambda _module, _inputs, output: outputs.append(output.detach()))
        for module in model.modules()
        if isinstance(module, kinds)
    ]
    try:
        with torch.no_grad():
            model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return outputs
