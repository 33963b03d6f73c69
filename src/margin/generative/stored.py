"""What fitted generative models hold: no layer is built that the stored weights do not fill."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from margin.core.invariants import (
    ArrayOf,
    Count,
    FieldsOf,
    Form,
    ListOf,
    ModelWith,
    Real,
    Sizes,
    Stored,
    StringOf,
    TrueOrFalse,
    Violation,
    optional,
)
from margin.neural.stored import TRAINED, check_layers

__all__ = ["FORMS"]


def _layers_are_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    network, weights = model["network_"], model["weights_"]
    p, k, hidden = network["n_features"], network["n_components"], list(network["hidden"])
    check_layers(weights, [p, *hidden, 2 * k], "encoder.")
    check_layers(weights, [k, *reversed(hidden), p], "decoder.")
    rest = [name for name in weights if not name.startswith(("encoder.linears.", "decoder.linears."))]
    if p != sizes["n_features"] or rest != (["noise_level"] if network["likelihood"] == "gaussian" else []):
        raise Violation("weights_ must hold what network_ names and nothing else")
    if len({array.dtype for array in weights.values()}) > 1:
        raise Violation("weights_ must all have one dtype")


def _described_network_is_stored(model: Mapping[str, Any], sizes: Sizes, build: Callable[..., Any]) -> None:
    """The described network, built without memory, has the names and shapes of the stored weights."""
    if "network_" not in model:
        return
    import torch

    network, classes = model["network_"], model["classes_"]
    if network["n_features"] != sizes["n_features"] or network["n_classes"] != (0 if classes is None else len(classes)):
        raise Violation("network_ must have the columns of X and the classes of classes_")
    if network["shape"] and (len(network["shape"]) != 3 or math.prod(network["shape"]) != network["n_features"]):
        raise Violation("network_ must have images of as many values as X has columns")
    try:
        with torch.device("meta"):
            built = build(network)
    except (ValueError, RuntimeError, TypeError, OverflowError, IndexError, KeyError) as error:
        raise Violation(f"network_ describes no network: {str(error)[:80]}") from None
    wanted = {name: tuple(tensor.shape) for name, tensor in built.state_dict().items()}
    found = {name: array.shape for name, array in model["weights_"].items()}
    if found != wanted:
        different = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
        raise Violation(f"weights_ must hold the layers that network_ describes; {different[0][:80]} differs")
    if len({array.dtype for array in model["weights_"].values() if array.dtype.kind == "f"}) > 1:
        raise Violation("weights_ must all have one dtype")


def _denoiser_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    from margin.generative.diffusion.model import NETWORK_FIELDS, denoiser_network

    _described_network_is_stored(
        model, sizes, lambda network: denoiser_network(**{name: network[name] for name in NETWORK_FIELDS})
    )


def _game_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    from margin.generative.gan.model import gan_network

    _described_network_is_stored(model, sizes, lambda network: gan_network(**network))


def _columns_are_stored(model: Mapping[str, Any], _: Sizes) -> None:
    """Every column can be read back, and together they have the coordinates that the model draws."""
    if "columns_" not in model:
        return
    n_coordinates = 0
    for k, column in enumerate(model["columns_"]):
        values, levels, labels = column["values"], column["levels"], column["labels"]
        is_category = column["kind"] == "category"
        n_coordinates += (len(labels) if is_category else 1) + int(column["missing"])
        if is_category and not (labels or column["missing"]):
            raise Violation(f"columns_[{k}] must have a label")
        if not is_category and (len(values) == 0 or len(values) != len(levels) or (levels[1:] <= levels[:-1]).any()):
            raise Violation(f"columns_[{k}] must have values and as many rising levels")
        if column["dtype"] not in DTYPES:
            raise Violation(f"columns_[{k}] must have the dtype of a column; got {column['dtype'][:40]!r}")
    if getattr(model["model_"], "n_features_in_", n_coordinates) != n_coordinates:
        raise Violation(f"model_ must have the {n_coordinates} coordinates of columns_")


INTEGERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
DTYPES = ("object", "bool", *INTEGERS, "float16", "float32", "float64")
MOST_UNITS = 2**20
SCALED: dict[str, Stored] = {
    "center_": ArrayOf("n_features"),
    "scale_": ArrayOf("n_features"),
    "classes_": optional(ArrayOf("n_classes", kind="labels")),
    **TRAINED,
}
SHAPED: dict[str, Stored] = {
    "n_features": Count(low=1),
    "shape": ListOf(Count(low=1, high=MOST_UNITS)),
    "hidden": ListOf(Count(low=1, high=MOST_UNITS)),
    "n_classes": Count(high=MOST_UNITS),
}

DIFFUSION = Form(
    {
        **SCALED,
        "range_": ArrayOf(2, "n_features"),
        "network_": FieldsOf(
            {
                **SHAPED,
                "denoiser": StringOf(("mlp", "unet", "transformer")),
                "n_steps": Count(low=2, high=MOST_UNITS),
                "noise_schedule": StringOf(("linear", "cosine", "straight")),
                "prediction": StringOf(("epsilon", "x0", "v", "velocity", "score")),
            }
        ),
    },
    [_denoiser_is_stored],
)

FORMS: Mapping[str, Form] = {
    "DiffusionModel": DIFFUSION,
    "FlowMatching": DIFFUSION,
    "GAN": Form(
        {
            **SCALED,
            "network_": FieldsOf(
                {
                    **SHAPED,
                    "architecture": StringOf(("mlp", "dcgan", "style")),
                    "n_latents": Count(low=1, high=MOST_UNITS),
                    "n_discriminators": Count(low=1, high=1000),
                    "spectral_norm": TrueOrFalse(),
                    "dropout": Real(0.0, 1.0, finite=True),
                    "bounded": TrueOrFalse(),
                }
            ),
        },
        [_game_is_stored],
    ),
    "TableSynthesizer": Form(
        {
            "model_": ModelWith(["sample"]),
            "is_frame_": TrueOrFalse(),
            "columns_": ListOf(
                FieldsOf(
                    {
                        "kind": StringOf(("number", "steps", "category")),
                        "values": ArrayOf(None),
                        "levels": ArrayOf(None, low=0.0, high=1.0),
                        "labels": ListOf(StringOf()),
                        "missing": TrueOrFalse(),
                        "integer": TrueOrFalse(),
                        "dtype": StringOf(),
                    }
                ),
                size="n_features",
            ),
        },
        [_columns_are_stored],
    ),
    "VAE": Form(
        {
            "center_": ArrayOf("n_features"),
            "scale_": ArrayOf("n_features"),
            "network_": FieldsOf(
                {
                    "n_features": Count(low=1),
                    "n_components": Count(low=1),
                    "hidden": ListOf(Count(low=1)),
                    "activation": StringOf(),
                    "likelihood": StringOf(("gaussian", "bernoulli")),
                    "variance": Real(0.0, finite=True),
                }
            ),
            **TRAINED,
        },
        [_layers_are_stored],
    ),
}
