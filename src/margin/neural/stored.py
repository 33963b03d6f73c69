"""What fitted perceptrons hold: no layer is built that the stored weights do not fill."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from margin.core.invariants import (
    ArrayOf,
    Count,
    DictOf,
    FieldsOf,
    Form,
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
from margin.neural.activations import ACTIVATIONS

__all__ = ["DEFAULT_WIDTH", "FORMS", "TRAINED", "check_layers", "check_network"]

GATES = {"rnn": 1, "gru": 3, "lstm": 4}  # affine maps of input and state in a recurrent cell
MOST_PIXELS = 2**31
DEFAULT_WIDTH = 100  # units of the perceptron that stands in where a user gives no module of their own


def check_layers(weights: Mapping[str, np.ndarray], sizes: Sequence[int], prefix: str = "") -> None:
    """Every layer of a perceptron of these ``sizes`` has weights (out, in) and biases (out,), and there is no more."""
    for i, (before, after) in enumerate(pairwise(sizes)):
        for name, shape in (("weight", (after, before)), ("bias", (after,))):
            found = weights.get(f"{prefix}linears.{i}.{name}")
            if found is None or found.shape != shape:
                raise Violation(f"weights_ must hold {prefix}linears.{i}.{name} of shape {shape}, as network_ says")
    known = [name for name in weights if name.startswith(f"{prefix}linears.")]
    if len(known) != 2 * (len(sizes) - 1):
        raise Violation("weights_ must hold the layers that network_ names and no others")


def check_network(weights: Mapping[str, np.ndarray], build: Callable[[], Any], prefix: str = "") -> None:
    """The network that ``build`` makes, without memory, has the names and shapes of the weights, all of one dtype."""
    import torch

    try:
        with torch.device("meta"):
            built = build()
    except (ValueError, RuntimeError, TypeError, OverflowError, KeyError) as error:
        raise Violation(f"network_ describes no network: {str(error)[:80]}") from None
    wanted = {f"{prefix}{name}": tuple(tensor.shape) for name, tensor in built.state_dict().items()}
    found = {name: array.shape for name, array in weights.items()}
    if found != wanted:
        different = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
        raise Violation(f"weights_ must hold the layers that network_ describes; {different[0][:80]} differs")
    if len({array.dtype for array in weights.values()}) > 1:
        raise Violation("weights_ must all have one dtype")


def _layers_are_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    layers = model["network_"]["sizes"]
    check_layers(model["weights_"], layers)
    if layers[0] != sizes["n_features"] or layers[-1] != sizes.known.get("n_outputs", layers[-1]):
        raise Violation("network_ must begin with the columns of X and end with the outputs")
    if len({array.dtype for array in model["weights_"].values()}) > 1:
        raise Violation("weights_ must all have one dtype")


def _stand_in_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    """A file names no module, so what it holds is the perceptron that stands in for one."""
    if "network_" not in model:
        return
    network = model["network_"]
    check_layers(model["weights_"], [network["n_features"], DEFAULT_WIDTH, network["n_outputs"]])
    if network["n_features"] != sizes["n_features"]:
        raise Violation("network_ must begin with the columns of X")
    if network["n_outputs"] != sizes.known.get("n_outputs", network["n_outputs"]):
        raise Violation("network_ must end with the outputs")


def _recurrent_layers_are_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
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
    if network["n_inputs"] != channels or n_outputs != sizes.known.get("n_outputs", n_outputs):
        raise Violation("network_ must begin with the channels of the series and end with the outputs")


def _image_network_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    """The described network, built without memory, has the names and shapes of the stored weights."""
    if "network_" not in model:
        return
    from margin.neural.nets.images import ARCHITECTURES, image_network

    network = {name: value for name, value in model["network_"].items() if name not in ("center", "scale")}
    channels, height, width = shape = tuple(network["shape"]) if len(network["shape"]) == 3 else (0, 0, 0)
    if channels * height * width != sizes["n_features"]:
        raise Violation("network_ must have images of as many values as X has columns")
    if {len(model["network_"][name]) for name in ("center", "scale")} != {channels}:
        raise Violation("network_ must have a center and a scale for every channel")
    if network["n_outputs"] != sizes.known.get("n_outputs", network["n_outputs"]):
        raise Violation("network_ must end with the outputs")
    if isinstance(network["architecture"], str) and network["architecture"] not in ARCHITECTURES:
        raise Violation(f"network_ names no architecture: {network['architecture'][:40]!r}")
    check_network(model["weights_"], lambda: image_network(**{**network, "shape": shape}), prefix="body.")
    if {array.dtype for array in model["weights_"].values()} != {np.dtype(np.float32)}:
        raise Violation("weights_ must all be float32")


TRAINED: dict[str, Stored] = {
    "weights_": DictOf(StringOf(), ArrayOf(...)),
    "n_iter_": Count(),
    "t_": Count(),
    "loss_curve_": ListOf(Real()),
    "validation_scores_": optional(ListOf(Real())),
}
NETWORK: dict[str, Stored] = {
    **TRAINED,
    "center_": ArrayOf("n_features"),
    "scale_": ArrayOf("n_features"),
    "network_": FieldsOf(
        {
            "sizes": ListOf(Count(low=1)),
            "activation": StringOf(),
            "dropout": Real(0.0, 1.0, finite=True),
            "negative_slope": Real(0.0, finite=True),
        }
    ),
}
MODULE: dict[str, Stored] = {**TRAINED, "network_": FieldsOf({"n_features": Count(low=1), "n_outputs": Count(low=1)})}
SERIES: dict[str, Stored] = {
    **TRAINED,
    "center_": ArrayOf("n_channels"),
    "scale_": ArrayOf("n_channels"),
    "table_": TrueOrFalse(),
    "network_": FieldsOf(
        {
            "n_inputs": Count(low=1, size="n_channels"),
            "n_outputs": Count(low=1),
            "cell": StringOf(tuple(GATES)),
            "hidden_size": Count(low=1),
            "n_layers": Count(low=1),
            "dropout": Real(0.0, 1.0, finite=True),
            "truncation": optional(Count(low=1)),
        }
    ),
}
IMAGES: dict[str, Stored] = {
    **TRAINED,
    "input_dtype_": StringOf(("uint8", "float32")),
    "network_": FieldsOf(
        {
            "architecture": OneOf(StringOf(), ListOf(StringOf())),
            "shape": ListOf(Count(low=1, high=MOST_PIXELS)),
            "n_outputs": Count(low=1, high=MOST_PIXELS),
            "activation": StringOf(tuple(ACTIVATIONS)),
            "pooling": StringOf(("max", "avg")),
            "width": Real(0.0, 100.0, finite=True),
            "dropout": optional(Real(0.0, 1.0, finite=True)),
            "center": ListOf(Real(finite=True)),
            "scale": ListOf(Real(low=1e-38, finite=True)),
        }
    ),
}
CLASSES: dict[str, Stored] = {"classes_": ArrayOf("n_outputs", kind="labels")}
FORMS: Mapping[str, Form] = {
    "MLPClassifier": Form(
        {**CLASSES, **NETWORK, "out_activation_": StringOf(("softmax", "logistic"))}, [_layers_are_stored]
    ),
    "MLPRegressor": Form(
        {
            **NETWORK,
            "target_center_": ArrayOf("n_outputs"),
            "target_scale_": ArrayOf("n_outputs"),
            "single_target_": TrueOrFalse(),
            "out_activation_": StringOf(("identity", "exp")),
        },
        [_layers_are_stored],
    ),
    "SequenceClassifier": Form({**CLASSES, **SERIES}, [_recurrent_layers_are_stored]),
    "SequenceRegressor": Form(
        {
            **SERIES,
            "target_center_": ArrayOf("n_outputs"),
            "target_scale_": ArrayOf("n_outputs"),
            "single_target_": TrueOrFalse(),
        },
        [_recurrent_layers_are_stored],
    ),
    "CNNClassifier": Form({**CLASSES, **IMAGES}, [_image_network_is_stored]),
    "CNNRegressor": Form(
        {
            **IMAGES,
            "target_center_": ArrayOf("n_outputs"),
            "target_scale_": ArrayOf("n_outputs"),
            "single_target_": TrueOrFalse(),
        },
        [_image_network_is_stored],
    ),
    "NeuralClassifier": Form({**CLASSES, **MODULE}, [_stand_in_is_stored]),
    "NeuralRegressor": Form({**MODULE, "single_target_": TrueOrFalse()}, [_stand_in_is_stored]),
}
