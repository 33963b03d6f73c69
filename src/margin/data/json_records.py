"""JSON to a table: one object per line, a list of objects, or an object of equally long lists."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from margin.data.dialect import guess_encoding
from margin.data.table import Table
from margin.data.unpacking import Allowance
from margin.data.values import column_of_values

__all__ = ["looks_like_json", "read_json"]

CELL = 8  # bytes of a value in a list: what it refers to is counted by the file


def looks_like_json(text: str) -> bool:
    """Whether text begins as an object, or as a list of objects."""
    return text.lstrip()[:1] == "{" or text.replace("[", "", 1).lstrip()[:1] == "{"


def read_json(data: bytes) -> Table:
    """The table in the bytes of a JSON or JSON-lines file; nested objects become columns such as ``address.town``."""
    text, remark = guess_encoding(data)
    if not text.strip():
        raise ValueError("the file is empty")
    columns: dict[str, list[Any]] = {}
    # Rows that name columns of their own become a table with the square of their number of cells.
    allowance, n_rows = Allowance(len(data), largest=None), 0
    for n_rows, record in enumerate(_records(text), start=1):
        for name, value in _flat(record):
            # A column that begins late was missing before, and one that ends early is filled up here or below.
            column = columns.setdefault(name, [])
            allowance.spend(CELL * (n_rows - len(column)))
            column.extend([None] * (n_rows - 1 - len(column)))
            column.append(value)
    if not columns:
        raise ValueError("there are no columns in it")
    allowance.spend(CELL * sum(n_rows - len(column) for column in columns.values()))
    for column in columns.values():
        column.extend([None] * (n_rows - len(column)))
    read = {name: column_of_values(name, column) for name, column in columns.items()}
    return Table.from_stored(
        {name: (kind, values) for name, (kind, values, _) in read.items()},
        n_rows,
        [remark] if remark else [],
        {name: note for name, (_, _, note) in read.items()},
    )


def _records(text: str) -> Iterator[Mapping[str, Any]]:
    content = _one_value(text)
    if content is None:
        yield from _lines(text)
        return
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list)]
        if len(lists) == 1 and (len(content) > 1 or (lists[0] and isinstance(lists[0][0], dict))):
            content = lists[0]  # the rows, with something said about them beside
        elif lists and len(lists) == len(content) and len({len(part) for part in lists}) == 1:
            content = [dict(zip(content, row)) for row in zip(*lists)]
        else:
            content = [content]
    for number, record in enumerate(content, start=1):
        if not isinstance(record, dict):
            raise ValueError(f"item {number} is a {type(record).__name__}, not an object with named values")
        yield record


def _one_value(text: str) -> Any:
    """The text as one JSON value: a list or an object; None if it has one value per line."""
    first = text.lstrip().partition("\n")[0]
    try:
        json.loads(first)
        if "\n" in text.strip():
            return None if first.lstrip()[:1] == "{" else json.loads(text)
    except ValueError:
        pass  # the first line is a part of something longer
    try:
        content = json.loads(text)
    except ValueError as problem:
        if first.rstrip().endswith("}"):
            return None
        raise ValueError(f"it is not JSON ({problem})") from None
    if not isinstance(content, list | dict):
        raise ValueError("it holds no objects")
    return content


def _lines(text: str) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as problem:
            raise ValueError(f"line {number} is not JSON ({problem})") from None
        if not isinstance(record, dict):
            raise ValueError(f"line {number} is a {type(record).__name__}, not an object with named values")
        yield record


def _flat(record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
