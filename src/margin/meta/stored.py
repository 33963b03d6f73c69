"""What fitted few-shot and zero-shot learners hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import ArrayOf, Count, FieldsOf, Form, ListOf, Sizes, StringOf, Violation, optional
from margin.neural.activations import ACTIVATIONS
from margin.neural.stored import TRAINED, check_layers

__all__ = ["FORMS"]


def _layers_are_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    layers = model["network_"]["sizes"]
    check_layers(model["weights_"], layers)
    if layers[0] != sizes["n_features"] or len(model["weights_"]) != 2 * (len(layers) - 1):
        raise Violation("weights_ must hold what network_ names and nothing else")
    if model["prototypes_"] is not None and model["prototypes_"].shape[1] != layers[-1]:
        raise Violation("prototypes_ must be embeddings of the network")
    if len({array.dtype for array in model["weights_"].values()}) > 1:
        raise Violation("weights_ must all have one dtype")


FORMS: Mapping[str, Form] = {
    "FewShotLearner": Form(
        {
            **TRAINED,
            "classes_": ArrayOf("n_classes", kind="labels"),
            "center_": ArrayOf("n_features"),
            "scale_": ArrayOf("n_features"),
            "prototypes_": optional(ArrayOf("n_classes", None)),
            "network_": FieldsOf(
                {"sizes": ListOf(Count(low=1, high=2**31)), "activation": StringOf(tuple(ACTIVATIONS))}
            ),
        },
        [_layers_are_stored],
    ),
    "ZeroShot": Form(
        {
            "classes_": ArrayOf("n_classes", kind="labels"),
            "attributes_": ArrayOf("n_classes", "n_attributes"),
            "coef_": ArrayOf("n_features", "n_attributes"),
            "intercept_": ArrayOf("n_attributes"),
        }
    ),
}
