"""What fitted segmenters hold: no layer is built that the stored weights do not fill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import Count, FieldsOf, Sizes, StringOf, Violation
from margin.neural.stored import MOST_PIXELS, SCALING, check_built, check_channels

__all__ = ["NETWORK", "network_is_stored"]

MOST_HALVINGS = 8


def network_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.neural.nets.pixels import pixel_network

    network = {name: value for name, value in model["network_"].items() if name not in SCALING}
    check_channels(model["network_"], network["in_channels"])
    if network["n_outputs"] != sizes["n_outputs"]:
        raise Violation("network_ must have an output for every class")
    check_built(model["weights_"], lambda: pixel_network(**network), prefix="body.")


NETWORK = FieldsOf(
    {
        "architecture": StringOf(("fcn", "unet", "encoder-decoder", "hourglass")),
        "in_channels": Count(low=1, high=MOST_PIXELS),
        "n_outputs": Count(low=1, high=MOST_PIXELS),
        "depth": Count(low=1, high=MOST_HALVINGS),
        "channels": Count(low=1, high=MOST_PIXELS),
        **SCALING,
    }
)
