"""``margin fit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from margin.cli.arguments import Data, existing_folder
from margin.cli.completion import model_names
from margin.cli.declared import with_options
from margin.cli.models import parameters_as_table
from margin.cli.output import INTERRUPTED, log, print_json, report_problems, result
from margin.cli.tables import Json
from margin.service.fit_request import FitRequest

__all__ = ["register"]

#: Further spellings of the declared options.
SHORT = {"target": "-t", "settings": "-s"}


def register(app: typer.Typer) -> None:
    flags: dict[str, Any] = {"short": SHORT, "metavars": {"settings": "NAME=VALUE"}, "completions": {}}
    app.command("fit", cls=HelpWithParameters)(with_options(fit, FitRequest, **flags))


class HelpWithParameters(TyperCommand):
    """``margin fit MODEL --help`` also says what can be set with --set."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["arguments"] = list(args)  # --help ends the command before its arguments are read
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from margin.service.models import parameters

        super().format_help(ctx, formatter)
        for name in ctx.meta.get("arguments", []):
            if name in model_names(""):
                result().print(f"Parameters of {name}, for --set NAME=VALUE:\n", highlight=False)
                result().print(parameters_as_table(parameters(name)))


def fit(
    model: Annotated[str, typer.Argument(help="A model of the catalog.", autocompletion=model_names)],
    data: Data,
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Run folder; default runs/MODEL-DATA.")] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Where the folder holds another run, train in one beside it.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Where the folder holds another run, start it over.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Train a model. Ctrl-C stops with a usable model; the same command continues. fit MODEL --help: its parameters."""
    from contextlib import nullcontext

    from margin.core.progress import ProgressBar
    from margin.core.watching import watch
    from margin.service import training
    from margin.service.streams import stem_of

    folder = out or Path("runs") / f"{model}-{stem_of(data)}"
    with report_problems(), nullcontext() if quiet or not training.speaks() else watch(ProgressBar(log())):
        existing = existing_folder("fit", new, force)
        facts = training.fit(model, data, FitRequest.of_texts(options), out=folder, existing=existing)
    if not training.speaks():
        return
    for remark in facts["remarks"]:
        log().print(remark, style="yellow", markup=False, highlight=False, soft_wrap=True)
    if as_json:
        print_json(facts)
    else:
        numbers = "  ".join(f"{name} {value:.6g}" for name, value in facts["last"].items())
        result().print(f"{facts['model']} {facts['status']} in {facts['seconds']:.1f} s  {numbers}", highlight=False)
        result().print(f"{facts['run']}", highlight=False, soft_wrap=True)
    if facts["status"] == "interrupted":
        log().print("Stopped; the same command continues.", highlight=False)
        raise typer.Exit(INTERRUPTED)
