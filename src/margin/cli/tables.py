"""Columns as CSV on stdout or in a file, or as JSON; arguments of the commands that write them."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from margin.cli.output import log, write_json

__all__ = ["Json", "Out", "Trained", "write_columns"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Trained = Annotated[str, typer.Argument(metavar="RUN", help="A run folder or a model file.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="File to write; default: stdout.")]


def write_columns(columns: dict[str, Any], out: Path | None, as_json: bool) -> None:
    write = write_json if as_json else _write_csv
    if out is None:
        write(columns, sys.stdout)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    with open(out, "w", newline="", encoding="utf-8") as file:
        write(columns, file)
    log().print(f"wrote {out}", highlight=False)


def _write_csv(columns: dict[str, Any], file: Any) -> None:
    rows = zip(*(column.tolist() for column in columns.values()))
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
