"""What several commands say and ask alike."""

from __future__ import annotations

from typing import Annotated

import typer

from margin.cli.completion import data_names

__all__ = ["DATA", "Data", "existing_folder"]

#: Kinds of inputs that are read as tables.
DATA = (
    "A table: delimited text (CSV, TSV, ...) or JSON (lines), also as .gz, .bz2, .xz or .zip; .xlsx, also"
    " book.xlsx:sheet=NAME; Parquet, a file or a folder; Arrow; for fit, predict and compare also a folder or a pattern"
    " such as 'rows/*.csv' of many files, read block by block; a folder of images, one subfolder per class; - for"
    " stdin; or a named set, e.g. iris or moons:n_samples=500."
)

Data = Annotated[str, typer.Argument(help=DATA, autocompletion=data_names)]


def existing_folder(command: str, new: bool, force: bool) -> str:
    """What happens where the folder holds another run: "new", "force" or "refuse"."""
    if new and force:
        from margin.service.requests import BadRequest

        raise BadRequest(f"{command}: --new keeps what is in the folder and --force starts it over; give one of them.")
    return "new" if new else "force" if force else "refuse"
