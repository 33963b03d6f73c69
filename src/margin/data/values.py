"""A column of Python values, as spreadsheets and JSON give them, to a kind, a stored array and a note."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from margin.core.missing import is_missing
from margin.data.dialect import MISSING
from margin.data.inference import infer
from margin.data.kinds import store_values

__all__ = ["column_of_values"]

_MARKERS = frozenset(MISSING)
_TYPES: tuple[tuple[str, Any], ...] = (
    ("flag", bool | np.bool_),
    ("number", int | float | Decimal | np.number),
    ("date", date | np.datetime64),
    ("duration", timedelta | np.timedelta64),
)


def column_of_values(name: str, values: Sequence[Any]) -> tuple[str, np.ndarray, str]:
    """Kind, stored values and note of a column whose cells may be of any type.

    All truth values, numbers, dates or durations (which become seconds) make a column of that kind. Anything else is
    written as a string, and the strings are read as those of a text file are: a list becomes its items side by side, an
    object its JSON.

    >>> column_of_values("x", [1, None, "2.5"])
    ('number', array([1. , nan, 2.5]), '')
    >>> column_of_values("tags", [["a", "b"], []])[1]
    array(['a b', None], dtype=object)
    """
    cells = [None if _is_absent(value) else value for value in values]
    present = [value for value in cells if value is not None]
    if not present:
        return "number", np.full(len(cells), np.nan), ""
    kind = next((kind for kind, types in _TYPES if all(isinstance(value, types) for value in present)), None)
    if kind is None:
        import pyarrow as pa

        strings = [None if value is None else _string(value) for value in cells]
        return infer(pa.array(strings, pa.string()), padded=True, decimal_comma=False)
    if kind == "date":
        cells = [None if value is None else _moment(value) for value in cells]
    elif kind == "number":
        cells = [float(value) if isinstance(value, Decimal) else value for value in cells]
    elif kind == "duration":
        cells = [None if value is None else np.timedelta64(value) / np.timedelta64(1, "s") for value in cells]
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    stored_kind, array = store_values(array, {"flag": "flag", "date": "date"}.get(kind), name=name)
    return stored_kind, array, "durations in seconds" if kind == "duration" else ""


def _is_absent(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip() in _MARKERS
    if isinstance(value, list | tuple | dict | set | np.ndarray):
        return len(value) == 0
    return is_missing(value)


def _string(value: Any) -> str:
    if isinstance(value, str):
        # Half of a surrogate pair is no character, and no library writes it.
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple | set | np.ndarray):
        return " ".join(_string(item) for item in value if item is not None)
    if isinstance(value, dict):
        return json.dumps(value, default=str, ensure_ascii=False)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _moment(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(value, "us")
