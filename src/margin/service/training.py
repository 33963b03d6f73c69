"""Fit: from a source of data to a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from margin import catalog
from margin.core.parameters import InvalidParameter, parameters_of, parse_settings
from margin.runs import Run, fingerprint, interruptible
from margin.service.cards import write_card
from margin.service.changes import folder_for
from margin.service.forecasting import in_time
from margin.service.nearest import entry_of
from margin.service.preparation import behind, preparation
from margin.service.requests import BadRequest
from margin.service.sources import Source, picture_facts
from margin.service.texts import open_for, takes_target

__all__ = ["build_model", "fit"]


def build_model(name: str, settings: Sequence[str], seed: int) -> Any:
    """A catalog model with ``name=value`` settings; ``seed`` becomes its random_state unless the settings say other."""
    entry = entry_of(name)
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
    existing: str = "refuse",
) -> dict[str, Any]:
    """Train ``name`` on ``data`` in the run folder ``out``; the same call continues an interrupted run.

    Where the folder holds another run, ``existing`` says what happens: "refuse", "force" or "new".
    """
    estimator = build_model(name, settings, seed)
    entry = catalog.entry(name)
    source = open_for(entry, data, target)
    _refuse_wrong_task(entry, source)
    if entry.task == "forecasting":
        source = in_time(source)
    model = _for_source(estimator, entry, source, prepare)
    identity = {
        "kind": "fit",
        "model": entry.name,
        "fingerprint": fingerprint(model),
        "data_hash": source.hash,
        "target": source.target,
    }
    facts = {
        "data": data,
        "task": entry.task,
        "features": list(source.features),
        "rows": len(source.X),
        "params": {key: str(value) for key, value in estimator.get_params(deep=False).items()},
        "seed": seed,
        **picture_facts(source),
    }
    run = Run.open(folder_for(out, identity, facts, existing), identity, **facts)
    if run.status != "finished":
        with interruptible() as stop:
            try:
                run.fit(model, *_pairs(entry, source), stop=stop)
            except InvalidParameter as error:
                raise BadRequest(str(error)) from None
    metrics = run.metrics()
    write_card(run)
    return {
        "run": str(run.folder),
        "model": entry.name,
        "status": run.status,
        "seconds": run.manifest.get("seconds", 0.0),
        "records": len(metrics),
        "last": metrics[-1] if metrics else {},
    }


def _for_source(estimator: Any, entry: catalog.Entry, source: Source, prepare: bool | None) -> Any:
    """The estimator with the shape of the images, behind the preparation of its columns where they need one."""
    if source.image_shape is not None and getattr(estimator, "image_shape", ...) is None:
        estimator.set_params(image_shape=tuple(source.image_shape))
    if prepare and entry.data == "text":
        raise BadRequest(f"fit: --prepare acts on columns of tables; {entry.name} takes texts.")
    prepares = source.needs_preparation if prepare is None else prepare
    return behind(preparation(source, entry.takes), estimator) if prepares else estimator


def _pairs(entry: catalog.Entry, source: Source) -> tuple[Any, Any]:
    """What the model learns from; a series without exogenous columns is the whole of it."""
    if entry.task == "forecasting" and not source.features:
        return source.y, None
    return source.X, source.y if takes_target(entry) else None


def _refuse_wrong_task(entry: catalog.Entry, source: Source) -> None:
    if takes_target(entry) and source.y is None:
        raise BadRequest(f"{entry.name} needs a target: name its column with --target.")
    if entry.task == "classification" and source.task == "regression":
        raise BadRequest(f"{entry.name} classifies, but the target of {source.name} is a quantity.")
    if entry.task in ("regression", "forecasting") and source.y is not None and source.y.dtype.kind in "OUSb":
        raise BadRequest(f"{entry.name} predicts a quantity, but the target of {source.name} holds labels.")
