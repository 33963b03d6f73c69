"""Fit, predict, score and sample: from a source of data to a run folder and back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from margin import catalog
from margin.core.parameters import InvalidParameter, parameters_of, parse_settings
from margin.runs import Run, fingerprint, interruptible
from margin.service.preparation import behind, preparation
from margin.service.requests import BadRequest
from margin.service.sources import Source, open_source

__all__ = ["build_model", "fit", "open_model", "predict", "sample", "score"]


def build_model(name: str, settings: Sequence[str], seed: int) -> Any:
    """A catalog model with ``name=value`` settings; ``seed`` becomes its random_state unless the settings say other."""
    try:
        entry = catalog.entry(name)
    except KeyError as error:
        raise BadRequest(error.args[0]) from None
    cls: Any = catalog.class_of(entry.name)
    try:
        params = parse_settings(cls, settings, build=lambda text: build_model(text, (), seed))
    except ValueError as error:
        raise BadRequest(str(error)) from None
    if "random_state" in parameters_of(cls):
        params.setdefault("random_state", seed)
    return cls(**params)


def fit(
    name: str,
    data: str,
    *,
    out: Path,
    target: str | None = None,
    settings: Sequence[str] = (),
    seed: int = 0,
    prepare: bool | None = None,
) -> dict[str, Any]:
    """Train ``name`` on ``data`` in the run folder ``out``; the same call continues an interrupted run."""
    source = open_source(data, target)
    estimator = build_model(name, settings, seed)
    entry = catalog.entry(name)
    _refuse_wrong_task(entry, source)
    if source.image_shape is not None and getattr(estimator, "image_shape", ...) is None:
        estimator.set_params(image_shape=tuple(source.image_shape))
    wanted = source.needs_preparation if prepare is None else prepare
    model = behind(preparation(source, entry.takes), estimator) if wanted else estimator
    identity = {
        "kind": "fit",
        "model": entry.name,
        "fingerprint": fingerprint(model),
        "data_hash": source.hash,
        "target": source.target,
    }
    run = Run.open(
        out,
        identity,
        data=data,
        task=entry.task,
        features=list(source.features),
        params={key: str(value) for key, value in estimator.get_params(deep=False).items()},
        seed=seed,
    )
    if run.status != "finished":
        with interruptible() as stop:
            try:
                run.fit(model, source.X, source.y if _takes_target(entry) else None, stop=stop)
            except InvalidParameter as error:
                raise BadRequest(str(error)) from None
    metrics = run.metrics()
    return {
        "run": str(run.folder),
        "model": entry.name,
        "status": run.status,
        "seconds": run.manifest.get("seconds", 0.0),
        "records": len(metrics),
        "last": metrics[-1] if metrics else {},
    }


def open_model(path: str | Path) -> tuple[Any, dict[str, Any]]:
    """A model and what is known of it, from a run folder or a model file."""
    from margin.store import load

    path = Path(path)
    if path.is_dir():
        run = Run.existing(path)
        return run.model(), run.manifest
    if not path.exists():
        raise BadRequest(f"There is neither a run folder nor a model file {str(path)!r}.")
    return load(path), {}


def predict(model_path: str, data: str, *, proba: bool = False) -> dict[str, Any]:
    """Predictions for every row of ``data``; with ``proba``, one column of probabilities per class."""
    model, manifest = open_model(model_path)
    source = _source_for(manifest, data)
    if proba:
        if not hasattr(model, "predict_proba"):
            raise BadRequest(f"{type(model).__name__} in {model_path} has no predict_proba.")
        values = model.predict_proba(source.X)
        return {str(label): values[:, i] for i, label in enumerate(getattr(model, "classes_", range(values.shape[1])))}
    values = np.asarray(model.predict(source.X))
    if values.ndim == 1:
        return {"prediction": values}
    return {f"prediction_{i}": values[:, i] for i in range(values.shape[1])}


def score(model_path: str, data: str, *, target: str | None = None) -> dict[str, float]:
    """Every metric that fits the task, on ``data``."""
    from margin.metrics import evaluate

    model, manifest = open_model(model_path)
    source = _source_for(manifest, data, target)
    task = manifest.get("task", source.task)
    if source.y is None and task in ("classification", "regression"):
        raise BadRequest(f"score: {data} needs a target; name its column with --target.")
    return evaluate(model, source.X, source.y, task)


def sample(model_path: str, n: int, seed: int) -> np.ndarray:
    """``n`` draws from a generative model."""
    model, _ = open_model(model_path)
    if not hasattr(model, "sample"):
        raise BadRequest(f"{type(model).__name__} in {model_path} is not generative: it has no sample.")
    return np.asarray(model.sample(n, random_state=seed))


def _source_for(manifest: dict[str, Any], data: str, target: str | None = None) -> Source:
    """New rows for a model: a target column is set aside, and the columns it was trained on are picked by name."""
    known = manifest.get("identity", {}).get("target", "")
    wanted = target or known or None
    try:
        source = open_source(data, wanted)
    except BadRequest:
        if target is not None or not Path(data).exists():
            raise
        source = open_source(data)  # new rows usually have no target column
    features = manifest.get("features", [])
    if source.table is None or not features:
        return source
    absent = [name for name in features if name not in source.table.names]
    if absent:
        raise BadRequest(f"{data} lacks the column {absent[0]!r} that the model was trained on.")
    picked = source.table.select(features)
    X: Any = picked.to_pandas()
    return Source(source.name, X, source.y, picked.names, source.target, source.task, source.hash, table=picked)


def _takes_target(entry: catalog.Entry) -> bool:
    return entry.task in ("classification", "regression")


def _refuse_wrong_task(entry: catalog.Entry, source: Source) -> None:
    if _takes_target(entry) and source.y is None:
        raise BadRequest(f"{entry.name} needs a target: name its column with --target.")
    if entry.task == "classification" and source.task == "regression":
        raise BadRequest(f"{entry.name} classifies, but the target of {source.name} is a quantity.")
    if entry.task == "regression" and source.y is not None and source.y.dtype.kind in "OUSb":
        raise BadRequest(f"{entry.name} predicts a quantity, but the target of {source.name} holds labels.")
