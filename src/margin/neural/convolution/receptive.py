r"""The receptive field: the inputs that a unit depends on.

.. math:: r_l = r_{l-1} + (K_l - 1)\,D_l\,j_{l-1},\qquad j_l = j_{l-1} S_l,\qquad r_0 = j_0 = 1

with kernel K, dilation D and stride S; j is how many inputs apart two neighboring units are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import nn

__all__ = ["Field", "footprint", "receptive_fields"]

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d)
_MAX_POOLS = (nn.MaxPool1d, nn.MaxPool2d)
_POOLS = (*_MAX_POOLS, nn.AvgPool1d, nn.AvgPool2d)


class Field(NamedTuple):
    """Width of the receptive field and distance of neighboring units, per spatial axis, in inputs."""

    size: tuple[int, ...]
    jump: tuple[int, ...]


def receptive_fields(network: nn.Module) -> list[Field]:
    """The field of a unit behind every convolution and pooling of ``network`` (a chain of layers), in order.

    >>> [field.size for field in receptive_fields(nn.Sequential(*(nn.Conv1d(1, 1, 3) for _ in range(4))))]
    [(3,), (5,), (7,), (9,)]
    """
    fields: list[Field] = []
    for layer in _spatial(network):
        n_axes = 1 if isinstance(layer, nn.Conv1d | nn.MaxPool1d | nn.AvgPool1d) else 2
        before = fields[-1] if fields else Field((1,) * n_axes, (1,) * n_axes)
        kernel, stride = _numbers(layer.kernel_size, n_axes), _numbers(layer.stride, n_axes)
        dilation = _numbers(getattr(layer, "dilation", 1), n_axes)
        size = tuple(r + (k - 1) * d * j for r, k, d, j in zip(before.size, kernel, dilation, before.jump))
        fields.append(Field(size, tuple(j * s for j, s in zip(before.jump, stride))))
    return fields


def footprint(network: nn.Module, shape: tuple[int, ...], position: tuple[int, ...] | None = None) -> np.ndarray:
    """Inputs (C, *space) from which a gradient reaches the unit at ``position`` of channel 0 (None: in the middle).

    All weights are set to 1, activations left out and maxima replaced by means, so that no path is closed by chance.
    """
    open_paths = nn.Sequential(*(_open_layer(layer) for layer in _chain(network))).double()
    x = torch.zeros(1, *shape, dtype=torch.float64, requires_grad=True)
    out = open_paths(x)[0, 0]
    middle = tuple(n // 2 for n in out.shape) if position is None else position
    out[middle].backward()
    assert x.grad is not None
    return (x.grad[0] != 0).numpy()


def _open_layer(layer: nn.Module) -> nn.Module:
    if isinstance(layer, _MAX_POOLS):
        mean = nn.AvgPool1d if isinstance(layer, nn.MaxPool1d) else nn.AvgPool2d
        return mean(layer.kernel_size, layer.stride, layer.padding)  # type: ignore[arg-type]
    if isinstance(layer, _CONVOLUTIONS):
        layer = deepcopy(layer)
        nn.init.ones_(layer.weight)
        return layer
    if isinstance(layer, nn.AvgPool1d | nn.AvgPool2d):
        return layer
    return nn.Identity()


def _chain(network: nn.Module) -> Iterable[nn.Module]:
    return cast(nn.Sequential, network)


def _spatial(network: nn.Module) -> Iterator[Any]:
    for layer in _chain(network):
        if isinstance(layer, (*_CONVOLUTIONS, *_POOLS)):
            yield layer
        elif list(layer.parameters()) and not isinstance(layer, nn.modules.batchnorm._BatchNorm):
            raise ValueError(
                f"receptive_fields: network must be a chain of convolutions, poolings and activations; "
                f"got a {type(layer).__name__}."
            )


def _numbers(value: int | tuple[int, ...], n_axes: int) -> tuple[int, ...]:
    return (value,) * n_axes if isinstance(value, int) else tuple(value)
