"""What one attribute of a fitted blend or bounded pipeline says of another, checked when a model file is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.invariants import Sizes, Violation

__all__ = ["bounds_are_numbers", "every_member_is_there"]


def every_member_is_there(model: Mapping[str, Any], _: Sizes) -> None:
    if "estimators_" in model and len(model["estimators_"]) != len(model["estimators"]):
        raise Violation("estimators_ must hold one fitted member for every one of estimators")
    if model["weights"] is not None and len(model["weights"]) != len(model["estimators"]):
        raise Violation("weights must hold one number for every one of estimators")


def bounds_are_numbers(model: Mapping[str, Any], _: Sizes) -> None:
    margin = model["margin"]
    if isinstance(margin, bool) or not isinstance(margin, int | float | np.floating) or not margin >= 0:
        raise Violation(f"margin must be a number of at least 0; got {margin!r}")
    if "lowest_" in model and not model["lowest_"] <= model["highest_"]:
        raise Violation("lowest_ must be at most highest_")
