"""A network from a list of layers, each written as a name and its numbers: ``["conv 16 3", "pool 2", "dense 64"]``.

| layer | what it is |
|---|---|
| ``conv 16 3`` | 16 filters of 3 x 3 and the activation; also ``stride=2``, ``padding=0``, ``groups=4``, ``norm`` |
| ``residual 32`` | a residual block of 32 channels; also ``stride=2`` |
| ``pool 2`` | pooling over 2 x 2; ``max-pool`` and ``avg-pool`` say which; also ``stride=1`` |
| ``global-avg-pool``, ``global-max-pool`` | one number per channel |
| ``dense 64`` | 64 units and the activation |
| ``dropout 0.5`` | |
| ``flatten`` | all maps as one row; a dense layer does it by itself |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from margin.neural.nets.image_parts import LayerChain, Shape
from margin.neural.nets.resnet import ResidualBlock

__all__ = ["LAYERS", "layer_list_network", "parse_layer"]

# Names, how many numbers each takes, and the options it knows.
LAYERS: dict[str, tuple[int, tuple[str, ...]]] = {
    "conv": (2, ("stride", "padding", "groups", "norm")),
    "residual": (1, ("stride",)),
    "pool": (1, ("stride",)),
    "max-pool": (1, ("stride",)),
    "avg-pool": (1, ("stride",)),
    "global-avg-pool": (0, ()),
    "global-max-pool": (0, ()),
    "dense": (1, ()),
    "dropout": (1, ()),
    "flatten": (0, ()),
}


def parse_layer(text: str) -> tuple[str, list[float], dict[str, int]]:
    """Name, numbers and options of one layer.

    >>> parse_layer("conv 16 3 stride=2 norm")
    ('conv', [16, 3], {'stride': 2, 'norm': 1})
    """
    name, *parts = text.split() or [""]
    if name not in LAYERS:
        raise ValueError(f"a layer must begin with one of {', '.join(LAYERS)}; got {text!r}")
    count, known = LAYERS[name]
    numbers = [part for part in parts if "=" not in part and part not in known]
    pairs = [part.partition("=") for part in parts if part not in numbers]
    options = {option: value or "1" for option, _, value in pairs}
    try:
        values = [float(number) if name == "dropout" else int(number) for number in numbers]
        chosen = {option: int(value) for option, value in options.items()}
    except ValueError:
        raise ValueError(f"a layer's numbers must be numbers, as in 'conv 16 3 stride=2'; got {text!r}") from None
    low = {"padding": 0}
    wrong = [option for option, value in chosen.items() if option not in known or value < low.get(option, 1)]
    if len(values) != count or wrong or (name != "dropout" and min(values, default=1) < 1):
        options_text = f" and may have {', '.join(known)}" if known else ""
        raise ValueError(f"layer {name!r} takes {count} positive numbers{options_text}; got {text!r}")
    if name == "dropout" and not 0 <= values[0] < 1:
        raise ValueError(f"the probability of a dropout must be at least 0 and below 1; got {text!r}")
    return name, values, chosen


def layer_list_network(
    layers: Sequence[str],
    shape: Shape,
    n_outputs: int,
    *,
    activation: Any = "relu",
    norm: Any = None,
    initializer: Any = None,
    pooling: str = "max",
    dropout: float | None = None,
) -> nn.Sequential:
    """The layers in order and a last dense one with the outputs.

    >>> net = layer_list_network(["conv 8 3", "pool 2", "dense 20"], (1, 8, 8), 10)
    >>> [type(layer).__name__ for layer in net]
    ['Conv2d', 'ReLU', 'MaxPool2d', 'Flatten', 'Linear', 'ReLU', 'Linear']
    """
    chain = LayerChain(shape, activation, norm, initializer)
    for text in layers:
        try:
            _append(chain, *parse_layer(text), pooling)
        except ValueError as error:
            raise ValueError(f"architecture: {str(error).rstrip('.')}.") from None
    return chain.dropout(dropout or 0.0).dense(n_outputs).network()


def _append(chain: LayerChain, name: str, numbers: list[float], options: dict[str, int], pooling: str) -> None:
    first = int(numbers[0]) if numbers else 0
    if name == "conv":
        kernel, groups = int(numbers[1]), options.get("groups", 1)
        if chain.shape[0] % groups or first % groups:
            raise ValueError(f"groups={groups} must divide the channels before ({chain.shape[0]}) and behind ({first})")
        padding, norm = options.get("padding", kernel // 2), "norm" in options
        chain.conv(first, kernel, options.get("stride", 1), padding, groups, bias=not norm)
        (chain.norm() if norm else chain).active()
    elif name == "residual":
        if chain.flat:
            raise ValueError("a residual block cannot stand behind a flattening, dense or global pooling layer")
        step = options.get("stride", 1)
        h, w = (-(-side // step) for side in chain.sides)
        chain.add(
            ResidualBlock(chain.shape[0], first, step, activation=chain.activation, norm=chain.normalization),
            (first, h, w),
        )
    elif name.endswith("pool") and numbers:
        chain.pool({"max-pool": "max", "avg-pool": "avg"}.get(name, pooling), first, options.get("stride"))
    elif name.startswith("global"):
        chain.global_pool(name.split("-")[1])
    elif name == "dense":
        chain.dense(first).active()
    elif name == "dropout":
        chain.dropout(numbers[0])
    else:
        chain.flatten()
