"""The ``margin`` command and its subcommands."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from margin import __version__

__all__ = ["MODULES", "app", "main"]

#: The commands in the order of the help, and the module of this package that registers each.
MODULES = {
    "compare": "comparing",
    "report": "comparing",
    "describe": "describing",
    "fit": "training",
    "predict": "predicting",
    "transform": "predicting",
    "score": "predicting",
    "forecast": "forecasting",
    "sample": "sampling",
    "export": "exporting",
    "list": "models",
    "show": "models",
    "verify": "evidence",
    "run": "evidence",
    "lab": "lab",
    "serve": "serving",
}


class CommandsOnDemand(TyperGroup):
    """A command's module is imported when it is called or listed: who predicts a row waits for no other command."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            # Names that resemble a misspelled one are looked for among all commands.
            for module in dict.fromkeys([MODULES[cmd_name]] if cmd_name in MODULES else MODULES.values()):
                part = typer.Typer()
                import_module(f"margin.cli.{module}").register(part)
                self.commands.update(get_group(part).commands)
        return super().get_command(ctx, cmd_name)


app = typer.Typer(
    name="margin",
    cls=CommandsOnDemand,
    help="Machine-learning methods under one roof: train, compare, and check what the notes say by running it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
