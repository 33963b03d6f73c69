"""What fitted densities hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.invariants import ArrayOf, ListOf, Sizes, Stored, StringOf, Violation

__all__ = ["STATES", "columns_are_states", "one_probability_per_state", "state_counts"]

STATES: Mapping[str, Stored] = {
    "values_": ListOf(ArrayOf(None), "n_features"),
    "cuts_": ListOf(ArrayOf(None), "n_features"),
    "scales_": ListOf(ArrayOf(None), "n_features"),
    "labels_": ListOf(ListOf(StringOf()), "n_features"),
}


def columns_are_states(model: Mapping[str, Any], _: Sizes) -> None:
    """Every column has ascending values, or ascending cuts and two positive scales."""
    if "values_" not in model:
        return
    for values, cuts, scales in zip(model["values_"], model["cuts_"], model["scales_"]):
        is_category = len(values) > 0 and len(cuts) == len(scales) == 0
        is_number = len(values) == 0 and len(cuts) > 0 and len(scales) == 2 and (scales > 0).all()
        if not (is_category or is_number) or (np.diff(values) <= 0).any() or (np.diff(cuts) <= 0).any():
            raise Violation("values_, cuts_ and scales_ must describe every column as a category or as intervals")
    for values, labels in zip(model["values_"], model["labels_"]):
        if labels and (not len(values) or values[0] < 0 or values[-1] >= len(labels) or (values % 1).any()):
            raise Violation("values_ must be positions in labels_ where a column has labels")


def state_counts(model: Mapping[str, Any]) -> list[int]:
    """Number of states of every column."""
    return [len(values) or len(cuts) + 1 for values, cuts in zip(model["values_"], model["cuts_"])]


def one_probability_per_state(model: Mapping[str, Any], _: Sizes) -> None:
    if "probabilities_" in model and [len(p) for p in model["probabilities_"]] != state_counts(model):
        raise Violation("probabilities_ must hold one number for every state")
