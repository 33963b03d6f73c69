"""``margin lab``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from margin.cli.output import log, report_problems

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command("lab")(lab)


def lab(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where it answers; 0 takes a free port.")] = 8765,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    folder: Annotated[Path, typer.Option(help="Where runs are read and written.")] = Path("runs"),
) -> None:
    """Open the lab: every method and statement of the notes in a browser of this machine (extra ``lab``)."""
    with report_problems():
        from margin.lab.serving import serve

        serve(
            port=port,
            folder=folder,
            open_browser=browser,
            say=lambda line: log().print(line, highlight=False, soft_wrap=True, markup=False),
        )
