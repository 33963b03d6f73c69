"""Columns as CSV on stdout or in a file, or as JSON; arguments of the commands that write them."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from margin.cli.output import log, print_json

__all__ = ["Json", "Out", "Trained", "write_columns"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Trained = Annotated[str, typer.Argument(metavar="RUN", help="A run folder or a model file.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="File to write; default: stdout.")]


def write_columns(columns: dict[str, Any], out: Path | None, as_json: bool) -> None:
    if as_json:
        print_json(columns)
        return
    rows = zip(*(column.tolist() for column in columns.values()))
    if out is None:
        _write_csv(sys.stdout, columns, rows)
        return
    with open(out, "w", newline="", encoding="utf-8") as file:
        _write_csv(file, columns, rows)
    log().print(f"wrote {out}", highlight=False)


def _write_csv(file: Any, columns: dict[str, Any], rows: Any) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
