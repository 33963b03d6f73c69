"""What exists: listing the catalog and describing one model or one row of the notes."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

from margin import catalog
from margin.notes import atlas
from margin.service.model_facts import model_facts, row_facts, rows_of
from margin.service.nearest import nearest, plain_name
from margin.service.requests import BadRequest

__all__ = ["describe", "describe_run", "list_models", "parameters", "rows_of"]


#: Files of a run that a person opens.
RESULTS = ("report.html", "model_card.md", "board.png", "sampled.csv")


def list_models(family: str | None = None, task: str | None = None, *, rows: bool = True) -> list[dict[str, Any]]:
    """The catalog as plain objects, optionally of one family or task, with or without the rows of the notes."""
    for what, requested in (("family", family), ("task", task)):
        known = sorted({getattr(entry, what) for entry in catalog.ENTRIES})
        if requested is not None and requested not in known:
            raise BadRequest(f"There is no {what} {requested!r}; there are {', '.join(known)}.")
    return [
        {
            "name": entry.name,
            "path": entry.path,
            "family": entry.family,
            "task": entry.task,
            "data": entry.data,
            **({"rows": [row.id for row in rows_of(entry)]} if rows else {}),
        }
        for entry in catalog.ENTRIES
        if family in (None, entry.family) and task in (None, entry.task)
    ]


def describe(name: str) -> dict[str, Any]:
    """A model by catalog or class name, an atlas row by id, an experiment by name, a run folder or model file by path,
    or the rows that mention a term; else what is called most like it, with ``asked`` being the name that was given."""
    description = _describe(name)
    if description is not None:
        return description
    if plain_name(name) in {entry.name for entry in catalog.ENTRIES}:  # a model's name, with spaces or capitals
        return model_facts(catalog.entry(plain_name(name)))
    other = nearest(name)
    mentioned = atlas.find(name) if other is None or not other.is_synonym else []
    if mentioned:
        return {"what": "rows", "term": name, "rows": [row_facts(row) for row in mentioned]}
    likely = _describe(other.name) if other is not None else None
    if likely is None:
        raise KeyError(f"Neither a model, a row of the notes, an experiment nor a run is called {name!r}.")
    return {**likely, "asked": name}


def _describe(name: str) -> dict[str, Any] | None:
    """What has exactly this name."""
    if any(name in (entry.name, entry.class_name) for entry in catalog.ENTRIES):
        return model_facts(catalog.entry(name))
    if name in atlas.rows():
        return {"what": "row", **_paths_of(atlas.row(name))}
    from margin.notes import experiments  # with it comes NumPy

    if name in experiments.names():
        return _describe_experiment(name)
    if Path(name).is_file() or (Path(name) / "manifest.json").exists():
        return describe_run(name)
    return None


def _paths_of(row: atlas.Row) -> dict[str, Any]:
    """A row with its code told apart, as written and as run, and the estimators that run it."""
    from margin.service.reach import paths_of  # reads all sources when they have changed

    return {**row_facts(row), **paths_of(row)}


def parameters(name: str) -> list[dict[str, Any]]:
    """The parameters of a model: name, default, what is allowed, what it does."""
    return model_facts(catalog.entry(name))["parameters"]


def describe_run(path: str | Path) -> dict[str, Any]:
    """What a run folder, of a fit or a comparison, or a model file holds."""
    from margin.runs import Run
    from margin.service.prediction import open_model

    if not Path(path).is_dir():
        model, _ = open_model(path)
        return {"what": "run", "name": str(path), "kind": "model file", **_facts_of(model)}
    run = Run.existing(path)
    metrics, board = run.metrics(), run.folder / "board.json"
    known = ("status", "data", "rows", "task", "seconds", "metric", "remarks", "command")
    return {
        "what": "run",
        "name": str(path),
        "kind": run.manifest["identity"].get("kind", "fit"),
        **{key: run.manifest[key] for key in known if key in run.manifest},
        "target": run.manifest["identity"].get("target", ""),
        **(_facts_of(run.model()) if run.model_path.exists() else {}),
        "held_out": run.manifest.get("held_out", {}).get("scores", {}),
        "records": len(metrics),
        "last": metrics[-1] if metrics else {},
        "board": _board(board) if board.exists() else [],
        "files": [name for name in RESULTS if (run.folder / name).exists()],
    }


def _board(path: Path) -> list[dict[str, Any]]:
    """The models of a comparison; generative ones, which have many measures, by the density that ranks them."""
    board = json.loads(path.read_text())
    if isinstance(board, list):
        return board
    return [{**row, "metric": "log_density", "mean": row.get("log_density")} for row in board["board"]]


def _facts_of(model: Any) -> dict[str, Any]:
    """The class that learned, behind whatever prepares its columns and target, and the parameters that were set."""
    from margin.service.prediction import last_step

    inner = last_step(model)
    usual = {name: parameter.default for name, parameter in inspect.signature(type(inner)).parameters.items()}
    changed = {key: _brief(v) for key, v in inner.get_params(deep=False).items() if repr(v) != repr(usual.get(key))}
    return {"model": catalog.name_of(inner) or type(inner).__name__, "parameters_set": changed}


def _brief(value: Any) -> str:
    """A parameter on one line: a model as its class, and models with names as these."""
    if hasattr(value, "get_params"):
        return type(value).__name__
    if isinstance(value, list) and value and all(isinstance(v, tuple) and hasattr(v[-1], "get_params") for v in value):
        return ", ".join(str(name) for name, *_ in value)
    return str(value)


def _describe_experiment(name: str) -> dict[str, Any]:
    from margin.notes import experiments

    module = experiments.load(name)
    rows = [row_facts(row) for row in atlas.rows().values() if row.experiment == name]
    return {"what": "experiment", "name": name, "summary": inspect.getdoc(module) or "", "rows": rows}
