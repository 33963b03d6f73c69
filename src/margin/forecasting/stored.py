"""What a fitted forecaster holds: windows, and regressors that give as many steps as it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import Sizes, Violation

__all__ = ["every_step_has_a_regressor"]


def every_step_has_a_regressor(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "estimators_" in model and len(model["estimators_"]) not in (1, model["block_"]):
        raise Violation("estimators_ must hold one regressor, or one for every step of block_")
    if model.get("single_series_") and sizes["n_series"] != 1:
        raise Violation("single_series_ must be False where there are several series")
