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
    if len({name in model for name in ("panel_windows_", "panel_center_", "panel_scale_")}) > 1:
        raise Violation("panel_windows_, panel_center_ and panel_scale_ belong together")
    if "panel_windows_" in model and (sizes["n_series"] != 1 or sizes["n_features"]):
        raise Violation("n_series must be 1 and n_features 0 where there is a panel")
