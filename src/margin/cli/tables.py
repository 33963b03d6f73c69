"""Columns as CSV on stdout or in a file, or as JSON; arguments of the commands that write them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated, Any

import typer

from margin.cli.output import log, write_json
from margin.core.full_disk import naming
from margin.service.columns_as_csv import write_csv
from margin.service.requests import BadRequest

__all__ = ["Json", "Out", "Spreadsheet", "Trained", "write_blocks", "write_columns"]

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
    write = write_json if as_json else partial(write_csv, guard=for_spreadsheet)
    if out is None:
        write(columns, sys.stdout)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    with naming(out), open(out, "w", newline="", encoding="utf-8") as file:
        write(columns, file)
    log().print(f"wrote {out}", highlight=False)


def write_blocks(blocks: Iterator[dict[str, Any]], out: Path | None, as_json: bool, for_spreadsheet: bool) -> None:
    """Columns that come block by block as CSV; a file is there whole or, if a block fails, as it was before."""
    if as_json:
        raise BadRequest("--json writes all rows at once, and many files are predicted block by block: leave it out.")
    if out is None:
        _write_all(blocks, sys.stdout, for_spreadsheet)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    with (
        naming(out),
        NamedTemporaryFile(
            "w", dir=out.parent, prefix=f".{out.name}-", newline="", encoding="utf-8", delete=False
        ) as file,
    ):
        try:
            _write_all(blocks, file, for_spreadsheet)
        except BaseException:
            Path(file.name).unlink()
            raise
    umask = os.umask(0)  # temporary files are for their owner alone; this one is not
    os.umask(umask)
    os.chmod(file.name, 0o666 & ~umask)
    os.replace(file.name, out)
    log().print(f"wrote {out}", highlight=False)


def _write_all(blocks: Iterator[dict[str, Any]], file: Any, guard: bool) -> None:
    for number, columns in enumerate(blocks):
        write_csv(columns, file, guard, header=number == 0)
