"""What fitted encoders hold: no layer is built that the stored weights do not fill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import Count, FieldsOf, ListOf, Sizes, Stored, StringOf, Violation
from margin.neural.stored import MOST_PIXELS, SCALING, check_built, check_channels

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

    _check_images(model["network_"], sizes)
    if model["network_"]["n_words"] != len(model["vocabulary_"]) + 2:
        raise Violation("network_ must have an embedding for every word of vocabulary_ and two more")
    check_built(model["weights_"], lambda: clip_network(model["network_"]))


ENCODER: dict[str, Stored] = {
    "encoder": ListOf(StringOf()),
    "shape": ListOf(Count(low=1, high=MOST_PIXELS)),
    "n_components": Count(low=1, high=MOST_PIXELS),
    **SCALING,
}
PROJECTED_ENCODER = FieldsOf({**ENCODER, "n_projected": Count(low=1, high=MOST_PIXELS)})
TWO_ENCODERS = FieldsOf(
    {
        **ENCODER,
        "n_words": Count(low=2, high=MOST_PIXELS),
        "n_positions": Count(low=1, high=MOST_PIXELS),
        "text_width": Count(low=1, high=MOST_PIXELS),
    }
)
