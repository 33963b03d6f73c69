"""Files in, tables out: delimited text, JSON, Excel, Parquet, Arrow, plain or packed, from a path, folder or stdin."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from margin.data.columnar import from_arrow, from_pandas, read_columnar
from margin.data.file_formats import PARQUET, TEXT, HowToRead, format_of, refuse_foreign, table_suffixes
from margin.data.packed import PACKED, packing_of, unpack_bytes
from margin.data.table import Table
from margin.data.unpacking import Allowance, allow_unpacking

__all__ = ["from_arrow", "from_pandas", "read"]

#: How web pages and XML begin, whatever they are called.
_MARKUP = (b"<!doctype html", b"<html", b"<?xml")


def read(
    path: str | os.PathLike[str],
    *,
    header: bool | None = None,
    names: Sequence[str] | None = None,
    max_unpacked: int | None = None,
    sheet: str | int | None = None,
) -> Table:
    """The table in a file: delimited text, .jsonl .ndjson .json, .xlsx, .parquet .pq (also a folder), .arrow .feather.

    A file may be packed as .gz, .bz2, .xz or, alone, as .zip; ``-`` is the standard input. A file whose suffix says
    nothing is known by its content. Encoding, delimiter and quotes of text files are found out; so is the header line,
    unless ``header`` says whether there is one. Without a header the columns are called ``column_1``, ``column_2``, ...
    ``names`` replaces all names. ``sheet`` names one of an .xlsx workbook, or counts them from 1 on. ``max_unpacked``
    is how many bytes a packed file, or the columns of Parquet, Arrow or JSON, may become; by default 250 times its own,
    in any case 256 MB, and at most 4 GB where it is packed. What was guessed is in the table's ``remarks`` and
    ``notes``; every problem is one sentence that begins with the path.
    """
    where = "standard input" if str(path) == "-" else str(path)
    try:
        with nullcontext() if max_unpacked is None else allow_unpacking(max_unpacked):
            if str(path) == "-":
                table = _read_bytes(sys.stdin.buffer.read(), HowToRead("", header, sheet))
            else:
                table = _read_path(Path(path), header, sheet)
        return table if names is None else _rename(table, names)
    except (ValueError, RecursionError) as problem:
        # Whatever went wrong below, the error names the file.
        raise ValueError(f"{where}: {str(problem).rstrip('.')}.") from None


def _read_path(path: Path, header: bool | None, sheet: str | int | None) -> Table:
    if path.is_dir():
        _refuse_sheet(sheet)
        return _read_folder(path)
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file.")
    *_, inner, last = ["", "", *(suffix.lower() for suffix in path.suffixes)]
    suffix = inner if last in PACKED else last
    refuse_foreign(last)
    refuse_foreign(suffix)
    known = format_of(last)
    if known is not None and known.opens_paths:
        _refuse_sheet(sheet)
        return known.read(path, HowToRead(suffix))
    return _read_bytes(path.read_bytes(), HowToRead(suffix, header, sheet), PACKED.get(last, ""))


def _read_folder(path: Path) -> Table:
    if not any(file.suffix.lower() in PARQUET.suffixes for file in path.rglob("*")):
        raise IsADirectoryError(f"{path}: is a folder without Parquet files; name one file in it{_like(path)}.")
    return read_columnar(path, "Parquet")


def _like(path: Path) -> str:
    """A table in the folder, as an example of what may be named."""
    known = table_suffixes()
    example = next((file for file in sorted(path.iterdir()) if file.suffix.lower() in known), None)
    return f", such as {example}" if example else ""


def _read_bytes(data: bytes, how: HowToRead, packed: str = "", allowance: Allowance | None = None) -> Table:
    """The table in ``data``; the content says what it is, and how it is packed, where the suffix does not."""
    allowance = allowance or Allowance(len(data))
    named = format_of(how.suffix)
    packed = packed or ("" if named is not None and named.has_sheets else packing_of(data))
    if packed:
        data, inner = unpack_bytes(data, packed, allowance)
        refuse_foreign(inner)
        return _read_bytes(data, replace(how, suffix=inner or how.suffix), allowance=allowance)
    found = format_of(how.suffix, data) or TEXT
    if not found.has_sheets:
        _refuse_sheet(how.sheet)
    if not found.begins and data.lstrip()[:20].lower().startswith(_MARKUP):
        raise ValueError("it is a web page or XML, not a table; save the table in it as CSV")
    return found.read(data, replace(how, allowance=allowance))


def _refuse_sheet(sheet: str | int | None) -> None:
    if sheet is not None:
        raise ValueError("sheet acts on .xlsx workbooks, and this is none")


def _rename(table: Table, names: Sequence[str]) -> Table:
    if len(names) != len(table.names):
        raise ValueError(f"names has {len(names)} entries for {len(table.names)} columns")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"column names must differ; {twice[0]!r} occurs more than once")
    new = dict(zip(table.names, names))
    pairs = {new[old]: (table.kinds[old], table.columns[old]) for old in table.names}
    return Table.from_stored(pairs, table.n_rows, (), {new[name]: note for name, note in table.notes.items()})
