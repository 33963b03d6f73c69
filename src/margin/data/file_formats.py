"""The formats of files that hold a table, one line each, and those that other programs read.

A reader is a module with a function of bytes and a line of ``FORMATS`` here; everything that names, recognizes or
refuses files reads these lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from margin.data.columnar import read_columnar
from margin.data.delimited import read_delimited
from margin.data.json_records import looks_like_json, read_json
from margin.data.table import Table
from margin.data.unpacking import Allowance

__all__ = ["FORMATS", "PARQUET", "TEXT", "FileFormat", "HowToRead", "format_of", "refuse_foreign", "table_suffixes"]


@dataclass(frozen=True)
class HowToRead:
    """What is known of a file beside its bytes: ``header`` and ``sheet`` are the user's, ``allowance`` bounds what
    packed parts may become."""

    suffix: str = ""
    header: bool | None = None
    sheet: str | int | None = None
    allowance: Allowance = field(default_factory=lambda: Allowance(0))


@dataclass(frozen=True)
class FileFormat:
    """A format of files that hold a table.

    ``read`` gets the bytes, or the path where it ``opens_paths``. Bytes that begin with one of ``begins`` are of this
    format whatever the file is called; what ``looks_like`` accepts is, where the suffix says nothing.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[bytes | Path, HowToRead], Table]
    begins: tuple[bytes, ...] = ()
    looks_like: Callable[[str], bool] | None = None
    opens_paths: bool = False
    has_sheets: bool = False


def _spreadsheet(data: bytes | Path, how: HowToRead) -> Table:
    from margin.data.spreadsheet import read_spreadsheet

    assert isinstance(data, bytes)
    return read_spreadsheet(data, how.header, how.allowance, how.sheet)


def _parquet(source: bytes | Path, how: HowToRead) -> Table:
    return read_columnar(source, "Parquet", how.allowance if isinstance(source, bytes) else None)


def _arrow(source: bytes | Path, how: HowToRead) -> Table:
    return read_columnar(source, "Arrow", how.allowance if isinstance(source, bytes) else None)


def _json(data: bytes | Path, _: HowToRead) -> Table:
    assert isinstance(data, bytes)
    return read_json(data)


def _text(data: bytes | Path, how: HowToRead) -> Table:
    assert isinstance(data, bytes)
    return read_delimited(data, how.suffix, how.header)


PARQUET = FileFormat("Parquet", (".parquet", ".pq"), _parquet, begins=(b"PAR1",), opens_paths=True)
TEXT = FileFormat("text", (".csv", ".tsv", ".tab", ".psv", ".txt", ".data"), _text)
#: In the order in which bytes are looked at; text is what is left.
FORMATS = (
    FileFormat("Excel", (".xlsx", ".xlsm"), _spreadsheet, begins=(b"PK\x03\x04",), has_sheets=True),
    PARQUET,
    FileFormat("Arrow", (".arrow", ".feather", ".ipc"), _arrow, begins=(b"ARROW1",), opens_paths=True),
    FileFormat("JSON", (".jsonl", ".ndjson", ".json"), _json, looks_like=looks_like_json),
    TEXT,
)
#: Formats that other programs read, and what to do.
FOREIGN = {
    **dict.fromkeys((".xls", ".xlsb", ".ods", ".numbers"), "save it as .xlsx"),
    **dict.fromkeys((".7z", ".rar", ".tar", ".tgz", ".zst"), "unpack it"),
    **dict.fromkeys((".pkl", ".pickle", ".npy", ".npz", ".h5", ".hdf5", ".mat", ".orc"), "save it as Parquet or CSV"),
    **dict.fromkeys((".dta", ".sav", ".sas7bdat", ".rds", ".rdata", ".arff", ".libsvm", ".svmlight"), "save it as CSV"),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3", ".duckdb", ".mdb", ".accdb"), "export the table as CSV or Parquet"),
    **dict.fromkeys((".html", ".htm", ".xml", ".pdf", ".docx", ".yaml", ".yml"), "save the table in it as CSV"),
}


def format_of(suffix: str, data: bytes = b"") -> FileFormat | None:
    """The format of a file by its suffix and what it begins with; None where both say nothing.

    >>> format_of(".json").name, format_of(".txt", b"PAR1...").name, format_of(""), format_of("", b'{"a": 1}').name
    ('JSON', 'Parquet', None, 'JSON')
    """
    for known in FORMATS:
        if suffix in known.suffixes or (known.begins and data.startswith(known.begins)):
            return known
    text = data[:200].decode("utf-8", "replace")
    return next((known for known in FORMATS if known.looks_like is not None and known.looks_like(text)), None)


def refuse_foreign(suffix: str) -> None:
    if suffix in FOREIGN:
        raise ValueError(f"{suffix} files are not read; {FOREIGN[suffix]}")


def table_suffixes() -> tuple[str, ...]:
    """How names of files that hold a table may end."""
    return tuple(suffix for known in FORMATS for suffix in known.suffixes)
