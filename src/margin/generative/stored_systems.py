"""What the networks of a cycle and of scores are built from, and that the stored weights fill them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from margin.core.invariants import (
    Count,
    FieldsOf,
    ListOf,
    Real,
    Sizes,
    StringOf,
    Violation,
    optional,
    sometimes,
)
from margin.neural.stored import check_built

__all__ = [
    "CYCLE_NETWORK",
    "MOST_UNITS",
    "ROW_SHAPE_FORM",
    "SCORE_NETWORK",
    "UNITS",
    "check_columns",
    "check_images",
    "cycle_is_stored",
    "score_network_is_stored",
]

MOST_UNITS = 2**20
UNITS = Count(low=1, high=MOST_UNITS)
ROW_SHAPE_FORM = sometimes(optional(ListOf(UNITS)))


def check_columns(network: Mapping[str, Any], sizes: Sizes) -> None:
    """The network takes the columns of X, and as an image if it has a shape."""
    if network["n_features"] != sizes["n_features"]:
        raise Violation("network_ must have as many features as X has columns")
    shape = network.get("image_shape")
    if shape is not None and (len(shape) not in (2, 3) or prod(shape) != network["n_features"]):
        raise Violation("network_ must have images of as many values as X has columns")


def check_images(network: Mapping[str, Any]) -> None:
    """A network of images has as many values as X has columns."""
    if network["shape"] and (len(network["shape"]) != 3 or prod(network["shape"]) != network["n_features"]):
        raise Violation("network_ must have images of as many values as X has columns")


def score_network_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    from margin.generative.diffusion.score_network import ScoreNetwork

    if "network_" not in model:
        return
    network = model["network_"]
    check_columns(network, sizes)
    check_images(network)
    if not 0 < network["smallest"] < network["largest"]:
        raise Violation("network_ must have a smallest noise above 0 and a largest above that")
    check_built(model["weights_"], lambda: ScoreNetwork(**network), float32=False)


def cycle_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    from margin.generative.gan.cycle import cycle_network

    if "network_" not in model:
        return
    network = model["network_"]
    if (network["n_features"], network["n_targets"]) != (sizes["n_features"], sizes["n_targets"]):
        raise Violation("network_ must have the columns of both sets")
    if network["shape"] and (
        len(network["shape"]) != 3 or {prod(network["shape"])} != {network["n_features"], network["n_targets"]}
    ):
        raise Violation("network_ must have images of as many values as both sets have columns")
    check_built(model["weights_"], lambda: cycle_network(**network), float32=False)


CYCLE_NETWORK = FieldsOf(
    {
        "n_features": Count(low=1),
        "n_targets": UNITS,
        "hidden": ListOf(UNITS),
        "shape": ListOf(UNITS),
    }
)
SCORE_NETWORK = FieldsOf(
    {
        "denoiser": StringOf(("mlp", "unet", "transformer")),
        "n_features": Count(low=1),
        "shape": ListOf(UNITS),
        "hidden": ListOf(UNITS),
        "smallest": Real(0.0, finite=True),
        "largest": Real(0.0, finite=True),
    }
)
