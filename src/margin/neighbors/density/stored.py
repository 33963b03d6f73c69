"""What fitted densities hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.invariants import ArrayOf, Form, ListOf, Real, Sizes, Stored, Violation

__all__ = ["FORMS", "STATES", "columns_are_states", "state_counts"]

STATES: Mapping[str, Stored] = {
    "values_": ListOf(ArrayOf(None), "n_features"),
    "cuts_": ListOf(ArrayOf(None), "n_features"),
    "scales_": ListOf(ArrayOf(None), "n_features"),
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


def state_counts(model: Mapping[str, Any]) -> list[int]:
    """Number of states of every column."""
    return [len(values) or len(cuts) + 1 for values, cuts in zip(model["values_"], model["cuts_"])]


def _one_probability_per_state(model: Mapping[str, Any], _: Sizes) -> None:
    if "probabilities_" in model and [len(p) for p in model["probabilities_"]] != state_counts(model):
        raise Violation("probabilities_ must hold one number for every state")


FORMS: Mapping[str, Form] = {
    "HistogramDensity": Form(
        {**STATES, "probabilities_": ListOf(ArrayOf(None, low=0, high=1), "n_features")},
        [columns_are_states, _one_probability_per_state],
    ),
    "KernelDensity": Form(
        {
            "bandwidth_": Real(0.0, finite=True),
            "rows_": ArrayOf("n_rows", "n_features"),
            "weights_": ArrayOf("n_rows", low=0),
        }
    ),
}
