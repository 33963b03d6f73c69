"""What is inside a convolutional network: its filters (also called kernels), and the feature maps they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["feature_maps", "filters", "strongest_patches"]

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def filters(network: nn.Module) -> dict[str, Tensor]:
    """The weights (outputs, inputs, *kernel) of every convolution, by the name of the layer.

    >>> {name: tuple(w.shape) for name, w in filters(nn.Sequential(nn.Conv2d(3, 8, 5), nn.ReLU())).items()}
    {'0': (8, 3, 5, 5)}
    """
    return {name: layer.weight.detach() for name, layer in network.named_modules() if isinstance(layer, CONVOLUTIONS)}


def feature_maps(network: nn.Module, x: Tensor, kinds: tuple[type[nn.Module], ...] = ()) -> dict[str, Tensor]:
    """What every innermost layer (of ``kinds``, if any are named) gives for ``x``, in the order in which they run.

    >>> maps = feature_maps(nn.Sequential(nn.Conv2d(1, 4, 3), nn.MaxPool2d(2)), torch.zeros(1, 1, 8, 8))
    >>> {name: tuple(m.shape) for name, m in maps.items()}
    {'0': (1, 4, 6, 6), '1': (1, 4, 3, 3)}
    """
    maps: dict[str, Tensor] = {}

    def note(name: str) -> Callable[[Any, Any, Tensor], None]:
        return lambda _layer, _inputs, output: maps.__setitem__(name, output.detach())

    leaves = [(name, layer) for name, layer in network.named_modules() if not list(layer.children())]
    hooks = [layer.register_forward_hook(note(name)) for name, layer in leaves if not kinds or isinstance(layer, kinds)]
    was_training = network.training
    try:
        with torch.no_grad():
            network.eval()(x)
    finally:
        network.train(was_training)
        for hook in hooks:
            hook.remove()
    return maps


def strongest_patches(maps: Tensor, images: Tensor, size: int, jump: int, offset: int = 0) -> Tensor:
    """For every channel of ``maps`` (N, C, h, w) the patch of ``images`` (N, c, H, W) on which it answered most.

    ``size`` and ``jump`` are those of the channel's receptive field, ``offset`` the padding before it; patches that
    reach beyond the image are filled with zeros. (C, c, size, size).
    """
    _, channels, height, width = maps.shape
    best = maps.permute(1, 0, 2, 3).reshape(channels, -1).argmax(dim=1)
    padded = nn.functional.pad(images, (offset, offset + size, offset, offset + size))
    patches = []
    for index in best.tolist():
        image, rest = divmod(index, height * width)
        row, column = (step * jump for step in divmod(rest, width))
        patches.append(padded[image, :, row : row + size, column : column + size])
    return torch.stack(patches)
