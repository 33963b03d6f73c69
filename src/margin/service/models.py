"""What exists: listing the catalog and describing one model or one row of the notes."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from margin import atlas, catalog, experiments
from margin.core.parameters import parameter_table

__all__ = ["describe", "list_models", "rows_of"]


def list_models(family: str | None = None, task: str | None = None) -> list[dict[str, Any]]:
    """The catalog as plain objects, optionally of one family or task."""
    return [
        {
            "name": entry.name,
            "path": entry.path,
            "family": entry.family,
            "task": entry.task,
            "data": entry.data,
            "rows": [row.id for row in rows_of(entry)],
        }
        for entry in catalog.ENTRIES
        if family in (None, entry.family) and task in (None, entry.task)
    ]


def rows_of(entry: catalog.Entry) -> list[atlas.Row]:
    """The rows of the notes whose code names the model's class."""
    package = entry.path.split(".")[:2]

    def names_it(path: str) -> bool:
        parts = path.split(".")
        return parts[:2] == package and entry.class_name in parts

    return [row for row in atlas.rows().values() if any(map(names_it, row.code))]


def describe(name: str) -> dict[str, Any]:
    """A model by catalog or class name, an atlas row by id, an experiment by name, or the rows that mention a word."""
    if any(name in (entry.name, entry.class_name) for entry in catalog.ENTRIES):
        return _describe_model(catalog.entry(name))
    if name in atlas.rows():
        return {"what": "row", **_row(atlas.row(name))}
    if name in experiments.names():
        return _describe_experiment(name)
    found = atlas.find(name)
    if found:
        return {"what": "rows", "word": name, "rows": [_row(row) for row in found]}
    raise KeyError(f"Neither a model, a row of the notes nor an experiment is called {name!r}.")


def _describe_model(entry: catalog.Entry) -> dict[str, Any]:
    cls = catalog.class_of(entry.name)
    rows = rows_of(entry)
    return {
        "what": "model",
        "name": entry.name,
        "path": entry.path,
        "family": entry.family,
        "task": entry.task,
        "summary": inspect.getdoc(cls) or "",
        "equations": [row.equation for row in rows if row.equation],
        "parameters": parameter_table(cls),
        "source": _source(cls),
        "rows": [_row(row) for row in rows],
    }


def _describe_experiment(name: str) -> dict[str, Any]:
    module = experiments.load(name)
    rows = [_row(row) for row in atlas.rows().values() if row.experiment == name]
    return {"what": "experiment", "name": name, "summary": inspect.getdoc(module) or "", "rows": rows}


def _row(row: atlas.Row) -> dict[str, Any]:
    facts = {**vars(row), "erratum": row.erratum}
    return {name: value for name, value in facts.items() if value not in ("", (), {})}


def _source(cls: type) -> str:
    """The file a reader opens, from the package folder on."""
    path = Path(inspect.getsourcefile(cls) or "")
    return str(Path(*path.parts[path.parts.index("margin") :])) if "margin" in path.parts else str(path)
