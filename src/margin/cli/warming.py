"""``margin warm``."""

from __future__ import annotations

from typing import Annotated

import typer

from margin.cli.models import model_names
from margin.cli.output import log, reported

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command("warm")(warm)


def warm(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL]...", help="Only these models.", autocompletion=model_names),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes at a time; by default one per processor.")] = None,
) -> None:
    """Compile the kernels of the models now, once per machine, so that no first fit waits for it."""
    from margin.service import warming

    with reported():
        for name, seconds in warming.warm(names or None, jobs):
            log().print(f"{name}: {seconds:.1f} s")
