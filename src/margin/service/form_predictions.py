"""A trained model asked by a form: which fields it needs, predictions for rows that were typed in, for a file, samples.

Typed values go the way of a file: they are written as a table of texts and read as any other, so that a form and
``margin predict`` answer the same.
"""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from margin.core.strict_json import strict
from margin.service.columns_as_csv import write_csv
from margin.service.prediction import last_step, open_model, predict, sample
from margin.service.requests import BadRequest
from margin.service.sources import open_table

__all__ = ["predict_file", "predict_rows", "prediction_form", "sample_rows"]

MOST_ROWS, MOST_SAMPLES, LONGEST_FIELD = 100, 1000, 20_000


def prediction_form(path: str) -> dict[str, Any]:
    """The fields of a form, with an example where the training data can be read, and what the model can do."""
    model, manifest = open_model(path)
    can = [name for name in ("predict", "predict_proba", "sample") if callable(getattr(model, name, None))]
    features = [str(name) for name in manifest.get("features", [])]
    example = _example(manifest, features)
    fields = [{"name": name, **example.get(name, {"kind": "", "example": ""})} for name in features]
    return {"model": type(last_step(model)).__name__, "can": can, "fields": fields}


def _example(manifest: Mapping[str, Any], features: Sequence[str]) -> dict[str, dict[str, str]]:
    """Kinds and the first row of the training data, if they are still there."""
    try:
        table, _ = open_table(str(manifest["data"]))
        columns = {name: (table.kinds[name], table[name]) for name in features if name in table.names}
    except (KeyError, ValueError, OSError):
        return {}
    return {name: {"kind": kind, "example": _text(column)} for name, (kind, column) in columns.items()}


def _text(column: Any) -> str:
    value = next(iter(column.tolist() if hasattr(column, "tolist") else column), "")
    return "" if value is None or value != value else str(value)[:200]


def predict_rows(path: str, rows: Sequence[Mapping[str, str]], proba: bool = False) -> dict[str, list[Any]]:
    """Predictions for rows of typed values: one list for each column of the answer."""
    if not 1 <= len(rows) <= MOST_ROWS:
        raise BadRequest(f"A form predicts 1 to {MOST_ROWS} rows; got {len(rows)}.")
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise BadRequest("The form is empty: fill in at least one field.")
    too_long = next((name for row in rows for name, value in row.items() if len(value) > LONGEST_FIELD), None)
    if too_long is not None:
        raise BadRequest(f"The field {too_long!r} has more than {LONGEST_FIELD:,} characters.")
    with tempfile.TemporaryDirectory(prefix="margin-form-") as folder:
        file = Path(folder, "form.csv")
        file.write_text(_as_csv(names, rows), encoding="utf-8")
        try:
            columns = predict(path, str(file), proba=proba)
        except BadRequest as problem:
            raise BadRequest(str(problem).replace(str(file), "The form")) from None
    return {name: strict(column) for name, column in columns.items()}


def _as_csv(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([row.get(name, "") for name in names] for row in rows)
    return text.getvalue()


def predict_file(path: str, data: str, proba: bool = False) -> str:
    """Predictions for every row of a file, as CSV that a spreadsheet may open."""
    text = io.StringIO()
    write_csv(predict(path, data, proba=proba), text, guard=True)
    return text.getvalue()


def sample_rows(path: str, n: int, seed: int) -> dict[str, list[Any]]:
    """New rows that a generative model draws."""
    if not 1 <= n <= MOST_SAMPLES:
        raise BadRequest(f"A page draws 1 to {MOST_SAMPLES} samples; got {n}.")
    return {name: strict(column) for name, column in sample(path, n, seed).items()}
