"""Whether the first row of a delimited text names the columns."""

from __future__ import annotations

import re

from margin.data.date_formats import date_order
from margin.data.dialect import MISSING, is_number
from margin.data.number_formats import number_format

__all__ = ["has_header"]

_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?(Z|[+-]\d{2}:?\d{2})?|\d{1,2}([./-])\d{1,2}\5(\d{4}|\d{2})"
)
_YEAR = re.compile(r"(1[89]|20)\d\d")
_FLAG = re.compile(r"true|false", re.IGNORECASE)


def has_header(rows: list[list[str]]) -> bool:
    """Whether the first of the sampled ``rows`` names the columns.

    It does when no cell of it is a number, date, flag or missing marker (empty cells are allowed), and below it either
    some column is made of numbers, dates or flags, or no column repeats its first cell. Where the row has such cells (a
    column called ``2019``), it does if they are years above what are none, or if more columns have a label above
    numbers, or above labels that repeat without it, than have a number above numbers.

    >>> has_header([["age", "sex"], ["25", "f"]]), has_header([["ham", "Hi"], ["spam", "Win"], ["ham", "Ok"]])
    (True, False)
    """
    first, below = [cell.strip() for cell in rows[0]], rows[1:]
    if not any(first):
        return False
    columns = [[row[i].strip() for row in below if i < len(row)] for i in range(len(first))]
    typed = [_all_typed([cell for cell in column if cell not in MISSING]) for column in columns]
    typed_first = [bool(cell) and (cell in MISSING or _is_typed(cell)) for cell in first]
    headed = [
        bool(cell) and not is_typed and (below_typed or _repeats_without(cell, column))
        for cell, is_typed, below_typed, column in zip(first, typed_first, typed, columns)
    ]
    if any(typed_first):
        if _names_years(first, typed_first, columns):
            return True
        return sum(headed) > sum(a and b for a, b in zip(typed_first, typed))
    if any(typed) or any(headed):
        return True
    return all(name not in column for name, column in zip(first, columns) if name) and len(set(first)) == len(first)


def _repeats_without(first: str, column: list[str]) -> bool:
    """Whether the cells of a column repeat, and its first is not among them."""
    present = [cell for cell in column if cell not in MISSING]
    return first not in present and len(present) >= 4 and 2 * len(set(present)) <= len(present)


def _names_years(first: list[str], typed_first: list[bool], columns: list[list[str]]) -> bool:
    """Whether the numbers of the first row are different years, the others are labels, and no column holds years."""
    years = [cell for cell, is_typed in zip(first, typed_first) if is_typed]
    below = [column for column, is_typed in zip(columns, typed_first) if is_typed]
    labels = [(cell, column) for cell, column, is_typed in zip(first, columns, typed_first) if cell and not is_typed]
    return (
        all(map(_YEAR.fullmatch, years))
        and len(set(years)) == len(years)
        and bool(labels)
        and all(cell not in column for cell, column in labels)
        and not any(column and all(map(_YEAR.fullmatch, column)) for column in below)
    )


def _is_typed(cell: str) -> bool:
    if is_number(cell) or _DATE.fullmatch(cell) is not None or _FLAG.fullmatch(cell) is not None:
        return True
    detected = number_format([cell])  # "$5" and "12 %", but not "1st", which may name a column
    return (detected is not None and not detected.unit.isalpha()) or date_order([cell]) is not None


def _all_typed(cells: list[str]) -> bool:
    return bool(cells) and all(map(_is_typed, cells))
