"""Files in, tables out: delimited text (plain or gzip), Parquet and Arrow files, pandas and PyArrow tables."""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from margin.data.dialect import MISSING, Dialect, decode, has_fractions, has_header, rows_of, sniff, whole_lines
from margin.data.inference import infer, is_integer_column, object_column
from margin.data.kinds import stored
from margin.data.table import Table

__all__ = ["from_arrow", "from_pandas", "read"]

_TEXT = (".csv", ".tsv", ".tab", ".psv", ".txt", ".data")
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")
_SAMPLE_ROWS = 200


def read(path: str | os.PathLike[str], *, header: bool | None = None, names: Sequence[str] | None = None) -> Table:
    """The table in a file: .csv .tsv .tab .psv .txt .data (also with .gz), .parquet .pq, .arrow .feather .ipc.

    Encoding, delimiter and quotes of text files are found out; so is the header line, unless ``header`` says whether
    there is one. Without a header the columns are called ``column_1``, ``column_2``, ... ``names`` replaces all names.
    Every problem is one sentence that begins with the path.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder; name one file in it.")
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file.")
    suffix = _suffix(path)
    try:
        if suffix in _TEXT:
            table = _read_text(_bytes(path), suffix, header)
        else:
            table = _read_columnar(path, suffix)
        return table if names is None else _renamed(table, names)
    except ValueError as problem:
        # Whatever went wrong below, the reader is told which file.
        raise ValueError(f"{path}: {str(problem).rstrip('.')}.") from None


def from_pandas(frame: Any) -> Table:
    """A table from a DataFrame; its index is left out.

    >>> import pandas as pd
    >>> from_pandas(pd.DataFrame({"x": [1, None], "s": ["a", "b"]}))
    Table(2 rows: x number, s category)
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"from_pandas: frame must be a pandas DataFrame; got {type(frame).__name__}.")
    _no_duplicates([str(name) for name in frame.columns])
    pairs = {str(name): _from_series(str(name), frame.iloc[:, i]) for i, name in enumerate(frame.columns)}
    return Table.from_stored(pairs, len(frame))


def from_arrow(table: Any) -> Table:
    """A table from a PyArrow table (or record batch); dictionary columns become categories.

    >>> import pyarrow as pa
    >>> from_arrow(pa.table({"x": [1, 2], "ok": [True, None]}))
    Table(2 rows: x number, ok flag)
    """
    import pyarrow as pa

    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not isinstance(table, pa.Table):
        raise TypeError(f"from_arrow: table must be a pyarrow.Table; got {type(table).__name__}.")
    _no_duplicates(table.column_names)
    pairs = {name: _from_arrow_column(name, table.column(i)) for i, name in enumerate(table.column_names)}
    return Table.from_stored(pairs, table.num_rows)


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    suffix = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else (suffixes or [""])[-1]
    known = _TEXT if suffixes[-1:] == [".gz"] else _TEXT + _PARQUET + _ARROW
    if suffix not in known:
        raise ValueError(f"{path}: unknown suffix {''.join(suffixes[-2:])!r}; known are {' '.join(known)}.")
    return suffix


def _bytes(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix.lower() == ".gz":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as problem:
            raise ValueError(f"is not a complete gzip file ({problem})") from None
    return data


def _read_text(data: bytes, suffix: str, header: bool | None) -> Table:
    text = decoded = decode(data)
    if not text or text.isspace():
        raise ValueError("the file is empty")
    if "\n" not in text:
        text = text.replace("\r", "\n")
    if text[:4].lower() == "sep=" and text[5:6] in ("\r", "\n"):
        text = text[5:]  # a spreadsheet's hint; the sniffer needs none, and the empty line keeps line numbers right
    dialect = sniff(text, suffix)
    first = _sample(text, dialect)
    header = has_header(first) if header is None else header
    names = _names(first[0]) if header else [f"column_{i + 1}" for i in range(len(first[0]))]
    _no_duplicates(names)
    if header and len(first) == 1:
        raise ValueError("there is a header line but no rows")
    if _arrow_can(dialect, first[0] if header else []):
        columns = _parse_with_arrow(
            data if text is decoded and data.isascii() else text.encode(),
            dialect if '"' in text or "'" in text else replace(dialect, quote=None),
            names,
            header,
            [name for name, cells in zip(names, zip(*first[int(header) :])) if has_fractions(cells)],
        ) or _parse_with_csv(text, dialect, names, header)
    else:
        columns = _parse_with_csv(text, dialect, names, header)
    padded, decimal_comma = _padded(text, dialect), dialect.delimiter != ","
    pairs = {name: infer(column, padded=padded, decimal_comma=decimal_comma) for name, column in zip(names, columns)}
    return Table.from_stored(pairs, len(columns[0]))


def _padded(text: str, dialect: Dialect) -> bool:
    """Whether some field may begin or end with a space."""
    edges = (dialect.delimiter + " ", " " + dialect.delimiter, "\n ", " \n", " \r")
    return " " in text and (text[0] == " " or text[-1] == " " or any(edge in text for edge in edges))


def _sample(text: str, dialect: Dialect) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in rows_of(whole_lines(text), dialect):
            if row:
                rows.append(row)
            if len(rows) == _SAMPLE_ROWS:
                break
    except csv.Error as problem:
        raise ValueError(f"it cannot be cut into fields ({problem})") from None
    return rows


def _names(cells: list[str]) -> list[str]:
    return [cell.strip() or f"column_{i + 1}" for i, cell in enumerate(cells)]


def _no_duplicates(names: Sequence[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"column names must differ; {', '.join(map(repr, twice[:5]))} occurs more than once")


def _renamed(table: Table, names: Sequence[str]) -> Table:
    if len(names) != len(table.names):
        raise ValueError(f"names has {len(names)} entries for {len(table.names)} columns")
    _no_duplicates(names)
    pairs = {new: (table.kinds[old], table.columns[old]) for new, old in zip(names, table.names)}
    return Table.from_stored(pairs, table.n_rows)


def _arrow_can(dialect: Dialect, header_cells: list[str]) -> bool:
    """PyArrow knows neither spaces before a quote nor, when it skips the header, line breaks inside it."""
    return not dialect.skip_space and not any("\n" in cell or "\r" in cell for cell in header_cells)


def _parse_with_arrow(
    encoded: bytes, dialect: Dialect, names: list[str], header: bool, numbers: list[str]
) -> list[Any] | None:
    """Columns of strings, but of float64 where ``numbers`` names them and they are; None if PyArrow gives up."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    quote = dialect.quote or False
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(encoded.lstrip(b"\r\n")),
            arrow_csv.ReadOptions(column_names=names, skip_rows=int(header)),
            arrow_csv.ParseOptions(
                delimiter=dialect.delimiter, quote_char=quote, newlines_in_values=bool(quote), ignore_empty_lines=True
            ),
            arrow_csv.ConvertOptions(
                column_types={name: pa.float64() if name in numbers else pa.string() for name in names},
                null_values=MISSING,
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid:
        # Some number is none after all; or rows are ragged, and the slow reader says at which line, or very long.
        return _parse_with_arrow(encoded, dialect, names, header, []) if numbers else None
    integer_columns = [name for name in numbers if is_integer_column(table.column(name))]
    if integer_columns:  # perhaps identifiers such as 007, which only their spelling tells
        return _parse_with_arrow(
            encoded, dialect, names, header, [name for name in numbers if name not in integer_columns]
        )
    return list(table.columns)


def _parse_with_csv(text: str, dialect: Dialect, names: list[str], header: bool) -> list[Any]:
    import pyarrow as pa

    rows = rows_of(text, dialect)
    lines: list[list[str]] = []
    try:
        for row in rows:
            if row and len(row) != len(names):
                raise ValueError(f"line {rows.line_num} has {len(row)} fields instead of {len(names)}")
            if row:
                lines.append(row)
    except csv.Error as problem:
        raise ValueError(f"line {rows.line_num} cannot be cut into fields ({problem})") from None
    missing = frozenset(MISSING)
    columns = zip(*lines[int(header) :])
    return [pa.array([None if cell in missing else cell for cell in column], pa.string()) for column in columns]


def _read_columnar(path: Path, suffix: str) -> Table:
    import pyarrow as pa
    from pyarrow import feather, parquet

    try:
        # ParquetFile and not read_table: a path such as "year=2025/x.parquet" must not grow a column.
        table = parquet.ParquetFile(path).read() if suffix in _PARQUET else feather.read_table(path)
    except (pa.ArrowInvalid, OSError) as problem:
        text = " ".join(str(problem).split()).rstrip(".")
        raise ValueError(f"is not a readable {'Parquet' if suffix in _PARQUET else 'Arrow'} file ({text})") from None
    if not table.num_columns or not table.num_rows:
        raise ValueError("the table in it is empty")
    return from_arrow(table)


def _from_series(name: str, series: Any) -> tuple[str, np.ndarray]:
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        return stored(series.astype(object).to_numpy(), "category", name=name)
    if pd.api.types.is_bool_dtype(series.dtype):
        return stored(series.astype(object).to_numpy(), "flag", name=name)
    if pd.api.types.is_integer_dtype(series.dtype):
        return stored(series.astype(object).to_numpy() if series.hasnans else series.to_numpy(), name=name)
    if pd.api.types.is_numeric_dtype(series.dtype):
        if pd.api.types.is_complex_dtype(series.dtype):
            raise ValueError(f"from_pandas: column {name!r} has type {series.dtype}, which no kind holds.")
        return stored(series.to_numpy(dtype=np.float64, na_value=np.nan), "number", name=name)
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        naive = series.dt.tz_convert("UTC").dt.tz_localize(None) if series.dt.tz is not None else series
        return stored(naive.to_numpy(), "date", name=name)
    return stored(series.astype(object).to_numpy(), name=name)


def _from_arrow_column(name: str, column: Any) -> tuple[str, np.ndarray]:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        return stored(np.array(column.to_pylist(), dtype=object), "category", name=name)
    if pa.types.is_boolean(kind):
        return stored(np.array(column.to_pylist(), dtype=object), "flag", name=name)
    if pa.types.is_integer(kind):
        return stored(column.to_numpy() if not column.null_count else np.array(column.to_pylist(), object), name=name)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = pc.cast(column, pa.float64(), safe=False)
        return stored(np.array(numbers.to_numpy(zero_copy_only=False), dtype=np.float64), "number", name=name)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return stored(pc.cast(column, pa.timestamp("us"), safe=False).to_numpy(zero_copy_only=False), "date", name=name)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        encoded = pc.dictionary_encode(pc.cast(column, pa.string())).combine_chunks()
        labels = encoded.dictionary.to_pylist() if column.length() else []
        labels = object_column(encoded, labels) if labels else np.full(column.length(), None, dtype=object)
        return stored(labels, name=name)
    if pa.types.is_null(kind):
        return stored(np.full(column.length(), np.nan), "number", name=name)
    raise ValueError(f"column {name!r} has type {kind}, which no kind holds")
