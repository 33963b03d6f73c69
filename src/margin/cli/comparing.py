"""``margin compare`` and ``margin report``."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from margin.cli.arguments import DATA
from margin.cli.completion import data_names, metric_names, model_names
from margin.cli.output import FAILED, INTERRUPTED, USAGE, log, print_json, reported, result

if TYPE_CHECKING:
    from margin.service.comparison import Comparison

__all__ = ["register"]

Many = list[str] | None


def register(app: typer.Typer) -> None:
    app.command("compare")(compare)
    app.command("report")(report)


def compare(
    data: Annotated[
        str,
        typer.Argument(help=DATA, autocompletion=data_names),
    ],
    target: Annotated[str | None, typer.Option("--target", "-t", help="The column to predict.")] = None,
    task: Annotated[
        str | None, typer.Option(help="classification or regression; default: inferred from the target.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Metric that ranks the models, e.g. roc_auc, log_loss, f1_macro, fbeta:beta=2, mae.",
            autocompletion=metric_names,
        ),
    ] = None,
    models: Annotated[
        Many, typer.Option("--model", "-m", help="Only this model; may be repeated.", autocompletion=model_names)
    ] = None,
    exclude: Annotated[
        Many, typer.Option("--exclude", "-x", help="Not this model; may be repeated.", autocompletion=model_names)
    ] = None,
    settings: Annotated[
        Many, typer.Option("--set", "-s", metavar="MODEL.NAME=VALUE", help="Set a parameter; may be repeated.")
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    held_out: Annotated[
        float | None,
        typer.Option(help="Fraction of the rows held out to judge the winner; default 0.2 from 500 rows on."),
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Column of groups: rows with the same value stay in one fold.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="Column of times: folds train on earlier rows and test on later ones.")
    ] = None,
    ignore: Annotated[Many, typer.Option(help="Leave out this column; may be repeated.")] = None,
    kinds: Annotated[
        Many, typer.Option(metavar="COLUMN=KIND", help="Read a column as number, flag, category, text or date.")
    ] = None,
    missing_target: Annotated[
        str, typer.Option(help="Rows without a target: drop them, make them a class, or error.")
    ] = "drop",
    budget: Annotated[str, typer.Option(help="Time limit, e.g. 90s or 5m; auto: 3m for large tables; none.")] = "auto",
    tune: Annotated[int, typer.Option(min=0, help="Settings to try for each of the three leaders.")] = 0,
    ensembles: Annotated[bool, typer.Option(help="Blend and stack the leaders.")] = True,
    curve: Annotated[
        bool | None,
        typer.Option("--curve/--no-curve", help="The winner's learning curve; default: if it costs little."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds and models.")] = 0,
    generative: Annotated[
        bool, typer.Option("--generative", help="Compare models that draw new rows, by density and samples.")
    ] = False,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Processes; default: the cores.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; default runs/compare-DATA.")] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Where the folder holds another comparison, use a new one beside it.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Where the folder holds another comparison, start it over.")
    ] = False,
    with_report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write report.html into the folder.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not show the board while it runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare every suitable model on a table: scores with intervals, costs, failures as rows; judge and save the best.

    Ctrl-C prints the board so far and saves the best; the same command continues.
    """
    started = monotonic()  # importing what follows is a part of what a budget pays for
    from margin.cli.live_board import watching
    from margin.service.comparison import ComparisonRequest, run_comparison
    from margin.service.requests import BadRequest

    kind = "generative" if generative else "compare"
    folder = out or Path("runs") / f"{kind}-{Path(data.partition(':')[0]).stem}"
    request = ComparisonRequest(
        target, task, metric, tuple(models or ()), tuple(exclude or ()), tuple(settings or ()), folds, held_out, group,
        time, tuple(ignore or ()), _pairs(kinds or []), missing_target, _seconds_or_text(budget), tune, ensembles,
        curve, seed, generative,
    )  # fmt: skip
    if generative:
        from margin.cli.generating import compare_generators

        return compare_generators(data, request, jobs, folder, quiet, as_json, started)
    with reported(), watching(quiet) as watch:
        if new and force:
            raise BadRequest("compare: --new keeps what is in the folder and --force starts it over; give one of them.")
        existing = "new" if new else "force" if force else "refuse"
        comparison = run_comparison(
            data, None, request, out=folder, n_jobs=jobs, watch=watch, started=started, existing=existing
        )
    if as_json:
        print_json(as_plain(comparison))
    else:
        _print(comparison)
    _end(comparison, as_json, with_report)


def report(
    run: Annotated[Path, typer.Argument(help="The folder of a comparison.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File; default report.html in the folder.")] = None,
) -> None:
    """Write the report of a comparison again, in full: one HTML file that needs nothing else. Nothing is fitted."""
    from margin.service.comparison import open_comparison

    with reported():
        comparison = open_comparison(run)
        path = comparison.report(out)
    result().print(str(path), highlight=False, soft_wrap=True)


def as_plain(comparison: Comparison) -> list[dict[str, Any]]:
    """The board as plain objects: one per model, best first."""
    from dataclasses import asdict

    return [asdict(standing) for standing in comparison.standings]


def _print(comparison: Comparison) -> None:
    from margin.cli.live_board import board_table, notes

    console = result()
    # A pipe has no width: nothing may be cut off there.
    width = console.width if console.is_terminal else 200
    console.print(board_table(comparison, width), width=width)
    for note in notes(comparison):
        console.print(note, highlight=False, soft_wrap=not console.is_terminal)


def _end(comparison: Comparison, as_json: bool, with_report: bool) -> None:
    """The last lines: what was written where, and how to go on."""
    run = comparison.run
    saved = run.model_path.exists()
    if run.status == "finished" and saved:
        console = log() if as_json else result()
        console.print(f"{comparison.winner} fitted on all rows: {run.folder}", highlight=False, soft_wrap=True)
        if with_report:
            _write_report(comparison, console)
    if run.status == "interrupted":
        best = (
            f"; the best so far, {comparison.winner}, is saved in {run.folder}" if saved else "; no model is saved yet"
        )
        console = log()
        console.print(f"Stopped{best}.", highlight=False, soft_wrap=not console.is_terminal)
        console.print("To continue:", highlight=False)
        console.print(f"  {comparison.command}", highlight=False, soft_wrap=True)  # to be copied, so never broken
        raise typer.Exit(INTERRUPTED)
    if run.status == "failed":
        log().print(_why_none(comparison), highlight=False, soft_wrap=True)
        raise typer.Exit(FAILED)


def _why_none(comparison: Comparison) -> str:
    from margin.selection.schedule import seconds_text

    if comparison.budget is not None and all(s.status in ("cut", "left out") for s in comparison.standings):
        return f"No model was fitted within {seconds_text(comparison.budget)}; --budget gives more time."
    return "No model could be fitted."


def _write_report(comparison: Comparison, console: Any) -> None:
    """Write the report and print its path; a failure is printed and leaves the finished board as it is."""
    try:
        path = comparison.report(seconds=comparison.seconds_left)
    except Exception as problem:
        log().print(f"margin: the report was not written: {problem}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(FAILED) from None
    console.print(f"report: {path}", highlight=False, soft_wrap=True)


def _pairs(texts: list[str]) -> dict[str, str]:
    pairs = {}
    for text in texts:
        column, sign, kind = text.rpartition("=")
        if not sign or not column:
            log().print(f"margin: --kinds is written column=kind; got {text!r}.", style="red", highlight=False)
            raise typer.Exit(USAGE)
        pairs[column] = kind
    return pairs


def _seconds_or_text(budget: str) -> str | float:
    return float(budget) if budget.replace(".", "", 1).isdigit() else budget
