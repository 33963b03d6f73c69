"""What a fitted forecaster holds: windows, and regressors that give as many steps as it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import ArrayOf, Count, Form, ListOf, ModelWith, Sizes, TrueOrFalse, Violation, optional

__all__ = ["FORMS"]


def _every_step_has_a_regressor(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "estimators_" in model and len(model["estimators_"]) not in (1, model["block_"]):
        raise Violation("estimators_ must hold one regressor, or one for every step of block_")
    if model.get("single_series_") and sizes["n_series"] != 1:
        raise Violation("single_series_ must be False where there are several series")


FORMS: Mapping[str, Form] = {
    "Forecaster": Form(
        {
            "n_features_in_": Count(size="n_features"),  # exogenous columns, of which there may be none
            "estimators_": ListOf(ModelWith(["predict"]), "n_regressors"),
            "block_": Count(low=1),
            "last_window_": ArrayOf("window_length", "n_series"),
            "last_exogenous_": ArrayOf("window_length", "n_features"),
            "center_": ArrayOf("n_series"),
            "scale_": ArrayOf("n_series", low=0.0),
            "exogenous_center_": ArrayOf("n_features"),
            "exogenous_scale_": ArrayOf("n_features", low=0.0),
            "errors_": optional(ArrayOf("n_windows", "horizon", "n_series", low=0.0)),
            "single_series_": TrueOrFalse(),
        },
        [_every_step_has_a_regressor],
        may_be_empty=["n_features"],
    ),
}
