"""What fitted few-shot learners hold: no layer is built that the stored weights do not fill."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from margin.core.invariants import (
    Count,
    FieldsOf,
    ListOf,
    OneOf,
    Sizes,
    StringOf,
    TrueOrFalse,
    Violation,
)
from margin.neural.activations.table import ACTIVATIONS
from margin.neural.stored import MOST_PIXELS, check_built, check_layers
from margin.neural.stored_parts import DescribedPart

__all__ = ["NETWORK", "network_is_stored"]


def network_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    network = model["network_"]
    if "encoder" in network:
        n_features, n_outputs = math.prod(network["shape"]), network["n_outputs"]
        if len(network["shape"]) != 3 or n_features != sizes["n_features"]:
            raise Violation("network_ must have images of as many values as X has columns")
        _check_encoder(model)
    elif "sizes" not in network:
        layers = network["pixel_sizes"] if "pixel_sizes" in network else network["direct_sizes"]
        n_outputs = layers[-1]
        if len(layers) < 2 or layers[0] != sizes["n_features"]:
            raise Violation("network_ must take as many values as X has columns")
        _check_encoder(model, float32=False)
    else:
        layers = network["sizes"]
        n_outputs = layers[-1]
        check_layers(model["weights_"], layers)
        if layers[0] != sizes["n_features"] or len(model["weights_"]) != 2 * (len(layers) - 1):
            raise Violation("weights_ must hold what network_ names and nothing else")
    if model["prototypes_"] is not None and model["prototypes_"].shape[1] != n_outputs:
        raise Violation("prototypes_ must be embeddings of the network")
    if len({array.dtype for array in model["weights_"].values()}) > 1:
        raise Violation("weights_ must all have one dtype")


def _check_encoder(model: Mapping[str, Any], float32: bool = True) -> None:
    from margin.meta.embedding_network import embedding_network

    check_built(model["weights_"], lambda: embedding_network(**model["network_"]), float32=float32)


MLP_NETWORK = FieldsOf({"sizes": ListOf(Count(low=1, high=2**31)), "activation": DescribedPart(ACTIVATIONS)})
PIXEL_NETWORK = FieldsOf({"pixel_sizes": ListOf(Count(low=1, high=2**31)), "activation": DescribedPart(ACTIVATIONS)})
DIRECT_NETWORK = FieldsOf({"direct_sizes": ListOf(Count(low=1, high=2**31)), "activation": DescribedPart(ACTIVATIONS)})
IMAGE_NETWORK = FieldsOf(
    {
        "encoder": ListOf(StringOf()),
        "shape": ListOf(Count(low=1, high=MOST_PIXELS)),
        "n_outputs": Count(low=1, high=MOST_PIXELS),
        "channels_last": TrueOrFalse(),
    },
    may_lack=("channels_last",),
)
NETWORK = OneOf(MLP_NETWORK, PIXEL_NETWORK, DIRECT_NETWORK, IMAGE_NETWORK)
