"""The ``margin`` command and its subcommands."""

from __future__ import annotations

from typing import Annotated

import typer

from margin import __version__
from margin.cli import comparing, describing, evidence, exporting, forecasting, models, sampling, training, warming

__all__ = ["app", "main"]

app = typer.Typer(
    name="margin",
    help="Machine-learning methods under one roof: train, compare, and check what the notes say by running it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (comparing, describing, training, forecasting, sampling, exporting, models, evidence, warming):
    group.register(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"margin {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Machine-learning methods under one roof: train, compare, and check what the notes say by running it."""


def main() -> None:
    app()
