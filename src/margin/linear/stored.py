"""What fitted linear models hold."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import Any

import numpy as np

from margin.core.invariants import (
    Anything,
    Array,
    Count,
    Either,
    Fields,
    Form,
    Items,
    Nothing,
    Real,
    Sizes,
    Stored,
    Text,
    Violation,
)

__all__ = ["FORMS"]

NUMBER_OR_ROW = Either(Real(finite=True), Array("n_targets"), Array())
COMMON: dict[str, Stored] = {
    "intercept_": NUMBER_OR_ROW,
    "n_iter_": Either(Count(), Array(None, kind="i", low=0), Nothing()),
    "objective_": Either(Real(), Array(None, finite=False)),
    "duality_gap_": Either(Real(), Array(None, finite=False)),
    "dual_gap_": Either(Real(), Array(None, finite=False)),
}


def _coef(columns: str = "n_features") -> Stored:
    return Either(Array(columns), Array("n_targets", columns))


def _exponents_are_possible(model: Mapping[str, Any], sizes: Sizes) -> None:
    """Monomials are listed anew for every prediction: their number must be what the coefficients say."""
    for name, degree in (("mean_coef_", "degree"), ("log_variance_coef_", "variance_degree")):
        if name in model:
            p, d = sizes["n_features"], model[degree]
            if d > len(model[name]) or comb(p + d, d) != len(model[name]):
                raise Violation(f"{name} must have a weight for every monomial up to {degree}={d}")


def _basis_is_of_its_size(model: Mapping[str, Any], sizes: Sizes) -> None:
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


def _knots_ascend(model: Mapping[str, Any], _: Sizes) -> None:
    for knots, values in zip(model.get("knots_", []), model.get("values_", [])):
        if len(knots) != len(values) or len(knots) < 1 or np.any(np.diff(knots) <= 0):
            raise Violation("knots_ must ascend, with one value at each")


POWERS = Array("n_terms", "n_features", kind="int64", low=0, high=1000)
FORMS: Mapping[str, Form] = {
    "LinearRegression": Form(
        {
            **COMMON,
            "coef_": _coef(),
            "rank_": Count(),
            "residual_variance_": Either(Real(), Array(None, finite=False)),
            "singular_": Array(None),
            "moments_": Anything(),
        }
    ),
    "Ridge": Form(
        {
            **COMMON,
            "coef_": _coef(),
            "alpha_": Either(Real(), Array(None)),
            "alphas_": Array(None),
            "loo_mse_": Array(None, finite=False),
            "solver_": Text(),
        }
    ),
    "LogisticRegression": Form(
        {
            **COMMON,
            "classes_": Array("n_classes", kind="labels"),
            "coef_": Array("n_rows", "n_features"),
            "intercept_": Array("n_rows"),
            "separable_": Anything(),
        }
    ),
    "Lasso": Form({**COMMON, "coef_": _coef()}),
    "ElasticNet": Form({**COMMON, "coef_": _coef()}),
    "BasisRegression": Form(
        {
            **COMMON,
            "coef_": Either(Array(None), Array("n_targets", None)),
            "basis_": Either(
                Fields({"kind": Text(("polynomial",)), "powers": POWERS}),
                Fields(
                    {
                        "kind": Text(("fourier",)),
                        "low": Array("n_features"),
                        "period": Array("n_features"),
                        "order": Count(low=1),
                    }
                ),
                Fields({"kind": Text(("radial",)), "centers": Array(None, "n_features"), "width": Real(finite=True)}),
                Fields({"kind": Text(("named",)), "names": Items(Text())}),
            ),
        },
        [_basis_is_of_its_size],
    ),
    "PolynomialRegression": Form({**COMMON, "powers_": POWERS, "coef_": _coef("n_terms")}),
    "SplineRegression": Form(
        {
            **COMMON,
            "knots_": Items(Array(None), "n_features"),
            "values_": Items(Array(None), "n_features"),
            "smoothing_": Real(),
            "df_": Real(),
            "gcv_": Real(),
        },
        [_knots_ascend],
    ),
    "HeteroscedasticRegression": Form(
        {
            **COMMON,
            "scaling_": Fields(
                {
                    "center": Array("n_features"),
                    "spread": Array("n_features"),
                    "middle": Real(finite=True),
                    "size": Real(finite=True),
                }
            ),
            "mean_coef_": Array(None),
            "log_variance_coef_": Array(None),
            "nll_": Real(),
        },
        [_exponents_are_possible],
    ),
}
