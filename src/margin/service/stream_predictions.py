"""Predictions for the rows of many files, and scores of them, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from margin.core.notices import warn_user
from margin.core.streaming import RowBlock
from margin.core.summaries import plain_labels
from margin.data.drift import drift_remarks
from margin.service.prediction import (
    Columns,
    as_written,
    columns_of,
    labels_for,
    last_step,
    open_model,
    refuse_without,
    task_of,
)
from margin.service.requests import BadRequest
from margin.service.streams import SAMPLED, open_stream

__all__ = ["predict_blocks", "score_blocks"]


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
    for block, outputs in _outputs_of(model, [method], rows, features):
        predicted = columns_of(model, outputs[method], proba)
        double = next((name for name in keep if name in predicted), None)
        if double is not None:
            raise BadRequest(f"predict: {double!r} cannot be kept: the predictions have that name.")
        yield {**{name: as_written(_store_values(block.X[name])) for name in keep}, **predicted}


def score_blocks(model_path: str, data: str, *, target: str | None = None) -> tuple[dict[str, float], list[str]]:
    """Every metric that fits the task, on the rows of many files; targets and what is predicted are kept of them.

    Metrics that look at the rows themselves are left out.
    """
    from margin.metrics.registry import methods_for, metrics_of, scores_of_outputs

    model, manifest = open_model(model_path)
    task = manifest.get("task") or task_of(model)
    target = target or manifest.get("identity", {}).get("target") or None
    if task not in ("classification", "regression") or target is None:
        what = "needs a target; name its column with --target" if target is None else f"takes no model of {task}"
        raise BadRequest(f"score: {data} names many files, of which score {what}.")
    features = list(manifest.get("features", []))
    kinds = {name: kind for name, kind in _kinds_of(model).items() if name in features}
    rows = open_stream(data, target, features or None, kinds)
    wanted = [entry for entry in metrics_of(task) if entry.against == "y"]
    methods = methods_for(wanted, model)
    found: dict[str, list[np.ndarray]] = {method: [] for method in methods}
    targets = []
    for block, outputs in _outputs_of(model, methods, rows, features or list(rows.names)):
        targets.append(np.asarray(block.y))
        for method, values in outputs.items():
            found[method].append(np.asarray(values))
    if not targets:
        raise BadRequest(f"score: {data} has no rows.")
    y = plain_labels(np.concatenate(targets))
    y = labels_for(model, y, data) if task == "classification" else y
    outputs = {method: np.concatenate(parts) for method, parts in found.items()}
    scores = scores_of_outputs(wanted, outputs, None, y, getattr(model, "classes_", None))
    if not scores:
        raise BadRequest(f"score: no metric for {task} can be computed for {type(last_step(model)).__name__}.")
    trained = manifest.get("data") == data or manifest.get("identity", {}).get("data_hash") == rows.hash()
    told = f"{data} holds the rows the model was trained on: scores on new rows are usually worse."
    return scores, [told] if trained else []


def _outputs_of(
    model: Any, methods: Sequence[str], rows: Any, features: list[str]
) -> Iterator[tuple[RowBlock, dict[str, Any]]]:
    """Every block of rows, and what the methods of the model make of it; an error names the file."""
    answers: dict[str, Callable[[Any], Any]] = {method: getattr(model, method) for method in methods}
    for part in rows.parts:
        for block in part.blocks():
            try:
                outputs = {method: answer(block.X[features]) for method, answer in answers.items()}
            except ValueError as error:
                raise ValueError(f"{part.name}: {error}") from error
            yield block, outputs


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
