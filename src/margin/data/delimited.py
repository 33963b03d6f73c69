"""Delimited text to a table: the dialect is found out, PyArrow parses, the standard library says where it breaks."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from margin.data.dialect import (
    MISSING,
    Dialect,
    guess_encoding,
    has_fractions,
    rows_of,
    separate_by_tabs,
    separated_by_spaces,
    sniff,
    whole_lines,
)
from margin.data.header import has_header
from margin.data.inference import infer, is_integer_column
from margin.data.preamble import without_preamble
from margin.data.table import Table

__all__ = ["DelimitedLayout", "delimited_layout", "read_delimited", "unique_names"]

_SAMPLE_ROWS = 200


def read_delimited(data: bytes, suffix: str = "", header: bool | None = None) -> Table:
    """The table in the bytes of a delimited text file; what was guessed is among its remarks."""
    decoded, encoding_remark = guess_encoding(data)
    text = _with_plain_line_ends(decoded)
    dialect = sniff(text, suffix)
    text, preamble_remark = without_preamble(text, dialect)
    first = _sample(text, dialect)
    names, header, remarks = _header(first, header)
    if header and len(first) == 1:
        raise ValueError("there is a header line but no rows")
    columns = None
    if _arrow_can(dialect, first[0] if header else []):
        columns = _parse_with_arrow(
            data if text is decoded and data.isascii() else text.encode(),
            dialect if '"' in text or "'" in text else replace(dialect, quote=None),
            names,
            header,
            [name for name, cells in zip(names, zip(*first[int(header) :])) if has_fractions(cells)],
        )
    columns = columns or _parse_with_csv(text, dialect, names, header)
    padded, decimal_comma = _has_padding(text, dialect), dialect.delimiter != ","
    read = {name: infer(column, padded=padded, decimal_comma=decimal_comma) for name, column in zip(names, columns)}
    return Table.from_stored(
        {name: (kind, values) for name, (kind, values, _) in read.items()},
        len(columns[0]),
        [remark for remark in (encoding_remark, preamble_remark, *remarks) if remark],
        {name: note for name, (_, _, note) in read.items()},
    )


class DelimitedLayout(NamedTuple):
    """How a delimited file is written; ``rewritten``: not as its bytes are (a preamble, other line ends, spaces)."""

    names: list[str]
    header: bool
    dialect: Dialect
    encoding: str
    rewritten: bool


def delimited_layout(head: bytes, suffix: str = "", header: bool | None = None) -> DelimitedLayout:
    """The layout of a delimited text file that begins with ``head``, as :func:`read_delimited` would judge it.

    >>> delimited_layout(b"a;b\\n1;2\\n").names
    ['a', 'b']
    """
    decoded, remark = guess_encoding(head)
    text = _with_plain_line_ends(decoded)
    dialect = sniff(text, suffix)
    stripped, _ = without_preamble(text, dialect)
    names, header, _ = _header(_sample(stripped, dialect), header)
    wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or "UTF-16" in remark
    encoding = "utf-16" if wide else "utf-8" if not remark else "latin-1" if "Latin-1" in remark else "cp1252"
    return DelimitedLayout(names, header, dialect, encoding, stripped is not decoded)


def _with_plain_line_ends(text: str) -> str:
    if not text or text.isspace():
        raise ValueError("the file is empty")
    if "\n" not in text:
        text = text.replace("\r", "\n")
    if text[:4].lower() == "sep=" and text[5:6] in ("\r", "\n"):
        text = text[5:]  # a spreadsheet's hint; the sniffer needs none, and the empty line keeps line numbers right
    return separate_by_tabs(text) if separated_by_spaces(text) else text


def _header(first: list[list[str]], header: bool | None) -> tuple[list[str], bool, list[str]]:
    """The names of the columns, whether the first row gives them, and what there is to remark."""
    header = has_header(first) if header is None else header
    if not header:
        remark = "There is no header line; the columns are called column_1, column_2, and so on."
        return [f"column_{i + 1}" for i in range(len(first[0]))], False, [remark]
    cells, widths, remarks = first[0], {len(row) for row in first[1:]}, []
    if widths == {len(cells) + 1}:
        if all(not row[-1].strip() for row in first[1:]):  # every row ends with a delimiter
            cells = [*cells, ""]
        else:  # as R writes row names
            cells = ["row_name", *cells]
            remarks = ["The header names one column less than there are; the first is called row_name."]
    elif widths == {len(cells) - 1} and not cells[-1].strip():
        cells = cells[:-1]
    names, renamed = unique_names([cell.strip() or f"column_{i + 1}" for i, cell in enumerate(cells)])
    return names, True, remarks + renamed


def unique_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The names, repeated ones numbered, and a remark if there were any.

    >>> unique_names(["a", "b", "a"])
    (['a', 'b', 'a_2'], ["Column names repeat; 'a' is called 'a_2' where it comes again."])
    """
    given, taken, unique, renamed = set(names), set(), [], []
    for name in names:
        new, count = name, 1
        while new in taken or (new != name and new in given):
            count += 1
            new = f"{name}_{count}"
        if new != name:
            renamed.append(f"{name!r} is called {new!r}")
        taken.add(new)
        unique.append(new)
    more = f" and {len(renamed) - 3} more" if len(renamed) > 3 else ""
    remark = f"Column names repeat; {', '.join(renamed[:3])}{more} where it comes again."
    return unique, [remark] if renamed else []


def _has_padding(text: str, dialect: Dialect) -> bool:
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


def _arrow_can(dialect: Dialect, header_cells: list[str]) -> bool:
    """PyArrow knows neither spaces before a quote nor, when it skips the header, line breaks inside it."""
    return not dialect.skip_space and not any("\n" in cell or "\r" in cell for cell in header_cells)


def _parse_with_arrow(
    encoded: bytes, dialect: Dialect, names: list[str], header: bool, numbers: list[str]
) -> list[Any] | None:
    """Columns of strings, but of float64 where ``numbers`` names them and they are; None if PyArrow gives up."""
    import pyarrow as pa

    text, number = pa.string(), pa.float64()
    try:
        table = _arrow_table(
            encoded, dialect, names, header, {**dict.fromkeys(names, text), **dict.fromkeys(numbers, number)}
        )
        # Integers are perhaps identifiers such as 007, which only their spelling tells.
        integers = [name for name in numbers if is_integer_column(table.column(name))]
        spelled = _arrow_table(encoded, dialect, names, header, dict.fromkeys(integers, text)) if integers else None
    except pa.ArrowInvalid:
        # Some number is none after all; or rows are ragged, and the slow reader says at which line, or very long.
        return _parse_with_arrow(encoded, dialect, names, header, []) if numbers else None
    columns = dict(zip(names, table.columns))
    return list((columns if spelled is None else columns | dict(zip(integers, spelled.columns))).values())


def _arrow_table(encoded: bytes, dialect: Dialect, names: list[str], header: bool, types: dict[str, Any]) -> Any:
    """The columns that ``types`` names, read as that."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    quote = dialect.quote or False
    return arrow_csv.read_csv(
        pa.BufferReader(encoded.lstrip(b"\r\n")),
        arrow_csv.ReadOptions(column_names=names, skip_rows=int(header)),
        arrow_csv.ParseOptions(
            delimiter=dialect.delimiter, quote_char=quote, newlines_in_values=bool(quote), ignore_empty_lines=True
        ),
        arrow_csv.ConvertOptions(
            column_types=types, include_columns=list(types), null_values=MISSING, strings_can_be_null=True
        ),
    )


def _ragged_sentence(first_line: int, last_line: int, n_fields: int, expected: int) -> str:
    if first_line == last_line:
        return f"line {last_line} has {n_fields} fields instead of {expected}"
    return (
        f"the row from line {first_line} to line {last_line} has {n_fields} fields instead of {expected};"
        " a quote in it may not be closed"
    )


def _parse_with_csv(text: str, dialect: Dialect, names: list[str], header: bool) -> list[Any]:
    import pyarrow as pa

    rows = rows_of(text, dialect)
    lines: list[list[str]] = []
    at_header = header  # whose width is settled already
    try:
        begins = 1
        for row in rows:
            if row and not at_header and len(row) != len(names):
                raise ValueError(_ragged_sentence(begins, rows.line_num, len(row), len(names)))
            begins = rows.line_num + 1
            if row and not at_header:
                lines.append(row)
            at_header = at_header and not row
    except csv.Error as problem:
        raise ValueError(f"line {rows.line_num} cannot be cut into fields ({problem})") from None
    missing = frozenset(MISSING)
    columns = zip(*lines)
    return [pa.array([None if cell in missing else cell for cell in column], pa.string()) for column in columns]
