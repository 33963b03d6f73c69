"""What a network looks like from outside: its stages with shapes, parameters and work, computed from the module."""

from __future__ import annotations

from copy import deepcopy
from typing import NamedTuple

import torch
from torch import nn

from margin.neural.convolution.maps import feature_maps
from margin.neural.training.work import WorkCounter

__all__ = ["Stage", "multiply_adds", "stages"]

SILENT = (nn.Flatten, nn.Identity)


class Stage(NamedTuple):
    """One layer: what it is, the shape it gives (without the batch), and its parameters."""

    name: str
    kind: str
    shape: tuple[int, ...]
    parameters: int

    @property
    def text(self) -> str:
        """The layer as a diagram says it, for example ``Conv2d 5x5, 6`` or ``Linear 84``."""
        return f"{self.kind} -> {'x'.join(map(str, self.shape))}"


def stages(network: nn.Module, shape: tuple[int, ...]) -> list[Stage]:
    """Every innermost layer in the order in which it runs, for an input of ``shape`` (channels, height, width).

    The pass is made on torch's meta device, so a network of any size costs neither memory nor time.

    >>> from margin.neural.nets.lenet import lenet5
    >>> [stage.shape for stage in stages(lenet5(), (1, 28, 28)) if stage.parameters]
    [(6, 28, 28), (16, 10, 10), (120,), (84,), (10,)]
    """
    weightless = deepcopy(network).to("meta")  # in place, so on a copy
    layers = dict(weightless.named_modules())
    maps = feature_maps(weightless, torch.zeros(1, *shape, device="meta"))
    return [
        Stage(name, _kind(layers[name]), tuple(output.shape[1:]), sum(p.numel() for p in layers[name].parameters()))
        for name, output in maps.items()
        if not isinstance(layers[name], SILENT)
    ]


def _kind(layer: nn.Module) -> str:
    size = getattr(layer, "kernel_size", None)
    name = type(layer).__name__
    if size is None:
        return name
    pair = size if isinstance(size, tuple) else (size, size)
    return f"{name} {pair[0]}x{pair[1]}"


def multiply_adds(network: nn.Module, shape: tuple[int, ...]) -> int:
    """Products of one forward pass for one image.

    >>> from margin.neural.nets.lenet import lenet5
    >>> multiply_adds(lenet5(), (1, 28, 28))
    416520
    """
    with WorkCounter() as counter, torch.no_grad():
        deepcopy(network).to("meta").eval()(torch.zeros(1, *shape, device="meta"))
    return counter.multiply_adds
