"""Whether the files of a stream belong together: first rows by which columns are judged, and what headers say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from margin.data.streams.sources import ArrowRows, ParquetRows, RowSource, named_file
from margin.data.streams.stream_columns import StreamColumns, describe_kind
from margin.data.streams.text_rows import TextRows

__all__ = ["check_headers", "first_rows"]

JUDGED_ROWS, JUDGED_PARTS = 20_000, 16  # rows by which columns are judged, from parts all over the stream


def first_rows(sources: Sequence[RowSource], names: Sequence[str] | None) -> Any:
    """The first rows of parts all over the stream, as one Arrow table."""
    import pyarrow as pa

    places = np.unique(np.linspace(0, len(sources) - 1, min(len(sources), JUDGED_PARTS)).astype(int))
    found = []
    for place in places:
        source = sources[place]
        table = next((t for t in source.tables(None, {}) if t.num_rows), None)
        if table is None:
            continue
        few = np.arange(min(table.num_rows, max(1, JUDGED_ROWS // len(places))))
        found.append((source, table.take(few)))  # a copy: a slice would keep the whole block in memory
    if not found:
        raise ValueError("stream: there are no rows.")
    first = found[0][1]
    for source, table in found:
        _same_columns(source.name, table.column_names, found[0][0].name, first.column_names)
    kept = [
        table.select(first.column_names if names is None else [n for n in names if n in first.column_names])
        for _, table in found
    ]
    try:
        return pa.concat_tables(_alike(kept), promote_options="permissive")
    except pa.ArrowException:
        for (source, _), table in zip(found, kept):
            for name in table.column_names:
                _same_type(source.name, name, table, found[0][0].name, kept[0])
        raise


def _alike(tables: list[Any]) -> list[Any]:
    """A column that one file has coded by a dictionary and another has not becomes one of dictionaries in both."""
    import pyarrow as pa

    coded = {f.name for table in tables for f in table.schema if pa.types.is_dictionary(f.type)}
    for i, table in enumerate(tables):
        for name in coded:
            place, column = table.schema.get_field_index(name), table.column(name)
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            tables[i] = table = table.set_column(place, name, column.dictionary_encode())
    return tables


def _same_columns(name: str, columns: Sequence[str], first: str, expected: Sequence[str]) -> None:
    lacking = [column for column in expected if column not in columns]
    extra = [column for column in columns if column not in expected]
    if lacking or extra:
        what = f"lacks the column {lacking[0]!r}" if lacking else f"has the column {extra[0]!r}"
        raise ValueError(f"{name}: {what}, unlike {first}; all files of a stream have the same columns.")


def _same_type(name: str, column: str, table: Any, first: str, expected: Any) -> None:
    here, there = describe_kind(table.column(column).type), describe_kind(expected.column(column).type)
    if here != there:
        raise ValueError(f"{name}: column {column!r} holds {here} here, and {there} in {first}.")


def check_headers(sources: Sequence[RowSource], judged: StreamColumns) -> None:
    """Every file has the columns: what can be seen without reading rows is said before a long fit begins."""
    first, expected_names = sources[0].name, column_types(sources[0])
    for source in {source.name: source for source in sources}.values():
        types = column_types(source)
        if types is None:
            continue
        lacking = [name for name in judged.kinds if name not in types]
        if lacking:
            raise ValueError(f"{source.name}: lacks the column {lacking[0]!r} of {first}.")
        if expected_names is not None:
            _same_columns(source.name, list(types), first, list(expected_names))
        for name, expected in judged.stored_as.items():
            if types[name] not in ("nothing", expected):
                raise ValueError(f"{source.name}: column {name!r} holds {types[name]} here, and {expected} in {first}.")


def column_types(source: RowSource) -> dict[str, str] | None:
    """What each column of a file is made of; None where only the rows tell."""
    if isinstance(source, TextRows):
        return dict.fromkeys([*source.names, *source.constants], "strings")
    if isinstance(source, ParquetRows | ArrowRows):
        schema = _schema(source)
        return {field.name: describe_kind(field.type) for field in schema} | dict.fromkeys(source.constants, "strings")
    return None


def _schema(source: ParquetRows | ArrowRows) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    if isinstance(source, ParquetRows):
        with named_file(source.path, "Parquet"):
            return parquet.read_schema(source.path)
    with named_file(source.path, "Arrow"), pa.memory_map(str(source.path)) as mapped, pa.ipc.open_file(mapped) as file:
        return file.schema
