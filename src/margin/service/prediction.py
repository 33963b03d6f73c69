"""From a trained model to answers about new rows: predict, transform, score, sample."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from margin import catalog
from margin.core.notices import warn_user
from margin.data.drift import drift_remarks
from margin.data.kinds import missing_mask
from margin.data.table import close_names
from margin.runs import Run
from margin.service.number_rows import as_numbers
from margin.service.pictures import check_size, predict_pictures
from margin.service.requests import BadRequest
from margin.service.sources import Source, open_source, open_table
from margin.service.texts import open_for

__all__ = [
    "Columns", "as_written", "columns_of", "labels_for", "last_step", "open_model", "predict", "refuse_without",
    "sample", "score", "source_for", "task_of", "transform",
]  # fmt: skip

Columns = dict[str, np.ndarray]

GENERATIVE = "generative comparison"  # what the folder of one is called in its manifest


def open_model(path: str | Path) -> tuple[Any, dict[str, Any]]:
    """A model and what is known of it, from a run folder or a model file."""
    from margin.store import load

    path = Path(path)
    if path.is_dir():
        run = Run.existing(path)
        if run.manifest["identity"].get("kind") == GENERATIVE:
            from margin.service.comparison.generative.keeping import open_generator

            return open_generator(run), run.manifest
        return run.model(), run.manifest
    if not path.exists():
        raise BadRequest(f"There is neither a run folder nor a model file {str(path)!r}.")
    return load(path), {}


def predict(model_path: str, data: str, *, proba: bool = False, keep: Sequence[str] = ()) -> Columns:
    """Predictions for every row of ``data``; with ``proba``, one column of probabilities per class.

    Columns of ``data`` named by ``keep`` stand before them, as they were read.
    """
    kept = _kept_columns(data, keep)
    predicted = _predict(model_path, data, proba)
    n = len(next(iter(predicted.values())))
    short = next((name for name, values in kept.items() if len(values) != n), None)
    if short is not None:
        raise BadRequest(f"predict: {short!r} cannot be kept: it has {len(kept[short])} rows and {n} are predicted.")
    double = next((name for name in kept if name in predicted), None)
    if double is not None:
        raise BadRequest(f"predict: {double!r} cannot be kept: the predictions have that name.")
    return {**kept, **predicted}


def _kept_columns(data: str, keep: Sequence[str]) -> Columns:
    if not keep:
        return {}
    table = open_table(data)[0]
    unknown = next((name for name in keep if name not in table.names), None)
    if unknown is not None:
        raise BadRequest(f"predict: {data} has no column {unknown!r} to keep; {close_names(unknown, table.names)}.")
    return {name: as_written(table.columns[name]) for name in keep}


def as_written(values: np.ndarray) -> np.ndarray:
    """A column for a file: whole numbers without a point, nothing where a value is missing."""
    absent = missing_mask(values)
    if values.dtype.kind == "f" and np.all(values[~absent] == np.floor(values[~absent])):
        return np.array([None if gone else int(v) for v, gone in zip(values.tolist(), absent)], dtype=object)
    text = values.astype("datetime64[s]").astype(str) if values.dtype.kind == "M" else values
    return np.array([None if gone else v for v, gone in zip(text.tolist(), absent)], dtype=object)


def _predict(model_path: str, data: str, proba: bool) -> Columns:
    model, manifest = open_model(model_path)
    method = "predict_proba" if proba else "predict"
    refuse_without(model, model_path, method)
    pictures = predict_pictures(model, data, proba, manifest)
    if pictures is not None:
        return pictures
    source = source_for(manifest, data)
    check_size(model, source, data, manifest)
    rows = as_numbers(model, source)
    for remark in drift_remarks(manifest.get("columns_seen", {}), rows, source.features):
        warn_user(f"{data}: {remark}")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # they were compared by as_numbers
        predictions = getattr(model, method)(rows)
    return columns_of(model, predictions, proba)


def refuse_without(model: Any, model_path: str, method: str) -> None:
    """A sentence for a model that cannot do what is asked."""
    if not hasattr(model, method):
        raise BadRequest(_cannot(model, model_path, method))


def columns_of(model: Any, predictions: Any, proba: bool) -> Columns:
    """Predictions as named columns; with ``proba`` one of every class."""
    if isinstance(predictions, list):  # tags of the words of every text: as a tagger reads them, with blanks between
        predictions = [" ".join(map(str, tags)) for tags in predictions]
    values = np.asarray(predictions)
    if proba:
        return {str(label): values[:, i] for i, label in enumerate(getattr(model, "classes_", range(values.shape[1])))}
    return {"prediction": values} if values.ndim == 1 else _number_columns("prediction_", values)


def transform(model_path: str, data: str) -> Columns:
    """What a reducer makes of every row of ``data``."""
    model, manifest = open_model(model_path)
    if not hasattr(model, "transform"):
        raise BadRequest(_cannot(model, model_path, "transform"))
    values = model.transform(source_for(manifest, data).X)
    values = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
    return dict(zip(_output_names(model, values), values.reshape(len(values), -1).T, strict=True))


def score(model_path: str, data: str, *, target: str | None = None) -> tuple[dict[str, float], list[str]]:
    """Every metric that fits the task, on ``data``, and remarks on what the numbers are worth."""
    from margin.metrics import evaluate

    model, manifest = open_model(model_path)
    task = manifest.get("task") or task_of(model)
    if task == "transformation":
        raise BadRequest(
            f"{type(last_step(model)).__name__} in {model_path} transforms rows: there is nothing to score."
        )
    source = source_for(manifest, data, target, untargeted="drop")
    if source.untargeted and not len(source.X):
        raise BadRequest(f"score: no row of {data} has a value of the target {source.target!r}.")
    if source.y is None and task in ("classification", "regression", "forecasting"):
        known = manifest.get("identity", {}).get("target", "")
        lacks = f"{data} has no column {known!r}, which is the target" if known else f"{data} needs a target"
        raise BadRequest(f"score: {lacks}; name its column with --target.")
    check_size(model, source, data, manifest)
    if task == "classification" and source.y is not None:
        source = replace(source, y=labels_for(model, source.y, data))
    if task == "forecasting" and _is_trained_on(manifest, source, data):
        raise BadRequest(f"score: {data} is the series the model was trained on; give the values that follow it.")
    if task == "forecasting" and source.y is not None and not last_step(model).n_features_in_:
        scores = evaluate(last_step(model), len(source.y), source.y, "regression")  # the steps that follow the fit
    else:
        scores = evaluate(model, source.X, source.y, "regression" if task == "forecasting" else task)
    if not scores:
        raise BadRequest(f"score: no metric for {task} can be computed for {type(last_step(model)).__name__}.")
    remarks = []
    if source.untargeted:
        rows = source.untargeted + len(source.X)
        remarks.append(f"{source.untargeted:,} of {rows:,} rows have no {source.target} and are left out.")
    if _is_trained_on(manifest, source, data):
        remarks.append(f"{data} holds the rows the model was trained on: scores on new rows are usually worse.")
    return scores, remarks


def sample(model_path: str, n: int, seed: int) -> Columns:
    """``n`` draws from a generative model; that of a comparison gives the columns of its table."""
    model, _ = open_model(model_path)
    if not callable(getattr(model, "sample", None)):
        raise BadRequest(f"{type(last_step(model)).__name__} in {model_path} is not generative: it has no sample.")
    draws = model.sample(n, random_state=seed)
    if hasattr(draws, "columns"):
        return {str(name): draws[name].to_numpy() for name in draws.columns}
    return _number_columns("x", np.asarray(draws))


def task_of(model: Any) -> str:
    """What a model without a manifest is for, from scikit-learn's tags and from what it can do."""
    from sklearn.utils import get_tags

    kind = get_tags(model).estimator_type
    if kind in ("classifier", "regressor"):
        return {"classifier": "classification", "regressor": "regression"}[kind]
    if kind == "clusterer":
        return "clustering"
    return "density" if hasattr(model, "score_samples") else "transformation"


def last_step(model: Any) -> Any:
    """The estimator behind whatever prepares its columns and its target."""
    inner = getattr(model, "regressor_", None) or getattr(model, "regressor", None) or model
    return inner.steps[-1][1] if hasattr(inner, "steps") else inner


def labels_for(model: Any, y: np.ndarray, data: str) -> np.ndarray:
    """Targets as the model calls its classes; one that it does not know is refused: no metric is defined for it."""
    known = np.asarray(getattr(model, "classes_", y))
    unknown = [label for label in np.unique(np.asarray(y).astype(str)) if label not in known.astype(str)]
    if unknown:
        raise BadRequest(
            f"score: class {str(unknown[0])!r} of {data} is unknown to the model, whose classes are "
            f"{', '.join(known.astype(str))}."
        )
    # Numbers with a fraction were labels.
    return y.astype(str).astype(object) if y.dtype.kind == "f" and known.dtype.kind in "OU" else y


def _cannot(model: Any, path: str, lacking: str) -> str:
    """One sentence: the class, what it lacks, and the command that gives what it has."""
    name = type(last_step(model)).__name__
    others = {"predict": "margin predict", "transform": "margin transform", "sample": "margin sample"}
    has = [
        command for method, command in others.items() if method != lacking and callable(getattr(model, method, None))
    ]
    instead = f"; use {' or '.join(has)}" if has else ""
    words = {
        "predict": "predicts nothing",
        "transform": "transforms nothing",
        "predict_proba": "gives no probabilities",
    }
    return f"{name} in {path} {words[lacking]}: it has no {lacking}{instead}."


def _number_columns(prefix: str, values: np.ndarray) -> Columns:
    return {f"{prefix}{i}": column for i, column in enumerate(np.asarray(values).reshape(len(values), -1).T)}


def _output_names(model: Any, values: np.ndarray) -> list[str]:
    width = int(np.prod(values.shape[1:]))
    try:
        names = [str(name) for name in last_step(model).get_feature_names_out()]
    except (AttributeError, ValueError, TypeError):
        names = []
    return names if len(names) == width else [f"x{i}" for i in range(width)]


def _is_trained_on(manifest: dict[str, Any], source: Source, data: str) -> bool:
    """Whether these are the training rows: by content, or by name where a comparison left some of them out."""
    identity = manifest.get("identity", {})
    if not identity:
        return False
    same_name = identity.get("kind") == "comparison" and manifest.get("data") == data
    return identity.get("data_hash") == source.hash or same_name


def _entry_of(manifest: dict[str, Any]) -> catalog.Entry | None:
    """The catalog's entry of a fitted model on text; None for others, whose sources need no model to be read."""
    name = manifest.get("identity", {}).get("model", "")
    entry_of_name = next((entry for entry in catalog.ENTRIES if entry.name == name), None)
    return entry_of_name if entry_of_name is not None and entry_of_name.data == "text" else None


def source_for(
    manifest: dict[str, Any], data: str, target: str | None = None, *, untargeted: str = "predict"
) -> Source:
    """New rows for a model: a target column is set aside, and the columns it was trained on are picked by name.

    To predict, nobody needs the target; to score, rows without it are left out (``untargeted="drop"``).
    """
    known = manifest.get("identity", {}).get("target", "")
    target_column, entry = target or known or None, _entry_of(manifest)
    try:
        source = (
            open_for(entry, data, target_column, untargeted)
            if entry
            else open_source(data, target_column, untargeted=untargeted)
        )
    except BadRequest:
        if target is not None:
            raise
        source = open_for(entry, data) if entry else open_source(data)
        source = replace(source, y=None)  # new rows usually have no target column
    features = manifest.get("features", [])
    if source.table is None or not features:
        return source
    absent = [name for name in features if name not in source.table.names]
    if absent:
        others = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        close = close_names(absent[0], source.table.names)
        hint = f"; {close}" if close.startswith("close") else ""
        raise BadRequest(f"{data} lacks the column {absent[0]!r}{others} that the model was trained on{hint}.")
    picked = source.table.select(features)
    return replace(source, given=None, features=picked.names, table=picked)
