"""What fitted networks for differential equations hold: no layer is built that the stored weights do not fill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import (
    Count,
    DictOf,
    FieldsOf,
    ListOf,
    OneOf,
    Real,
    Sizes,
    Stored,
    StringOf,
    Violation,
    optional,
)
from margin.neural.activations.table import ACTIVATIONS
from margin.neural.stored import check_built
from margin.neural.stored_parts import DescribedPart

__all__ = ["COEFFICIENTS", "SLOPE_NETWORK", "SOLUTION_NETWORK", "slope_is_stored", "solution_is_stored"]

SIZES = ListOf(Count(low=1, high=2**31))
COEFFICIENTS = DictOf(StringOf(), Real(finite=True))
ACTIVATION = DescribedPart(ACTIVATIONS)


def solution_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.physics.solution_network import SolutionNetwork

    network = model["network_"]
    lengths = {len(network[name]) for name in ("low", "high", "periods") if name in network}
    if lengths != {network["sizes"][0]} or network["sizes"][0] != sizes["n_features"]:
        raise Violation("network_ must have as many coordinates as X has columns")
    if not all(low < high for low, high in zip(network["low"], network["high"])):
        raise Violation("network_ must have a box whose sides have a length")
    if network["coefficients"].keys() != model["coefficients_"].keys():
        raise Violation("coefficients_ must be those that network_ names")
    check_built(model["weights_"], lambda: SolutionNetwork(**network), float32=False)


def slope_is_stored(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "network_" not in model:
        return
    from margin.physics.neural_ode import SlopeNetwork

    layers = model["network_"]["sizes"]
    if not layers[0] == layers[-1] == sizes["n_features"]:
        raise Violation("network_ must go from states to states")
    check_built(model["weights_"], lambda: SlopeNetwork(**model["network_"]), float32=False)


SOLUTION: Mapping[str, Stored] = {
    "sizes": SIZES,
    "activation": ACTIVATION,
    "coefficients": COEFFICIENTS,
    "low": ListOf(Real(finite=True)),
    "high": ListOf(Real(finite=True)),
}
PERIODS = ListOf(optional(Real(low=1e-300, finite=True)))  # in the files of solutions that have any
SOLUTION_NETWORK = OneOf(FieldsOf(SOLUTION), FieldsOf({**SOLUTION, "periods": PERIODS}))
SLOPE_NETWORK = FieldsOf({"sizes": SIZES, "activation": ACTIVATION})
