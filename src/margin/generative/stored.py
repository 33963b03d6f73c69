"""What fitted generative models hold: no layer is built that the stored weights do not fill."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from margin.core.invariants import ArrayOf, Count, FieldsOf, Form, ListOf, Real, Sizes, StringOf, Violation, optional
from margin.neural.activations import ACTIVATIONS
from margin.neural.stored import TRAINED

__all__ = ["FORMS"]

FLOW_LAYERS = ("planar", "affine-coupling", "autoregressive", "spline-coupling", "continuous")


def _vae_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.generative.vae_network import VAENetwork

    check_columns(model["network_"], sizes)
    check_described(model["weights_"], lambda: VAENetwork(**model["network_"]))


def _flow_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    """The described flow, built without memory, has the names and shapes of the stored weights."""
    if "network_" not in model:
        return
    from margin.generative.flows import FlowNetwork

    check_columns(model["network_"], sizes)
    check_described(model["weights_"], lambda: FlowNetwork(**model["network_"]))


def _autoencoder_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.generative.autoencoder_network import AutoencoderNetwork

    check_columns(model["network_"], sizes)
    check_described(model["weights_"], lambda: AutoencoderNetwork(**model["network_"]))


def check_columns(network: Mapping[str, Any], sizes: Sizes) -> None:
    """The network takes the columns of X, and as an image if it has a shape."""
    if network["n_features"] != sizes["n_features"]:
        raise Violation("network_ must have as many features as X has columns")
    shape = network.get("image_shape")
    if shape is not None and (len(shape) != 3 or prod(shape) != network["n_features"]):
        raise Violation("network_ must have images of as many values as X has columns")


def check_described(weights: Mapping[str, Any], factory: Callable[[], Any]) -> None:
    """The weights are those of the network that ``factory`` builds, all of one dtype."""
    import torch

    try:
        with torch.device("meta"):
            wanted = {name: tuple(tensor.shape) for name, tensor in factory().state_dict().items()}
    except (ValueError, RuntimeError, TypeError, OverflowError, KeyError) as error:
        raise Violation(f"network_ describes no network: {str(error)[:80]}") from None
    found = {name: array.shape for name, array in weights.items()}
    if found != wanted:
        different = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
        raise Violation(f"weights_ must hold the layers that network_ describes; {different[0][:80]} differs")
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
                    "latent": StringOf(("normal", "mixture", "von-mises-fisher", "hierarchical")),
                    "n_prior_components": Count(low=1),
                    "n_levels": Count(low=1),
                    "image_shape": optional(ListOf(Count(low=1))),
                }
            ),
            **TRAINED,
        },
        [_vae_is_stored],
    ),
    "Autoencoder": Form(
        {
            "center_": ArrayOf("n_features"),
            "scale_": ArrayOf("n_features"),
            "network_": FieldsOf(
                {
                    "n_features": Count(low=1),
                    "n_components": Count(low=1),
                    "hidden": ListOf(Count(low=1)),
                    "activation": StringOf(tuple(ACTIVATIONS)),
                    "code_activation": StringOf(tuple(ACTIVATIONS)),
                    "out_activation": StringOf(("identity", "logistic")),
                    "image_shape": optional(ListOf(Count(low=1))),
                    "n_active": optional(Count(low=1)),
                }
            ),
            **TRAINED,
        },
        [_autoencoder_is_stored],
    ),
    "NormalizingFlow": Form(
        {
            "center_": ArrayOf("n_features"),
            "scale_": ArrayOf("n_features"),
            "network_": FieldsOf(
                {
                    "n_features": Count(low=1),
                    "layers": ListOf(StringOf(FLOW_LAYERS)),
                    "hidden": ListOf(Count(low=1)),
                }
            ),
            **TRAINED,
        },
        [_flow_is_stored],
    ),
}
