"""What fitted detectors hold: no layer is built that the stored weights do not fill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import Count, FieldsOf, Real, Sizes, StringOf, Violation
from margin.neural.stored import MOST_PIXELS, SCALING, check_built, check_channels

__all__ = ["NETWORK", "network_is_stored"]


def network_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.vision.detection.detector import detector_network

    network = {name: value for name, value in model["network_"].items() if name not in SCALING}
    check_channels(model["network_"], network["in_channels"])
    if network["n_classes"] != sizes["n_classes"]:
        raise Violation("network_ must have scores for every class")
    check_built(model["weights_"], lambda: detector_network(**network), prefix="body.")


NETWORK = FieldsOf(
    {
        "architecture": StringOf(("r-cnn", "fast-r-cnn", "faster-r-cnn", "yolo", "detr", "hog-svm")),
        "in_channels": Count(low=1, high=MOST_PIXELS),
        "n_classes": Count(low=1, high=MOST_PIXELS),
        "channels": Count(low=1, high=MOST_PIXELS),
        "usual_side": Real(low=1e-3, high=MOST_PIXELS, finite=True),
        "n_queries": Count(low=1, high=MOST_PIXELS),
        "context_layers": Count(high=8),
        **SCALING,
    }
)
