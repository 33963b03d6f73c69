"""``margin export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from margin.cli.output import reported, result

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command("export")(export)


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder or a model file.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File; default model.onnx beside the model.")] = None,
) -> None:
    """Write a trained model as ONNX, for programs without Python: one input per column, or X for an array."""
    from margin.service.prediction import open_model
    from margin.store.onnx import export_onnx

    with reported():
        model, _ = open_model(run)
        beside = Path(run) if Path(run).is_dir() else Path(run).parent
        path = export_onnx(model, out or beside / "model.onnx")
    result().print(str(path), highlight=False, soft_wrap=True)
