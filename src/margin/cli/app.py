"""The ``margin`` command and its subcommands."""

from __future__ import annotations

from typing import Annotated

import typer

from margin import __version__
from margin.cli import (
    comparing,
    describing,
    evidence,
    exporting,
    forecasting,
    lab,
    models,
    sampling,
    serving,
    training,
)

__all__ = ["app", "main"]

app = typer.Typer(
    name="margin",
    help="Machine-learning methods under one roof: train, compare, and check what the notes say by running it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (comparing, describing, training, forecasting, sampling, exporting, models, evidence, lab, serving):
    group.register(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"margin {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 (its callback acts)
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    max_unpacked: Annotated[
        float | None,
        typer.Option(
            metavar="GB",
            min=0.0,
            help="How large a packed file (.gz .bz2 .xz .zip .xlsx .parquet .arrow, a picture) may become in memory; "
            "by default 250 times its size, in any case 0.256, at most 4.",
        ),
    ] = None,
) -> None:
    """Machine-learning methods under one roof: train, compare, and check what the notes say by running it."""
    if max_unpacked is not None:
        from margin.data.unpacking import allow_unpacking

        context.with_resource(allow_unpacking(int(max_unpacked * 10**9)))


def main() -> None:
    app()
