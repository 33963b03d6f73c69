"""Forms that several linear models share, and what one of their attributes says of another."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import Any

import numpy as np

from margin.core.invariants import (
    ArrayOf,
    Count,
    FieldsOf,
    ListOf,
    NoneOnly,
    OneOf,
    Real,
    Sizes,
    StringOf,
    TrueOrFalse,
    Violation,
)

__all__ = [
    "BASIS",
    "ITERATIONS",
    "MOMENTS",
    "NUMBER_OR_ROW",
    "PER_TARGET",
    "SCALING",
    "basis_is_of_its_size",
    "exponents_are_possible",
    "knots_ascend",
]

ITERATIONS = OneOf(Count(), ArrayOf(None, kind="i", low=0), ListOf(Count()), NoneOnly())
PER_TARGET = OneOf(Real(), ArrayOf(None, finite=False))
MOMENTS = FieldsOf(
    {
        "rows": Count(),
        "weight": Real(finite=True),
        "mean_x": ArrayOf("n_features"),
        "mean_y": ArrayOf("n_summed_targets"),
        "xx": ArrayOf("n_features", "n_features"),
        "xy": ArrayOf("n_features", "n_summed_targets"),
        "yy": ArrayOf("n_summed_targets"),
        "centered": TrueOrFalse(),
    }
)
NUMBER_OR_ROW = OneOf(Real(finite=True), ArrayOf("n_targets"), ArrayOf())


def exponents_are_possible(model: Mapping[str, Any], sizes: Sizes) -> None:
    """Monomials are listed anew for every prediction: their number must be what the coefficients say."""
    for name, degree in (("mean_coef_", "degree"), ("log_variance_coef_", "variance_degree")):
        if name in model:
            p, d = sizes["n_features"], model[degree]
            if d > len(model[name]) or comb(p + d, d) != len(model[name]):
                raise Violation(f"{name} must have a weight for every monomial up to {degree}={d}")


def basis_is_of_its_size(model: Mapping[str, Any], sizes: Sizes) -> None:
    basis, coef = model.get("basis_"), model.get("coef_")
    if basis is None or coef is None:
        return
    kind, p = basis.get("kind"), sizes["n_features"]
    counts = {
        "polynomial": lambda: len(basis["powers"]),
        "fourier": lambda: 2 * basis["order"] * p,
        "radial": lambda: len(basis["centers"]),
        "named": lambda: len(basis["names"]) * p,
    }
    if coef.shape[-1] != counts[kind]():
        raise Violation("basis_ must have as many functions as there are weights in coef_")


def knots_ascend(model: Mapping[str, Any], _: Sizes) -> None:
    for knots, values in zip(model.get("knots_", []), model.get("values_", [])):
        if len(knots) != len(values) or len(knots) < 1 or np.any(np.diff(knots) <= 0):
            raise Violation("knots_ must ascend, with one value at each")


POWERS = ArrayOf("n_terms", "n_features", kind="int64", low=0, high=1000)
BASIS = OneOf(
    FieldsOf({"kind": StringOf(("polynomial",)), "powers": POWERS}),
    FieldsOf(
        {
            "kind": StringOf(("fourier",)),
            "low": ArrayOf("n_features"),
            "period": ArrayOf("n_features"),
            "order": Count(low=1),
        }
    ),
    FieldsOf({"kind": StringOf(("radial",)), "centers": ArrayOf(None, "n_features"), "width": Real(finite=True)}),
    FieldsOf({"kind": StringOf(("named",)), "names": ListOf(StringOf())}),
)
SCALING = FieldsOf(
    {
        "center": ArrayOf("n_features"),
        "spread": ArrayOf("n_features", finite=False),  # infinite for a constant column
        "middle": Real(finite=True),
        "size": Real(finite=True),
    }
)
