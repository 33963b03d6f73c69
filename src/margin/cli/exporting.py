"""``margin export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from margin.cli.output import report_problems, result

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command("export")(export)


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder or a model file.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File or folder; default: beside the model.")] = None,
    format: Annotated[
        str,
        typer.Option(
            "--format", help="onnx; torch: a program of torch.export; transformers: a folder of that library."
        ),
    ] = "onnx",
) -> None:
    """Write a trained model as ONNX, for programs without Python: one input per column, or X for an array."""
    from margin.service.exporting import export_model

    with report_problems():
        path = export_model(run, out, format)
    result().print(str(path), highlight=False, soft_wrap=True)
