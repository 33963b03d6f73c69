"""Columns as CSV on stdout or in a file, or as JSON; arguments of the commands that write them."""

from __future__ import annotations

import csv
import re
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from margin.cli.output import log, write_json
from margin.service.requests import BadRequest

__all__ = ["Json", "Out", "Spreadsheet", "Trained", "write_columns"]

FORMULA = ("=", "+", "-", "@")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Trained = Annotated[str, typer.Argument(metavar="RUN", help="A run folder or a model file.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="File to write; default: stdout.")]
Spreadsheet = Annotated[
    bool,
    typer.Option(
        "--for-spreadsheet",
        help="CSV: an apostrophe before names and labels that a spreadsheet would run as a formula (they begin with "
        "= + - @).",
    ),
]


def write_columns(columns: dict[str, Any], out: Path | None, as_json: bool, for_spreadsheet: bool = False) -> None:
    if as_json and for_spreadsheet:
        raise BadRequest("--for-spreadsheet acts on CSV: leave out --json.")
    write = write_json if as_json else partial(_write_csv, guard=for_spreadsheet)
    if out is None:
        write(columns, sys.stdout)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    with open(out, "w", newline="", encoding="utf-8") as file:
        write(columns, file)
    log().print(f"wrote {out}", highlight=False)


def _write_csv(columns: dict[str, Any], file: Any, guard: bool) -> None:
    """Text is written as it is, for programs, unless ``guard`` says that a spreadsheet will open it."""
    values = [column.tolist() for column in columns.values()]
    if guard:
        values = [[guarded(value) for value in column] for column in values]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([guarded(name) if guard else name for name in columns])
    writer.writerows(zip(*values))


def guarded(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula, behind an apostrophe; numbers, written as text too, stay.

    >>> [guarded(value) for value in ("=1+1", "@SUM(A1)", "-1.5", "- none", -2.0, "a=b")]
    ["'=1+1", "'@SUM(A1)", '-1.5', "'- none", -2.0, 'a=b']
    """
    if not isinstance(value, str) or not value.lstrip().startswith(FORMULA) or NUMBER.fullmatch(value.strip()):
        return value
    return f"'{value}"
