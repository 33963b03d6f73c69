"""What fitted generative models hold: no layer is built that the stored weights do not fill."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from margin.core.domains import MOST_LAYERS
from margin.core.invariants import (
    ArrayOf,
    Count,
    FieldsOf,
    ListOf,
    Real,
    Sizes,
    Stored,
    StringOf,
    TrueOrFalse,
    Violation,
    optional,
)
from margin.generative.stored_systems import MOST_UNITS, ROW_SHAPE_FORM, UNITS, check_columns, check_images
from margin.neural.activations.table import ACTIVATIONS
from margin.neural.stored import check_built
from margin.neural.stored_parts import DescribedPart

__all__ = [
    "AUTOENCODER_NETWORK",
    "COLUMNS",
    "DIFFUSION_NETWORK",
    "FLOW_NETWORK",
    "GAN_NETWORK",
    "ROW_SHAPE_FORM",
    "SPARSE_NETWORK",
    "VAE_NETWORK",
    "autoencoder_is_stored",
    "columns_are_stored",
    "denoiser_is_stored",
    "flow_is_stored",
    "game_is_stored",
    "sparse_autoencoder_is_stored",
    "vae_is_stored",
]

FLOW_LAYERS = ("planar", "affine-coupling", "autoregressive", "spline-coupling", "continuous")


def _network_of_class(module: str, name: str) -> Callable[[Mapping[str, Any], Sizes], None]:
    """The rule that a network of this class, built as described but without memory, has the stored weights."""

    def is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
        if "network_" not in model:
            return
        network = getattr(importlib.import_module(module), name)
        check_columns(model["network_"], sizes)
        check_built(model["weights_"], lambda: network(**model["network_"]), float32=False)

    return is_stored


def _described_network_is_stored(model: Mapping[str, Any], sizes: Sizes, build: Callable[..., Any]) -> None:
    if "network_" not in model:
        return
    network, classes = model["network_"], model["classes_"]
    if network["n_features"] != sizes["n_features"] or network["n_classes"] != (0 if classes is None else len(classes)):
        raise Violation("network_ must have the columns of X and the classes of classes_")
    check_images(network)
    check_built(model["weights_"], lambda: build(network), float32=False)


def denoiser_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    from margin.generative.diffusion.model import NETWORK_FIELDS, denoiser_network

    _described_network_is_stored(
        model, sizes, lambda network: denoiser_network(**{name: network[name] for name in NETWORK_FIELDS})
    )


def game_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    from margin.generative.gan.architectures import gan_network

    _described_network_is_stored(model, sizes, lambda network: gan_network(**network))


def columns_are_stored(model: Mapping[str, Any], _: Sizes) -> None:
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
SHAPED: dict[str, Stored] = {
    "n_features": Count(low=1),
    "shape": ListOf(UNITS),
    "hidden": ListOf(UNITS),
    "n_classes": Count(high=MOST_UNITS),
}

DIFFUSION_NETWORK = FieldsOf(
    {
        **SHAPED,
        "denoiser": StringOf(("mlp", "unet", "transformer")),
        "n_steps": Count(low=2, high=10_000),
        "noise_schedule": StringOf(("linear", "cosine", "straight")),
        "prediction": StringOf(("epsilon", "x0", "v", "velocity", "score")),
    }
)
GAN_NETWORK = FieldsOf(
    {
        **SHAPED,
        "architecture": StringOf(("mlp", "dcgan", "style")),
        "n_latents": UNITS,
        "n_discriminators": Count(low=1, high=1000),
        "spectral_norm": TrueOrFalse(),
        "dropout": Real(0.0, 1.0, finite=True),
        "bounded": TrueOrFalse(),
    }
)
VAE_NETWORK = FieldsOf(
    {
        "n_features": Count(low=1),
        "n_components": Count(low=1),
        "hidden": ListOf(Count(low=1)),
        "activation": DescribedPart(ACTIVATIONS),
        "likelihood": StringOf(("gaussian", "bernoulli")),
        "variance": Real(0.0, finite=True),
        "latent": StringOf(("normal", "mixture", "von-mises-fisher", "hierarchical")),
        "n_prior_components": Count(low=1),
        "n_levels": Count(low=1, high=MOST_LAYERS),
        "image_shape": optional(ListOf(Count(low=1))),
    }
)
AUTOENCODER_NETWORK = FieldsOf(
    {
        "n_features": Count(low=1),
        "n_components": Count(low=1),
        "hidden": ListOf(Count(low=1)),
        "activation": DescribedPart(ACTIVATIONS),
        "code_activation": DescribedPart(ACTIVATIONS),
        "out_activation": StringOf(("identity", "logistic")),
        "image_shape": optional(ListOf(Count(low=1))),
        "n_active": optional(Count(low=1)),
    }
)
SPARSE_NETWORK = FieldsOf({"n_features": Count(low=1), "n_directions": Count(low=1)})
FLOW_NETWORK = FieldsOf(
    {
        "n_features": Count(low=1),
        "layers": ListOf(StringOf(FLOW_LAYERS)),
        "hidden": ListOf(Count(low=1)),
    }
)
COLUMNS = ListOf(
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
)

vae_is_stored = _network_of_class("margin.generative.vae_network", "VAENetwork")
autoencoder_is_stored = _network_of_class("margin.generative.autoencoder_network", "AutoencoderNetwork")
sparse_autoencoder_is_stored = _network_of_class("margin.generative.sparse_autoencoder", "SparseAutoencoderNetwork")
flow_is_stored = _network_of_class("margin.generative.flows", "FlowNetwork")
