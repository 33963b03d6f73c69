"""What fitted linear models hold."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import Any

import numpy as np

from margin.core.invariants import (
    Anything,
    ArrayOf,
    Count,
    FieldsOf,
    Form,
    ListOf,
    NoneOnly,
    OneOf,
    Real,
    Sizes,
    SparseOf,
    Stored,
    StringOf,
    Violation,
    sometimes,
)

__all__ = ["FORMS"]

NUMBER_OR_ROW = OneOf(Real(finite=True), ArrayOf("n_targets"), ArrayOf())
COMMON: dict[str, Stored] = {
    "intercept_": NUMBER_OR_ROW,
    "n_iter_": sometimes(OneOf(Count(), ArrayOf(None, kind="i", low=0), ListOf(Count()), NoneOnly())),
    "objective_": sometimes(OneOf(Real(), ArrayOf(None, finite=False))),
    "duality_gap_": sometimes(OneOf(Real(), ArrayOf(None, finite=False))),
    "dual_gap_": sometimes(OneOf(Real(), ArrayOf(None, finite=False))),
}


def _coef(columns: str = "n_features") -> Stored:
    return OneOf(ArrayOf(columns), ArrayOf("n_targets", columns))


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


POWERS = ArrayOf("n_terms", "n_features", kind="int64", low=0, high=1000)
FORMS: Mapping[str, Form] = {
    "LinearRegression": Form(
        {
            **COMMON,
            "coef_": _coef(),
            "rank_": Count(),
            "residual_variance_": OneOf(Real(), ArrayOf(None, finite=False)),
            "singular_": sometimes(ArrayOf(None)),
            "moments_": sometimes(Anything()),
        }
    ),
    "Ridge": Form(
        {
            **COMMON,
            "coef_": _coef(),
            "alpha_": OneOf(Real(), ArrayOf(None)),
            "alphas_": sometimes(ArrayOf(None)),
            "loo_mse_": sometimes(ArrayOf(None, finite=False)),
            "solver_": StringOf(),
        }
    ),
    "LogisticRegression": Form(
        {
            **COMMON,
            "classes_": ArrayOf("n_classes", kind="labels"),
            "coef_": OneOf(ArrayOf("n_rows", "n_features"), SparseOf("n_rows", "n_features")),
            "intercept_": ArrayOf("n_rows"),
            "separable_": sometimes(Anything()),
        }
    ),
    "Lasso": Form({**COMMON, "coef_": _coef()}),
    "ElasticNet": Form({**COMMON, "coef_": _coef()}),
    "BasisRegression": Form(
        {
            **COMMON,
            "coef_": OneOf(ArrayOf(None), ArrayOf("n_targets", None)),
            "basis_": OneOf(
                FieldsOf({"kind": StringOf(("polynomial",)), "powers": POWERS}),
                FieldsOf(
                    {
                        "kind": StringOf(("fourier",)),
                        "low": ArrayOf("n_features"),
                        "period": ArrayOf("n_features"),
                        "order": Count(low=1),
                    }
                ),
                FieldsOf(
                    {"kind": StringOf(("radial",)), "centers": ArrayOf(None, "n_features"), "width": Real(finite=True)}
                ),
                FieldsOf({"kind": StringOf(("named",)), "names": ListOf(StringOf())}),
            ),
        },
        [_basis_is_of_its_size],
    ),
    "PolynomialRegression": Form({**COMMON, "powers_": POWERS, "coef_": _coef("n_terms")}),
    "SplineRegression": Form(
        {
            **COMMON,
            "knots_": ListOf(ArrayOf(None), "n_features"),
            "values_": ListOf(ArrayOf(None), "n_features"),
            "smoothing_": Real(),
            "df_": Real(),
            "gcv_": Real(),
        },
        [_knots_ascend],
    ),
    "HeteroscedasticRegression": Form(
        {
            **COMMON,
            "intercept_": sometimes(NUMBER_OR_ROW),
            "scaling_": FieldsOf(
                {
                    "center": ArrayOf("n_features"),
                    "spread": ArrayOf("n_features", finite=False),  # infinite for a constant column
                    "middle": Real(finite=True),
                    "size": Real(finite=True),
                }
            ),
            "mean_coef_": ArrayOf(None),
            "log_variance_coef_": ArrayOf(None),
            "nll_": Real(),
        },
        [_exponents_are_possible],
    ),
}
