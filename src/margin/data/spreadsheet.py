"""A sheet of an .xlsx workbook, read with the standard library: a workbook is a zip archive of XML files."""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from xml.etree import ElementTree

from margin.data.delimited import unique_names
from margin.data.table import Table
from margin.data.unpacking import BROKEN, Allowance
from margin.data.values import column_of_values

__all__ = ["read_spreadsheet"]

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
#: Numbers of the built-in formats that show a date or a time.
_DATE_FORMATS = {*range(14, 23), *range(45, 48)}
#: In a format of the file's own, these letters outside quotes and brackets are parts of a date.
_DATE_LETTERS = re.compile(r"[dmyhs]", re.IGNORECASE)
_NO_LETTERS = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')
_ERRORS = ("#N/A", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!")
#: What a damaged archive, or XML that is not a workbook's, makes of reading it.
_UNREADABLE = (
    *BROKEN,
    zipfile.BadZipFile,
    ElementTree.ParseError,
    LookupError,  # a part that is missing, and an encoding that is not known
    ValueError,
    OverflowError,
    RuntimeError,  # locked with a password; packed in a way that is not known
    struct.error,
)
_MOST_COLUMNS = 16_384  # of a sheet, as its own program has it
_CELL = 8  # bytes of an empty one


class _Parts:
    """The parts of a workbook by name, read within a allowance."""

    def __init__(self, archive: zipfile.ZipFile, allowance: Allowance):
        self.names, self.allowance, self._archive = set(archive.namelist()), allowance, archive

    def read(self, name: str) -> bytes:
        with self._archive.open(name) as file:
            return self.allowance.read(file)

    def open(self, name: str) -> Any:
        return self.allowance.watch(self._archive.open(name))


def read_spreadsheet(
    data: bytes, header: bool | None = None, allowance: Allowance | None = None, sheet: str | int | None = None
) -> Table:
    """The table in a sheet, named or counted from 1 on, by default the first: empty rows and columns around it, and
    title lines above it, are skipped.

    ``allowance`` is what its parts may become together.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            chosen, rows, sheets = _read_sheet(_Parts(archive, allowance or Allowance(len(data))), sheet)
    except _NoSheet as problem:
        raise ValueError(str(problem)) from None
    except _UNREADABLE as problem:
        text = " ".join(str(problem).split()).rstrip(".")
        raise ValueError(f"is not a readable .xlsx workbook ({text})") from None
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if not rows:
        raise ValueError(f"the sheet {chosen!r} is empty")
    remarks = []
    if len(sheets) > 1 and sheet is None:
        first = f"the first, {chosen!r}, was read (FILE:sheet=NAME names one)"
        remarks = [f"The workbook has {len(sheets)} sheets; {first}."]
    width = max(map(len, rows))
    titles = _title_lines(rows, width)
    if titles:
        skipped = "1 title line above the table was" if titles == 1 else f"{titles} title lines above the table were"
        remarks.append(f"{skipped} skipped.")
    names, below, more = _name_columns(rows[titles:], width, header)
    if not below:
        raise ValueError("there is a header line but no rows")
    read = {}
    for i, name in enumerate(names):
        cells = [row[i] if i < len(row) else None for row in below]
        if name is None and all(cell is None for cell in cells):
            continue
        label = name or f"column_{i + 1}"
        read[label] = column_of_values(label, cells)
    return Table.from_stored(
        {name: (kind, values) for name, (kind, values, _) in read.items()},
        len(below),
        remarks + more,
        {name: note for name, (_, _, note) in read.items()},
    )


def _title_lines(rows: list[list[Any]], width: int) -> int:
    """How many first rows hold one cell only, where the table below is wider."""
    wide = (number for number, row in enumerate(rows[:20]) if sum(cell is not None for cell in row) > 1)
    return next(wide, 0) if width > 1 else 0


def _name_columns(
    rows: list[list[Any]], width: int, header: bool | None
) -> tuple[list[str | None], list[list[Any]], list[str]]:
    first = [*rows[0], *[None] * (width - len(rows[0]))]
    if header is None:
        header = all(cell is None or isinstance(cell, str) for cell in first) and len(rows) > 1
    if not header:
        remark = "There is no header line; the columns are called column_1, column_2, and so on."
        return [f"column_{i + 1}" for i in range(width)], rows, [remark]
    given = ["" if cell is None else " ".join(str(cell).split()) for cell in first]
    unique, remarks = unique_names([name or f"column_{i + 1}" for i, name in enumerate(given)])
    return [name if known else None for name, known in zip(unique, given)], rows[1:], remarks


class _NoSheet(Exception):
    pass


def _read_sheet(archive: _Parts, sheet: str | int | None) -> tuple[str, list[list[Any]], list[str]]:
    """The name and the rows of a sheet, and the names of all."""
    workbook = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    sheets = workbook.findall(f"{_MAIN}sheets/{_MAIN}sheet")
    relations = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    targets = {relation.get("Id"): relation.get("Target", "") for relation in relations}
    names = [str(found.get("name")) for found in sheets]
    chosen = sheets[_place(names, sheet)]
    path = targets[chosen.get(_RELATION)].lstrip("/")
    properties = workbook.find(f"{_MAIN}workbookPr")
    since_1904 = properties is not None and properties.get("date1904") in ("1", "true")
    strings, dates = _shared_strings(archive), _date_styles(archive)
    file = archive.open(path if path.startswith("xl/") else f"xl/{path}")
    epoch = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 30)
    rows = []
    for row in _rows(file, strings, dates, epoch):
        archive.allowance.spend(_CELL * len(row))  # one cell far to the right makes a long row
        rows.append(row)
    return str(chosen.get("name")), rows, names


def _place(names: list[str], sheet: str | int | None) -> int:
    if sheet is None:
        return 0
    if str(sheet) in names:
        return names.index(str(sheet))
    if str(sheet).isdigit() and 1 <= int(sheet) <= len(names):
        return int(sheet) - 1
    raise _NoSheet(f"there is no sheet {str(sheet)!r}; there are {', '.join(map(repr, names[:10]))}")


def _shared_strings(archive: _Parts) -> list[str]:
    if "xl/sharedStrings.xml" not in archive.names:
        return []
    root = ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
    return ["".join(text.text or "" for text in item.iter(f"{_MAIN}t")) for item in root.findall(f"{_MAIN}si")]


def _date_styles(archive: _Parts) -> set[int]:
    """Numbers of the cell styles whose format shows a date."""
    if "xl/styles.xml" not in archive.names:
        return set()
    root = ElementTree.fromstring(archive.read("xl/styles.xml"))
    own = {
        int(fmt.get("numFmtId", 0)): _NO_LETTERS.sub("", fmt.get("formatCode", ""))
        for fmt in root.iter(f"{_MAIN}numFmt")
    }
    styles = root.findall(f"{_MAIN}cellXfs/{_MAIN}xf")
    numbers = [int(style.get("numFmtId", 0)) for style in styles]
    return {i for i, n in enumerate(numbers) if n in _DATE_FORMATS or _DATE_LETTERS.search(own.get(n, ""))}


def _rows(file: Any, strings: list[str], dates: set[int], epoch: datetime) -> Iterator[list[Any]]:
    for _, element in ElementTree.iterparse(file):
        if element.tag != f"{_MAIN}row":
            continue
        row: list[Any] = []
        for cell in element.findall(f"{_MAIN}c"):
            position = _column(cell.get("r", ""), len(row))
            row.extend([None] * (position - len(row)))
            row.append(_value(cell, strings, dates, epoch))
        yield row
        element.clear()


def _column(reference: str, following: int) -> int:
    """The position of a cell from a reference such as ``BC12``: letters are digits to the base 26."""
    letters = re.match(r"[A-Z]{1,3}", reference)
    if letters is None:
        return following
    position = 0
    for letter in letters.group():
        position = 26 * position + ord(letter) - 64
    if position > _MOST_COLUMNS:
        raise ValueError(f"the cell {reference} is beyond the last column that a sheet has")
    return max(position - 1, following)


def _value(cell: Any, strings: list[str], dates: set[int], epoch: datetime) -> Any:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        text = "".join(part.text or "" for part in cell.iter(f"{_MAIN}t"))
        return text.strip() or None
    text = cell.findtext(f"{_MAIN}v")
    if text is None or text == "" or text in _ERRORS:
        return None
    if kind == "s":
        return strings[int(text)].strip() or None
    if kind == "b":
        return text == "1"
    if kind == "d":
        return datetime.fromisoformat(text)
    if kind != "n":
        return text.strip() or None
    number = float(text)
    if int(cell.get("s", 0)) in dates:
        try:
            return epoch + timedelta(seconds=round(number * 86400, 3))
        except (OverflowError, ValueError):
            raise ValueError(f"the cell {cell.get('r', '')} shows a date, and {text[:30]} is none") from None
    return number
