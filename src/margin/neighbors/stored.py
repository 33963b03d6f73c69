"""What fitted neighbor models hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.invariants import Sizes, Violation

__all__ = ["codes_name_classes", "enough_rows", "points_are_known"]


def enough_rows(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "points_" in model and model["n_neighbors"] > sizes["n_samples"]:
        raise Violation("n_neighbors must be at most the number of rows that are stored")


def points_are_known(model: Mapping[str, Any], _: Sizes) -> None:
    """Trees are built of finite rows; metrics that compare all pairs leave out NaN or distances that are not known."""
    points, metric = model.get("points_"), model.get("metric")
    if points is None or np.isfinite(points).all():
        return
    missing = isinstance(metric, str) and metric == "nan_euclidean" and not np.isinf(points).any()
    unknown = isinstance(metric, str) and metric == "precomputed" and not np.isnan(points).any()
    if not missing and not unknown:
        raise Violation("points_ must be finite")


def codes_name_classes(model: Mapping[str, Any], _: Sizes) -> None:
    if "codes_" not in model:
        return
    labels = model.get("classes_", [])
    labels = labels if isinstance(labels, list) else [labels]
    codes = np.atleast_2d(model["codes_"].T)
    if len(codes) != len(labels) or any(c.size and c.max() >= len(k) for c, k in zip(codes, labels)):
        raise Violation("codes_ must be numbers of classes_")
