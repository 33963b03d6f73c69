"""Predictions for the rows of many files, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from margin.core.notices import warn_user
from margin.data.drift import drift_remarks
from margin.service.prediction import Columns, as_written, columns_of, open_model, refuse_without
from margin.service.requests import BadRequest
from margin.service.streams import SAMPLED, open_stream

__all__ = ["predict_blocks"]


def predict_blocks(model_path: str, data: str, *, proba: bool = False, keep: Sequence[str] = ()) -> Iterator[Columns]:
    """What :func:`margin.service.prediction.predict` gives of one table, for every block of rows of ``data``."""
    model, manifest = open_model(model_path)
    method = "predict_proba" if proba else "predict"
    refuse_without(model, model_path, method)
    features = list(manifest.get("features", []))
    target = manifest.get("identity", {}).get("target", "")
    wanted = [*features, *(name for name in keep if name not in features)] if features else None
    kinds = {name: kind for name, kind in _kinds_of(model).items() if name in features}
    rows = open_stream(data, None, wanted, kinds)
    features = features or [name for name in rows.names if name not in (*keep, target)]
    if manifest.get("columns_seen"):
        for remark in drift_remarks(manifest["columns_seen"], rows.select(features).sample(SAMPLED).X, features):
            warn_user(f"{data}: {remark}")
    predict: Callable[[Any], Any] = getattr(model, method)
    for part in rows.parts:
        for block in part.blocks():
            try:
                predicted = columns_of(model, predict(block.X[features]), proba)
            except ValueError as error:
                raise ValueError(f"{part.name}: {error}") from error
            double = next((name for name in keep if name in predicted), None)
            if double is not None:
                raise BadRequest(f"predict: {double!r} cannot be kept: the predictions have that name.")
            yield {**{name: as_written(_store_values(block.X[name])) for name in keep}, **predicted}


def _kinds_of(model: Any) -> dict[str, str]:
    """The kinds of the columns that a pipeline on tables was taught."""
    steps = getattr(model, "steps", None)
    if isinstance(steps, list) and steps:
        return _kinds_of(steps[0][1])
    return dict(getattr(model, "kinds", {}))


def _store_values(series: Any) -> Any:
    """A column of a block as a table stores it: None where an object is missing."""
    values = series.to_numpy(dtype=None if series.dtype.kind in "fM" else object)
    if values.dtype == object:
        values = values.copy()
        values[series.isna().to_numpy()] = None
    return values
