"""The winner in the folder of a comparison: the model as every model is kept, and how its numbers become rows again."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from margin.runs import Run
from margin.runs.folder import RunError
from margin.service.comparison.generative.columns import CodedColumn, TableCode
from margin.service.comparison.generative.measuring import FittedGenerator
from margin.store.container import write_atomically
from margin.store.models import save

__all__ = ["COLUMNS", "keep_generator", "open_generator"]

COLUMNS = "columns.json"


def keep_generator(generator: FittedGenerator, run: Run, data_hash: str) -> None:
    """Write the columns, then the model: where there is a model, its columns are there too."""
    code = generator.code
    facts = {
        "columns": [asdict(column) for column in code.columns],
        "center": code.center.tolist(),
        "scale": code.scale.tolist(),
    }
    write_atomically(run.folder / COLUMNS, json.dumps(facts, allow_nan=False).encode())
    save(generator.model, run.model_path, data_hash=data_hash)


def open_generator(run: Run) -> FittedGenerator:
    """The winner of a generative comparison, as it was kept."""
    model, path = run.model(), run.folder / COLUMNS
    try:
        code = _code(json.loads(path.read_bytes()))
    except FileNotFoundError:
        raise RunError(f"{path} is missing: it says what the numbers of the model stand for.") from None
    except (KeyError, TypeError, ValueError):
        raise RunError(f"{path} is damaged: it does not hold the columns of a table.") from None
    width = getattr(model, "n_features_in_", len(code.columns))
    if width != len(code.columns):
        raise RunError(f"{path} names {len(code.columns)} columns, but the model beside it draws {width}.")
    return FittedGenerator(model, code)


def _code(facts: dict[str, Any]) -> TableCode:
    columns = tuple(_column(**column) for column in facts["columns"])
    center, scale = (np.array(facts[name], dtype=np.float64) for name in ("center", "scale"))
    if not columns or not center.shape == scale.shape == (len(columns),) or not np.isfinite([center, scale]).all():
        raise ValueError("a center and a scale for each column")
    return TableCode(columns, center, scale)


def _column(name: str, categories: list[Any], step: float) -> CodedColumn:
    if not isinstance(name, str) or not all(isinstance(value, str | float | int) for value in categories):
        raise ValueError("a name and plain categories")
    return CodedColumn(name, tuple(categories), float(step))
