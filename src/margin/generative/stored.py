"""What fitted generative models hold: no layer is built that the stored weights do not fill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import ArrayOf, Count, FieldsOf, Form, ListOf, Real, Sizes, StringOf, Violation
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


FORMS: Mapping[str, Form] = {
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
    )
}
