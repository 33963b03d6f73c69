"""Image networks by name: what ``architecture="resnet-18"`` stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from torch import nn

from margin.neural.nets.densenet import DENSENET_BLOCKS, densenet
from margin.neural.nets.image_parts import Shape
from margin.neural.nets.layer_list import layer_list_network
from margin.neural.nets.lenet import alexnet, lenet5
from margin.neural.nets.resnet import RESNET_BLOCKS, resnet, small_resnet
from margin.neural.nets.vgg import VGG_BLOCKS, vgg

__all__ = ["ARCHITECTURES", "POOLING_NETWORKS", "image_network"]

# Networks whose pooling can be chosen; residual and dense ones have little or none.
POOLING_NETWORKS: dict[str, Callable[..., nn.Sequential]] = {
    "lenet-5": lenet5,
    "alexnet": alexnet,
    **{f"vgg-{depth}": partial(vgg, blocks) for depth, blocks in VGG_BLOCKS.items()},
}

ARCHITECTURES: dict[str, Callable[..., nn.Sequential]] = {
    **POOLING_NETWORKS,
    **{f"resnet-{depth}": partial(small_resnet, depth) for depth in (8, 20, 32, 44, 56, 110)},
    **{f"resnet-{depth}": partial(resnet, depth) for depth in RESNET_BLOCKS},
    **{f"plain-{depth}": partial(small_resnet, depth, residual=False) for depth in (8, 20, 32, 44, 56)},
    **{
        f"densenet-{depth}": partial(densenet, growth, blocks, bottleneck=depth != 40)
        for depth, (growth, blocks) in DENSENET_BLOCKS.items()
    },
}


def image_network(
    architecture: str | Sequence[str],
    shape: Shape,
    n_outputs: int,
    *,
    activation: Any = "relu",
    norm: Any = None,
    initializer: Any = None,
    pooling: str = "max",
    width: float = 1.0,
    dropout: float | None = None,
) -> nn.Sequential:
    """The named network, or the one that a list of layers describes, for images of ``shape`` (channels first).

    >>> import torch
    >>> net = image_network("lenet-5", (1, 28, 28), 10)
    >>> net(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """
    options: dict[str, Any] = {
        "activation": activation, "norm": norm, "initializer": initializer, "dropout": dropout,
    }  # fmt: skip
    if not isinstance(architecture, str):
        return layer_list_network(architecture, shape, n_outputs, pooling=pooling, **options)
    if architecture in POOLING_NETWORKS:
        options["pooling"] = pooling
    return ARCHITECTURES[architecture](shape=shape, n_outputs=n_outputs, width=width, **options)
