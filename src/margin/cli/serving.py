"""``margin serve``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from margin.cli.output import log, report_problems

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command("serve")(serve)


def serve(
    model: Annotated[Path, typer.Argument(help="Run folder or model file.")],
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where it answers.")] = 8766,
    address: Annotated[
        str, typer.Option(help="Address it listens at; others than this machine's need a token.")
    ] = "127.0.0.1",
    token: Annotated[
        str, typer.Option(envvar="MARGIN_SERVE_TOKEN", help="What requests must carry as bearer token.")
    ] = "",
    host: Annotated[
        list[str] | None, typer.Option(help="A further name (with port) by which requests may call it.")
    ] = None,
) -> None:
    """Answer for a trained model over HTTP: rows, texts and pictures in, predictions or text out (extra ``lab``)."""
    with report_problems():
        from margin.serving.running import serve_model

        serve_model(
            model,
            address=address,
            port=port,
            token=token,
            hosts=tuple(host or ()),
            say=lambda line: log().print(line, highlight=False, soft_wrap=True, markup=False),
        )
