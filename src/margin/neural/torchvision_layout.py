"""Weights in torchvision's names: ResNet, DenseNet and VGG, from a file or a state dict.

Both libraries have the same layers in the same order, so a layer of a file is found by its name, and ours by its place.
Files are not trusted: names, shapes and kinds of numbers are compared with the network before anything is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from margin.neural.nets.densenet import DENSENET_BLOCKS
from margin.neural.nets.resnet import BOTTLENECK_FROM, RESNET_BLOCKS
from margin.neural.nets.vgg import VGG_BLOCKS

__all__ = ["IMAGENET_CENTER", "IMAGENET_SCALE", "TORCHVISION", "read_torchvision"]

IMAGENET_CENTER, IMAGENET_SCALE = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of pixels from 0 to 1
COUNTER = "num_batches_tracked"  # of batch norms; decides nothing


def _resnet(depth: int) -> Iterator[str]:
    yield from ("conv1", "bn1")
    n_convolutions = 3 if depth >= BOTTLENECK_FROM else 2
    for stage, n_blocks in enumerate(RESNET_BLOCKS[depth], start=1):
        for block in range(n_blocks):
            for k in range(1, n_convolutions + 1):
                yield from (f"layer{stage}.{block}.conv{k}", f"layer{stage}.{block}.bn{k}")
            if block == 0 and (stage > 1 or n_convolutions == 3):  # where channels or size change
                yield from (f"layer{stage}.0.downsample.0", f"layer{stage}.0.downsample.1")
    yield "fc"


def _densenet(depth: int) -> Iterator[str]:
    yield from ("features.conv0", "features.norm0")
    blocks = DENSENET_BLOCKS[depth][1]
    for b, n_layers in enumerate(blocks, start=1):
        for layer in range(1, n_layers + 1):
            for part in ("norm1", "conv1", "norm2", "conv2"):
                yield f"features.denseblock{b}.denselayer{layer}.{part}"
        if b < len(blocks):
            yield from (f"features.transition{b}.norm", f"features.transition{b}.conv")
    yield from (f"features.norm{len(blocks) + 1}", "classifier")


def _vgg(depth: int) -> Iterator[str]:
    place = 0
    for n_convolutions, _ in VGG_BLOCKS[depth]:
        for _ in range(n_convolutions):
            yield f"features.{place}"
            place += 2  # an activation stands behind it
        place += 1  # and the pooling behind the block
    yield from ("classifier.0", "classifier.3", "classifier.6")


# torchvision's name of a network: ours, and the names of its layers with weights in order.
TORCHVISION: dict[str, tuple[str, tuple[str, ...]]] = {
    **{f"resnet{depth}": (f"resnet-{depth}", tuple(_resnet(depth))) for depth in RESNET_BLOCKS},
    **{f"densenet{depth}": (f"densenet-{depth}", tuple(_densenet(depth))) for depth in (121, 169)},
    **{f"vgg{depth}": (f"vgg-{depth}", tuple(_vgg(depth))) for depth in VGG_BLOCKS},
}


def read_torchvision(
    source: str | os.PathLike[str] | Mapping[str, Tensor], architecture: str, module: nn.Module, owner: str
) -> dict[str, np.ndarray]:
    """The weights of ``source`` by their names in ``module``, which may lie on the meta device.

    A last layer of another number of classes is left out, so that a network for other classes can begin with the rest.
    """
    tensors = _tensors(source, owner)
    tensors = {name: tensor for name, tensor in tensors.items() if not name.endswith(COUNTER)}
    layers = [
        (path, layer)
        for path, layer in module.named_modules()
        if isinstance(layer, nn.Conv2d | nn.Linear | nn.modules.batchnorm._NormBase)
    ]
    names = TORCHVISION[architecture][1]
    assert len(layers) == len(names), "layers of both libraries are the same"
    weights: dict[str, np.ndarray] = {}
    for (path, layer), theirs in zip(layers, names):
        for part, own in layer.state_dict().items():
            tensor = _check(tensors.pop(f"{theirs}.{part}", None), f"{theirs}.{part}", owner)
            if tuple(tensor.shape) == tuple(own.shape):
                weights[f"{path}.{part}"] = tensor.detach().float().numpy(force=True).copy()
            elif theirs != names[-1]:
                raise ValueError(
                    f"{owner}: {theirs}.{part} of {architecture} must have shape {tuple(own.shape)} for these images; "
                    f"got {tuple(tensor.shape)}."
                )
    if tensors:
        raise ValueError(f"{owner}: {sorted(tensors)[0]!r} is no weight of {architecture}.")
    return weights


def _check(tensor: Any, name: str, owner: str) -> Tensor:
    if tensor is None:
        raise ValueError(f"{owner}: the weights must have {name}; they have none.")
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        got = tensor.dtype if isinstance(tensor, Tensor) else type(tensor).__name__
        raise ValueError(f"{owner}: {name} must be a tensor of floating-point numbers; got {got}.")
    return tensor


def _tensors(source: Any, owner: str) -> dict[str, Any]:
    """By name, from a state dict, a ``.safetensors`` file, or a file of torch that holds tensors and nothing else."""
    if isinstance(source, Mapping):
        return dict(source)
    path = Path(source)
    if not path.is_file():
        raise ValueError(f"{owner}: {path} must be a file of weights; there is none.")
    if path.suffix == ".safetensors":
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return dict(load_file(path))
        except (SafetensorError, OSError, RuntimeError) as error:
            raise ValueError(f"{owner}: {path} cannot be read ({str(error)[:200]}).") from None
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of a damaged file the safe loader says almost anything
        reason = " ".join(str(error).split())[:120]
        raise ValueError(f"{owner}: {path} must hold tensors and nothing else ({reason}).") from error
    if not isinstance(content, Mapping):
        raise ValueError(f"{owner}: {path} must hold a state dict; got {type(content).__name__}.")
    return dict(content)
