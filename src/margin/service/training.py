"""Fit: from a source of data to a run folder."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from margin import catalog
from margin.core.parameters import InvalidParameter, parameters_of, parse_settings
from margin.core.summaries import takes_streams
from margin.data import Profile
from margin.data.drift import column_summaries
from margin.runs import Run, fingerprint, interruptible, lengthen
from margin.runs.shared_runs import open_run, processes_of
from margin.service.cards import write_card
from margin.service.changes import folder_for
from margin.service.fit_request import FitRequest
from margin.service.nearest import entry_of
from margin.service.preparation import behind, preparation
from margin.service.profiles import profile_source
from margin.service.requests import BadRequest
from margin.service.series import InTime, in_time
from margin.service.sources import Source, open_streamed, picture_facts
from margin.service.streams import names_stream, refuse_unstreamable
from margin.service.texts import open_for, open_tokens, takes_target

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
    name: str, data: str, request: FitRequest | None = None, *, out: Path, existing: str = "refuse"
) -> dict[str, Any]:
    """Train ``name`` on ``data`` in the run folder ``out``; the same call continues an interrupted run, and one with a
    larger max_iter goes on from the end of a network's (:func:`margin.runs.lengthen`).

    Where the folder holds another run, ``existing`` says what happens: "refuse", "force" or "new".
    """
    request = request or FitRequest()
    request.check()
    estimator = build_model(name, request.settings, request.seed)
    entry = catalog.entry(name)
    material = _material(entry, estimator, data, request)
    source = material.moments.source
    model = _for_source(estimator, entry, source, request.prepare, material.profile)
    identity = _identity(entry, model, source, request)
    facts = {
        "data": data,
        "task": entry.task,
        "features": list(source.features),
        "rows": source.n_rows,
        "params": {key: str(value) for key, value in estimator.get_params(deep=False).items()},
        "seed": request.seed,
        "remarks": material.remarks,
        "columns_seen": {} if source.table is None else column_summaries(source.X, source.features),
        **picture_facts(source),
        **material.moments.facts(),
    }
    processes = _processes(estimator)

    def choose() -> Path:
        return folder_for(lengthen(out, model, identity, facts["params"]), identity, facts, existing)

    run = open_run(choose, identity, processes, **facts)
    if run.status != "finished":
        with interruptible() as stop:
            try:
                run.fit(model, *_pairs(entry, source), stop=stop)
            except InvalidParameter as error:
                raise BadRequest(str(error)) from None
    if run.writes:
        write_card(run)
    return _outcome(run, entry, material.remarks)


def speaks() -> bool:
    """Whether this process tells the user of a fit: of those that torchrun starts together, the first."""
    return os.environ.get("RANK", "0") == "0" or not os.environ.get("WORLD_SIZE")


@dataclass(frozen=True)
class _Material:
    """What a model learns from, how its columns were judged, and what was done to them in words."""

    moments: InTime
    profile: Profile | None
    remarks: list[str]


def _material(entry: catalog.Entry, estimator: Any, data: str, request: FitRequest) -> _Material:
    """The source ``data`` as the model takes it, without the columns that it must not see."""
    if not _forecasts(entry) and (request.time is not None or request.series is not None):
        raise BadRequest(f"fit: --time and --series act on forecasters; {entry.name} is none.")
    source = _open(entry, estimator, data, request)
    _refuse_wrong_task(entry, source)
    _refuse_without_target(entry, estimator)
    if _forecasts(entry):
        moments = in_time(source, request.time, request.ignore, request.series)
        return _Material(moments, None, list(moments.remarks))
    remarks = _sampled_remark(source)
    if entry.data != "table" or entry.task not in ("classification", "regression") or request.prepare is False:
        return _Material(InTime(source), None, remarks)
    source, profile, judged = profile_source(source)
    return _Material(InTime(source), profile, [*remarks, *judged])


def _identity(entry: catalog.Entry, model: Any, source: Source, request: FitRequest) -> dict[str, Any]:
    """What decides about the model: a folder with another one of these holds another fit."""
    columns = [request.time, request.series, sorted(request.ignore)]
    return {
        "kind": "fit",
        "model": entry.name,
        "fingerprint": fingerprint(model),
        "data_hash": source.hash,
        "target": source.target,
        **({"columns": columns} if any(columns) else {}),
    }


def _outcome(run: Run, entry: catalog.Entry, remarks: list[str]) -> dict[str, Any]:
    metrics = run.metrics()
    return {
        "run": str(run.folder),
        "model": entry.name,
        "status": run.status,
        "seconds": run.manifest.get("seconds", 0.0),
        "records": len(metrics),
        "last": metrics[-1] if metrics else {},
        "remarks": remarks,
    }


def _open(entry: catalog.Entry, estimator: Any, spec: str, request: FitRequest) -> Source:
    """The rows to learn from: a table without the columns to ignore, or a stream of many files.

    A folder of Parquet files was always one table: it stays one for models that take no stream.
    """
    if entry.data == "table" and names_stream(spec):
        able = takes_streams(estimator)
        if able or glob.has_magic(spec) or not any(Path(spec).rglob("*.parquet")):
            refuse_unstreamable(entry, estimator, spec)
            return open_streamed(spec, request.target, request.ignore)
    if entry.data == "text" and request.target is None and (tokens := open_tokens(entry, estimator, spec)) is not None:
        return tokens
    if _forecasts(entry):
        return open_for(entry, spec, request.target, untargeted="drop")
    return _without(open_for(entry, spec, request.target, untargeted="refuse"), request.ignore)


def _forecasts(entry: catalog.Entry) -> bool:
    return entry.task == "forecasting" and entry.data == "table"


def _sampled_remark(source: Source) -> list[str]:
    """That columns are judged by some of the rows of a stream."""
    if source.n_rows == len(source.X):
        return []
    return [f"Columns are judged by {len(source.X):,} of the {source.n_rows:,} rows, drawn from all of them."]


def _processes(estimator: Any) -> Any:
    """The processes that share the fit; several that would each do the same are refused."""
    processes = processes_of(estimator)
    several = int(os.environ.get("WORLD_SIZE", "1"))
    if processes is None and several > 1:
        shared = (
            "--set batch_parts=4 lets them share it"
            if "batch_parts" in parameters_of(type(estimator))
            else ("only networks share a fit")
        )
        raise BadRequest(
            f"fit: torchrun started {several} processes for one fit of {type(estimator).__name__}; {shared}."
        )
    return processes


def _without(source: Source, ignore: Sequence[str]) -> Source:
    """The source without some of its columns."""
    if not ignore:
        return source
    if source.table is None:
        raise BadRequest(f"{source.name} has no columns by name, so --ignore does not act.")
    unknown = next((name for name in ignore if name not in source.table.names), None)
    if unknown is not None:
        raise BadRequest(f"{source.name} has no column {unknown!r}; its columns are {', '.join(source.table.names)}.")
    kept = source.table.drop(*ignore)
    if not kept.names:
        raise BadRequest(f"{source.name} has no column left to learn from.")
    return replace(source, given=None, features=kept.names, table=kept)


def _for_source(
    estimator: Any, entry: catalog.Entry, source: Source, prepare: bool | None, profile: Profile | None
) -> Any:
    """The estimator with the shape of the images, behind the preparation of its columns where they need one."""
    if source.image_shape is not None and getattr(estimator, "image_shape", ...) is None:
        estimator.set_params(image_shape=tuple(source.image_shape))
    if prepare and entry.data == "text":
        raise BadRequest(f"fit: --prepare acts on columns of tables; {entry.name} takes texts.")
    # What reads the columns by name takes rows as they come, with those that were left out.
    leaves_out = profile is not None and len(profile.used) < len(profile.columns) - 1
    prepares = (source.needs_preparation or leaves_out) if prepare is None else prepare
    return behind(preparation(source, entry.takes, profile), estimator) if prepares else estimator


def _pairs(entry: catalog.Entry, source: Source) -> tuple[Any, Any]:
    """What the model learns from; a series without exogenous columns is the whole of it."""
    if source.streamed is not None:
        return source.streamed.stream.select(source.features), None
    if entry.task == "forecasting" and not source.features:
        return source.y, None
    return source.X, source.y if takes_target(entry) else None


def _refuse_without_target(entry: catalog.Entry, estimator: Any) -> None:
    from sklearn.utils import get_tags

    if not takes_target(entry) and get_tags(estimator).target_tags.required:
        raise BadRequest(f"{entry.name} learns from two sets, X and y, and a command has one table; fit it in Python.")


def _refuse_wrong_task(entry: catalog.Entry, source: Source) -> None:
    if takes_target(entry) and source.y is None:
        raise BadRequest(f"{entry.name} needs a target: name its column with --target.")
    if entry.task == "classification" and source.task == "regression":
        raise BadRequest(f"{entry.name} classifies, but the target of {source.name} is a quantity.")
    if entry.task in ("regression", "forecasting") and source.y is not None and source.y.dtype.kind in "OUSb":
        raise BadRequest(f"{entry.name} predicts a quantity, but the target of {source.name} holds labels.")
