"""What models of several parts hold: the two maps of a cycle, scores at every noise, the diffusion of codes."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
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
    StringOf,
    Violation,
    optional,
    sometimes,
)
from margin.neural.stored import TRAINED, check_built

__all__ = ["MOST_UNITS", "ROW_SHAPE", "SYSTEMS", "check_columns"]

MOST_UNITS = 2**20
ROW_SHAPE = sometimes(optional(ListOf(Count(low=1, high=MOST_UNITS))))


def check_columns(network: Mapping[str, Any], sizes: Sizes) -> None:
    """The network takes the columns of X, and as an image if it has a shape."""
    if network["n_features"] != sizes["n_features"]:
        raise Violation("network_ must have as many features as X has columns")
    shape = network.get("image_shape")
    if shape is not None and (len(shape) not in (2, 3) or prod(shape) != network["n_features"]):
        raise Violation("network_ must have images of as many values as X has columns")


def _score_network_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    from margin.generative.diffusion.score_network import ScoreNetwork

    if "network_" not in model:
        return
    network = model["network_"]
    check_columns(network, sizes)
    if network["shape"] and (len(network["shape"]) != 3 or prod(network["shape"]) != network["n_features"]):
        raise Violation("network_ must have images of as many values as X has columns")
    if not 0 < network["smallest"] < network["largest"]:
        raise Violation("network_ must have a smallest noise above 0 and a largest above that")
    check_built(model["weights_"], lambda: ScoreNetwork(**network), float32=False)


def _cycle_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
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


SYSTEMS: Mapping[str, Form] = {
    "CycleGAN": Form(
        {
            "center_": ArrayOf("n_features"),
            "scale_": ArrayOf("n_features"),
            "target_center_": ArrayOf("n_targets"),
            "target_scale_": ArrayOf("n_targets"),
            "row_shape_": ROW_SHAPE,
            "network_": FieldsOf(
                {
                    "n_features": Count(low=1),
                    "n_targets": Count(low=1, high=MOST_UNITS),
                    "hidden": ListOf(Count(low=1, high=MOST_UNITS)),
                    "shape": ListOf(Count(low=1, high=MOST_UNITS)),
                }
            ),
            **TRAINED,
        },
        [_cycle_is_stored],
    ),
    "LatentDiffusion": Form(
        {
            "autoencoder_": ModelWith(["transform", "inverse_transform"], columns="n_features"),
            "diffusion_": optional(ModelWith(["sample_path"], columns="n_codes")),
            "code_center_": ArrayOf("n_codes"),
            "code_scale_": ArrayOf("n_codes"),
        },
    ),
    "ScoreModel": Form(
        {
            "center_": ArrayOf("n_features"),
            "scale_": ArrayOf("n_features"),
            "row_shape_": ROW_SHAPE,
            "network_": FieldsOf(
                {
                    "denoiser": StringOf(("mlp", "unet", "transformer")),
                    "n_features": Count(low=1),
                    "shape": ListOf(Count(low=1, high=MOST_UNITS)),
                    "hidden": ListOf(Count(low=1, high=MOST_UNITS)),
                    "smallest": Real(0.0, finite=True),
                    "largest": Real(0.0, finite=True),
                }
            ),
            **TRAINED,
        },
        [_score_network_is_stored],
    ),
}
