"""``margin predict``, ``transform`` and ``score``."""

from __future__ import annotations

from typing import Annotated

import typer

from margin.cli.arguments import Data
from margin.cli.light_start import import_scikit_learn
from margin.cli.output import log, print_json, print_table, report_problems
from margin.cli.tables import Json, Out, Spreadsheet, Trained, write_blocks, write_columns

__all__ = ["register"]

Target = Annotated[str | None, typer.Option("--target", "-t", help="The column to predict.")]


def register(app: typer.Typer) -> None:
    app.command("predict")(predict)
    app.command("transform")(transform)
    app.command("score")(score)


def predict(
    run: Trained,
    data: Data,
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities of the classes.")] = False,
    keep: Annotated[
        str | None, typer.Option(metavar="COLUMN,...", help="Columns of the data to write before the predictions.")
    ] = None,
    out: Out = None,
    as_json: Json = False,
    for_spreadsheet: Spreadsheet = False,
) -> None:
    """Predict every row of a file, a folder or pattern of files, or a named set; CSV on stdout.

    A detector takes a folder of pictures, and writes them with boxes, and detections.json as COCO has it, into the
    folder --out.
    """
    import_scikit_learn()
    from margin.service import detecting, prediction
    from margin.service.stream_predictions import predict_blocks
    from margin.service.streams import names_stream

    with report_problems():
        if detecting.detects(run):
            print_json(detecting.detect(run, data, *detecting.folder_for(out, proba, as_json or for_spreadsheet)))
            return
        kept = [name for name in (keep or "").split(",") if name]
        if names_stream(data):
            blocks = predict_blocks(run, data, proba=proba, keep=kept)
            write_blocks(blocks, out, as_json, for_spreadsheet)
            return
        write_columns(prediction.predict(run, data, proba=proba, keep=kept), out, as_json, for_spreadsheet)


def transform(
    run: Trained, data: Data, out: Out = None, as_json: Json = False, for_spreadsheet: Spreadsheet = False
) -> None:
    """Transform every row of a file or named set with a trained reducer; CSV on stdout."""
    import_scikit_learn()
    from margin.service import prediction

    with report_problems():
        write_columns(prediction.transform(run, data), out, as_json, for_spreadsheet)


def score(run: Trained, data: Data, target: Target = None, as_json: Json = False) -> None:
    """Score a trained model on data that has the target: a file, many files, or a named set."""
    import_scikit_learn()
    from margin.service import prediction
    from margin.service.stream_predictions import score_blocks
    from margin.service.streams import is_too_large

    with report_problems():
        score_them = score_blocks if is_too_large(data) else prediction.score
        metrics, remarks = score_them(run, data, target=target)
    for remark in remarks:
        log().print(remark, style="yellow", markup=False, highlight=False, soft_wrap=True)
    if as_json:
        print_json(metrics)
    else:
        print_table(["metric", "value"], [[name, f"{value:.6g}"] for name, value in metrics.items()])
