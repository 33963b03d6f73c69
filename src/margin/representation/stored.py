"""What fitted encoders hold: no layer is built that the stored weights do not fill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import Count, FieldsOf, ListOf, OneOf, Sizes, Stored, StringOf, Violation, optional
from margin.neural.stored import MOST_PIXELS, SCALING, check_built, check_channels
from margin.neural.stored_transformers import CONFIG, check_config

__all__ = ["PROJECTED_ENCODER", "TWO_ENCODERS", "both_encoders_are_stored", "encoder_is_stored"]


def _check_images(network: Mapping[str, Any], sizes: Sizes) -> None:
    shape = network["shape"]
    if len(shape) != 3 or shape[0] * shape[1] * shape[2] != sizes["n_features"]:
        raise Violation("network_ must have images of as many values as X has columns")
    check_channels(network, shape[0])


def encoder_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.representation.simclr import simclr_network

    _check_images(model["network_"], sizes)
    check_built(model["weights_"], lambda: simclr_network(model["network_"]))


def both_encoders_are_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.representation.clip import clip_network
    from margin.representation.clip_folder import is_of_folder

    _check_images(model["network_"], sizes)
    if is_of_folder(model["network_"]):
        _towers_are_stored(model)
        return
    if model["network_"]["n_words"] != len(model["vocabulary_"]) + 2:
        raise Violation("network_ must have an embedding for every word of vocabulary_ and two more")
    check_built(model["weights_"], lambda: clip_network(model["network_"]))


def _towers_are_stored(model: Mapping[str, Any]) -> None:
    """Two transformers, and a tokenizer whose tokens they read."""
    from margin.representation.clip_folder import check_tokenizer, tower_network

    network = model["network_"]
    for tower in ("images", "texts"):
        check_config(network[tower], model["weights_"])
    try:
        check_tokenizer(model.get("reading_", ""), network, "reading_")
    except ValueError as problem:
        raise Violation(f"reading_ must be the tokenizer of network_: {str(problem)[:80]}") from None
    if model["vocabulary_"]:
        raise Violation("vocabulary_ must be empty where network_ is that of a folder")
    check_built(model["weights_"], lambda: tower_network(network))


ENCODER: dict[str, Stored] = {
    "encoder": ListOf(StringOf()),
    "shape": ListOf(Count(low=1, high=MOST_PIXELS)),
    "n_components": Count(low=1, high=MOST_PIXELS),
    **SCALING,
}
PROJECTED_ENCODER = FieldsOf({**ENCODER, "n_projected": Count(low=1, high=MOST_PIXELS)})
TWO_ENCODERS = OneOf(
    FieldsOf(
        {
            **ENCODER,
            "n_words": Count(low=2, high=MOST_PIXELS),
            "n_positions": Count(low=1, high=MOST_PIXELS),
            "text_width": Count(low=1, high=MOST_PIXELS),
        }
    ),
    FieldsOf(
        {
            **{name: stored for name, stored in ENCODER.items() if name != "encoder"},
            "patch": Count(low=1, high=MOST_PIXELS),
            "vocabulary": Count(low=2, high=MOST_PIXELS),
            "end": optional(Count(high=MOST_PIXELS)),
            "images": CONFIG,
            "texts": CONFIG,
        }
    ),
)
