"""What fitted blends hold, checked when a model file is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.invariants import (
    NO_COLUMNS,
    DictOf,
    Form,
    Real,
    Sizes,
    StringOf,
    Violation,
    sometimes,
    steps_are_named_models,
)

__all__ = ["FORMS", "every_member_is_there"]


def every_member_is_there(model: Mapping[str, Any], _: Sizes) -> None:
    if "estimators_" in model and len(model["estimators_"]) != len(model["estimators"]):
        raise Violation("estimators_ must hold one fitted member for every one of estimators")
    if model["weights"] is not None and len(model["weights"]) != len(model["estimators"]):
        raise Violation("weights must hold one number for every one of estimators")


def _bounds_are_numbers(model: Mapping[str, Any], _: Sizes) -> None:
    margin = model["margin"]
    if isinstance(margin, bool) or not isinstance(margin, int | float | np.floating) or not margin >= 0:
        raise Violation(f"margin must be a number of at least 0; got {margin!r}")
    if "lowest_" in model and not model["lowest_"] <= model["highest_"]:
        raise Violation("lowest_ must be at most highest_")


#: A class of scikit-learn's making declares nothing itself.
FORMS: Mapping[str, Form] = {
    "BoundedPipeline": Form(
        {
            **NO_COLUMNS,
            "_sklearn_output_config": sometimes(DictOf(StringOf(), StringOf())),
            **dict.fromkeys(("lowest_", "highest_"), Real(finite=True)),
            "deviation_": Real(0.0, finite=True),
        },
        [steps_are_named_models, _bounds_are_numbers],
    ),
}
