"""What fitted perceptrons hold: no layer is built that the stored weights do not fill."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from margin.core.domains import MOST_LAYERS
from margin.core.invariants import (
    ArrayOf,
    Count,
    FieldsOf,
    ListOf,
    OneOf,
    Real,
    Sizes,
    Stored,
    StringOf,
    TrueOrFalse,
    Violation,
    optional,
)
from margin.core.trained import TRAINED
from margin.neural.activations.table import ACTIVATIONS, COMPETING
from margin.neural.normalization.normalizations import NORMALIZATIONS
from margin.neural.stored_parts import DescribedPart
from margin.neural.stored_transformers import CONFIG, check_config
from margin.neural.table_inputs import number_of_inputs

__all__ = [
    "CLASSES",
    "DEFAULT_WIDTH",
    "IMAGES",
    "LAYERS",
    "MODULE",
    "MOST_PIXELS",
    "PATCHES",
    "SCALING",
    "SERIES",
    "SIDE_BY_SIDE",
    "TRAINED",
    "check_built",
    "check_channels",
    "check_layers",
    "image_network_is_stored",
    "layers_are_stored",
    "patch_network_is_stored",
    "recurrent_layers_are_stored",
    "side_by_side_layers_are_stored",
    "stand_in_is_stored",
]

GATES = {"rnn": 1, "gru": 3, "lstm": 4}  # affine maps of input and state in a recurrent cell
MOST_PIXELS = 2**31
DEFAULT_WIDTH = 100  # units of the perceptron that stands in where a user gives no module of their own


#: What a description of no network may end in.
UNBUILT = (ValueError, RuntimeError, TypeError, OverflowError, KeyError, IndexError, ZeroDivisionError)


def check_built(
    weights: Mapping[str, np.ndarray], build: Callable[[], Any], *, prefix: str = "", float32: bool = True
) -> None:
    """The network that ``build`` makes, built without memory, has the names and shapes of the stored weights.

    With ``float32`` they are all of that precision, otherwise of any one.
    """
    import torch

    try:
        with torch.device("meta"):
            built = build()
    except (*UNBUILT, MemoryError) as error:
        raise Violation(f"network_ describes no network: {str(error)[:80]}") from None
    expected = {f"{prefix}{name}": tuple(tensor.shape) for name, tensor in built.state_dict().items()}
    shapes = {name: array.shape for name, array in weights.items()}
    if shapes != expected:
        different = sorted(name for name in expected.keys() | shapes.keys() if expected.get(name) != shapes.get(name))
        raise Violation(f"weights_ must hold the layers that network_ describes; {different[0][:80]} differs")
    dtypes = {array.dtype for array in weights.values()}
    if float32 and dtypes != {np.dtype(np.float32)}:
        raise Violation("weights_ must all be float32")
    if len({dtype for dtype in dtypes if dtype.kind == "f"}) > 1:
        raise Violation("weights_ must all have one dtype")


def check_layers(weights: Mapping[str, np.ndarray], sizes: Sequence[int], prefix: str = "") -> None:
    """Every layer of a perceptron of these ``sizes`` has weights (out, in) and biases (out,), and there is no more."""
    for i, (before, after) in enumerate(pairwise(sizes)):
        for name, shape in (("weight", (after, before)), ("bias", (after,))):
            array = weights.get(f"{prefix}linears.{i}.{name}")
            if array is None or array.shape != shape:
                raise Violation(f"weights_ must hold {prefix}linears.{i}.{name} of shape {shape}, as network_ says")
    known = [name for name in weights if name.startswith(f"{prefix}linears.")]
    if len(known) != 2 * (len(sizes) - 1):
        raise Violation("weights_ must hold the layers that network_ names and no others")


def layers_are_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    network = model["network_"]
    layers = network["sizes"]
    if "norm" in network or network["activation"] not in list(ACTIVATIONS):  # more than matrices, or of other shapes
        from margin.neural.nets.mlp import MLP

        check_built(model["weights_"], lambda: MLP(**network), float32=False)
    else:
        check_layers(model["weights_"], layers)
    outputs = sizes.known.get("n_outputs", layers[-1])
    one_for_two = model.get("out_activation_") == "softmax" and (layers[-1], outputs) == (1, 2)
    two_each = "target_center_" in model and layers[-1] == 2 * outputs
    if layers[0] != sizes["n_features"] or (layers[-1] != outputs and not one_for_two and not two_each):
        raise Violation("network_ must begin with the columns of X and end with the outputs")
    if len({array.dtype for array in model["weights_"].values()}) > 1:
        raise Violation("weights_ must all have one dtype")


def stand_in_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    """A file names no module, so what it holds is the perceptron that stands in for one."""
    if "network_" not in model:
        return
    network = model["network_"]
    check_layers(model["weights_"], [network["n_features"], DEFAULT_WIDTH, network["n_outputs"]])
    if network["n_features"] != sizes["n_features"]:
        raise Violation("network_ must begin with the columns of X")
    outputs = sizes.known.get("n_outputs", model.get("n_targets_", network["n_outputs"]))
    if network["n_outputs"] not in (outputs, 2 * outputs if "n_targets_" in model else outputs):
        raise Violation("network_ must end with the outputs")


def side_by_side_layers_are_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    """Every layer has the weights (networks, in, out) and biases (networks, 1, out) of all networks."""
    if "network_" not in model:
        return
    count, layers = model["network_"]["n_networks"], model["network_"]["sizes"]
    expected: dict[str, tuple[int, ...]] = {}
    for k, (before, after) in enumerate(pairwise(layers)):
        expected |= {f"weights.{k}": (count, before, after), f"biases.{k}": (count, 1, after)}
    if len(layers) < 2 or {name: array.shape for name, array in model["weights_"].items()} != expected:
        raise Violation("weights_ must hold the layers that network_ names and no others")
    outputs = sizes.known.get("n_outputs", layers[-1])
    two_each = "target_center_" in model and layers[-1] == 2 * outputs
    categories = model.get("categories_", {})
    for column, known in categories.items():
        if column >= sizes["n_features"] or (isinstance(known, np.ndarray) and np.any(np.diff(known) <= 0)):
            raise Violation(f"categories_[{column}] must be strings or ascending numbers of a column of X")
    inputs = number_of_inputs(sizes["n_features"], model.get("missing_", 0), categories)
    if layers[0] != inputs or (layers[-1] != outputs and not two_each):
        raise Violation("network_ must begin with what is read of the columns of X and end with the outputs")
    if len({array.dtype for array in model["weights_"].values()}) > 1:
        raise Violation("weights_ must all have one dtype")


def recurrent_layers_are_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    """Every recurrent layer has the matrices and biases of its gates, the head its map, and there is no more."""
    if "network_" not in model:
        return
    network = model["network_"]
    hidden, n_outputs = network["hidden_size"], network["n_outputs"]
    rows = GATES[network["cell"]] * hidden
    expected = {"head.weight": (n_outputs, hidden), "head.bias": (n_outputs,)}
    for k in range(network["n_layers"]):
        n_inputs = hidden if k else network["n_inputs"]
        shapes = {"weight_ih": (rows, n_inputs), "weight_hh": (rows, hidden), "bias_ih": (rows,), "bias_hh": (rows,)}
        expected |= {f"layers.{k}.{name}_l0": shape for name, shape in shapes.items()}
    if {name: array.shape for name, array in model["weights_"].items()} != expected:
        raise Violation("weights_ must hold the recurrent layers and the head that network_ names and no others")
    if len({array.dtype for array in model["weights_"].values()}) > 1:
        raise Violation("weights_ must all have one dtype")
    channels = 1 if model["table_"] else sizes["n_features"]
    outputs = sizes.known.get("n_outputs", n_outputs)
    two_each = "target_center_" in model and n_outputs == 2 * outputs
    if network["n_inputs"] != channels or (n_outputs != outputs and not two_each):
        raise Violation("network_ must begin with the channels of the series and end with the outputs")


def check_channels(network: Mapping[str, Any], channels: int) -> None:
    """A center and a scale for every channel of the images."""
    if {len(network[name]) for name in ("center", "scale")} != {channels}:
        raise Violation("network_ must have a center and a scale for every channel")


def _image_shape(network: Mapping[str, Any], sizes: Sizes, two_each: bool = False) -> tuple[int, ...]:
    """Channels, height and width, which agree with the columns, the scaling and the outputs of the model."""
    channels, height, width = shape = tuple(network["shape"]) if len(network["shape"]) == 3 else (0, 0, 0)
    if channels * height * width != sizes["n_features"]:
        raise Violation("network_ must have images of as many values as X has columns")
    check_channels(network, channels)
    outputs = sizes.known.get("n_outputs", network["n_outputs"])
    if network["n_outputs"] not in (outputs, 2 * outputs if two_each else outputs):
        raise Violation("network_ must end with the outputs")
    return shape


def patch_network_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.neural.attention.config import TransformerConfig
    from margin.neural.nets.vision_transformer import ViT

    network = model["network_"]
    channels, height, width = _image_shape(network, sizes)
    check_config(network["config"], model["weights_"])
    check_built(
        model["weights_"],
        lambda: ViT(
            (channels, height, width), network["patch"], network["n_outputs"], TransformerConfig(**network["config"])
        ),
        prefix="body.",
    )


def image_network_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    """The described network, built without memory, has the names and shapes of the stored weights."""
    if "network_" not in model:
        return
    from margin.neural.nets.images import ARCHITECTURES, image_network

    network = {name: value for name, value in model["network_"].items() if name not in ("center", "scale")}
    shape = _image_shape(model["network_"], sizes, two_each="target_center_" in model)
    if isinstance(network["architecture"], str) and network["architecture"] not in ARCHITECTURES:
        raise Violation(f"network_ names no architecture: {network['architecture'][:40]!r}")
    check_built(model["weights_"], lambda: image_network(**{**network, "shape": shape}), prefix="body.")


LAYERS = FieldsOf(
    {
        "sizes": ListOf(Count(low=1)),
        "activation": DescribedPart({**ACTIVATIONS, **COMPETING}),
        "dropout": Real(0.0, 1.0, finite=True),
        "negative_slope": Real(0.0, finite=True),
        "norm": DescribedPart(NORMALIZATIONS),
    },
    may_lack=("norm",),
)
SIDE_BY_SIDE = FieldsOf(
    {
        "n_networks": Count(low=1),
        "sizes": ListOf(Count(low=1)),
        "activation": DescribedPart(ACTIVATIONS),
        "zero_output": TrueOrFalse(),
    }
)
MODULE = FieldsOf({"n_features": Count(low=1), "n_outputs": Count(low=1)})
SERIES = FieldsOf(
    {
        "n_inputs": Count(low=1, size="n_channels"),
        "n_outputs": Count(low=1),
        "cell": StringOf(tuple(GATES)),
        "hidden_size": Count(low=1),
        "n_layers": Count(low=1, high=MOST_LAYERS),
        "dropout": Real(0.0, 1.0, finite=True),
        "truncation": optional(Count(low=1)),
    }
)
SCALING: dict[str, Stored] = {"center": ListOf(Real(finite=True)), "scale": ListOf(Real(low=1e-38, finite=True))}
SCALED_IMAGES: dict[str, Stored] = {
    "shape": ListOf(Count(low=1, high=MOST_PIXELS)),
    "n_outputs": Count(low=1, high=MOST_PIXELS),
    **SCALING,
}
IMAGES = FieldsOf(
    {
        **SCALED_IMAGES,
        "architecture": OneOf(StringOf(), ListOf(StringOf())),
        "activation": DescribedPart(ACTIVATIONS),
        "norm": DescribedPart(NORMALIZATIONS),
        "pooling": StringOf(("max", "avg")),
        "width": Real(0.0, 100.0, finite=True),
        "dropout": optional(Real(0.0, 1.0, finite=True)),
    },
    may_lack=("norm",),
)
PATCHES = FieldsOf({**SCALED_IMAGES, "patch": Count(low=1, high=MOST_PIXELS), "config": CONFIG})
CLASSES = ArrayOf("n_outputs", kind="labels")
