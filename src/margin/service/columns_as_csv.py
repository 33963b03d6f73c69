"""Columns of results as CSV, for programs or for a spreadsheet."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["guard_cell", "write_csv"]

FORMULA = ("=", "+", "-", "@")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def write_csv(columns: Mapping[str, Any], file: Any, guard: bool, header: bool = True) -> None:
    """Text is written as it is, for programs, unless ``guard`` says that a spreadsheet will open it."""
    values = [column.tolist() for column in columns.values()]
    if guard:
        values = [[guard_cell(value) for value in column] for column in values]
    writer = csv.writer(file, lineterminator="\n")
    if header:
        writer.writerow([guard_cell(name) if guard else name for name in columns])
    writer.writerows(zip(*values))


def guard_cell(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula, behind an apostrophe; numbers, written as text too, stay.

    >>> [guard_cell(value) for value in ("=1+1", "@SUM(A1)", "-1.5", "- none", -2.0, "a=b")]
    ["'=1+1", "'@SUM(A1)", '-1.5', "'- none", -2.0, 'a=b']
    """
    if not isinstance(value, str) or not value.lstrip().startswith(FORMULA) or NUMBER.fullmatch(value.strip()):
        return value
    return f"'{value}"
