"""What fitted neighbor models hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.invariants import ArrayOf, Count, Form, ListOf, OneOf, Sizes, Stored, TrueOrFalse, Violation, optional

__all__ = ["FORMS"]

ROWS: dict[str, Stored] = {
    "points_": ArrayOf("n_samples", "n_points", finite=False),
    "whitener_": optional(ArrayOf(None, None)),
    "n_samples_fit_": Count(low=1, size="n_samples"),
}


def _enough_rows(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "points_" in model and model["n_neighbors"] > sizes["n_samples"]:
        raise Violation("n_neighbors must be at most the number of rows that are stored")


def _points_are_known(model: Mapping[str, Any], _: Sizes) -> None:
    """Trees are built of finite rows; metrics that compare all pairs leave out NaN or distances that are not known."""
    points, metric = model.get("points_"), model.get("metric")
    if points is None or np.isfinite(points).all():
        return
    missing = isinstance(metric, str) and metric == "nan_euclidean" and not np.isinf(points).any()
    unknown = isinstance(metric, str) and metric == "precomputed" and not np.isnan(points).any()
    if not missing and not unknown:
        raise Violation("points_ must be finite")


def _codes_name_classes(model: Mapping[str, Any], _: Sizes) -> None:
    if "codes_" not in model:
        return
    labels = model.get("classes_", [])
    labels = labels if isinstance(labels, list) else [labels]
    codes = np.atleast_2d(model["codes_"].T)
    if len(codes) != len(labels) or any(c.size and c.max() >= len(k) for c, k in zip(codes, labels)):
        raise Violation("codes_ must be numbers of classes_")


FORMS: Mapping[str, Form] = {
    "KNeighborsClassifier": Form(
        {
            **ROWS,
            "classes_": OneOf(ArrayOf(None, kind="labels"), ListOf(ArrayOf(None, kind="labels"))),
            "codes_": OneOf(
                ArrayOf("n_samples", kind="int64", low=0), ArrayOf("n_samples", "n_targets", kind="int64", low=0)
            ),
        },
        [_enough_rows, _points_are_known, _codes_name_classes],
    ),
    "KNeighborsRegressor": Form(
        {**ROWS, "values_": ArrayOf("n_samples", None, kind="float64"), "single_output_": TrueOrFalse()},
        [_enough_rows, _points_are_known],
    ),
}
