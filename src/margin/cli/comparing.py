"""``margin compare`` and ``margin report``."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from margin.cli.arguments import Data, existing_folder
from margin.cli.completion import metric_names, model_names
from margin.cli.declared import with_options
from margin.cli.output import FAILED, INTERRUPTED, log, print_json, report_problems, result
from margin.service.comparison_request import ComparisonRequest, HowToRun

if TYPE_CHECKING:
    from margin.service.comparison import Comparison

__all__ = ["register"]

#: What a shell and a reader need beyond the declared options: short flags, shapes of values, names to complete.
SHORT = {"target": "-t", "models": "-m", "exclude": "-x", "settings": "-s", "n_jobs": "-j"}
METAVARS = {"settings": "MODEL.NAME=VALUE", "kinds": "COLUMN=KIND"}
COMPLETIONS = {"metric": metric_names, "models": model_names, "exclude": model_names}


def register(app: typer.Typer) -> None:
    flags: dict[str, Any] = {"short": SHORT, "metavars": METAVARS, "completions": COMPLETIONS}
    app.command("compare")(with_options(compare, ComparisonRequest, HowToRun, **flags))
    app.command("report")(report)


def compare(
    data: Data,
    *,
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
    **options: Any,
) -> None:
    """Compare every suitable model on a table: scores with intervals, costs, failures as rows; judge and save the best.

    Ctrl-C prints the board so far and saves the best; the same command continues.
    """
    started = monotonic()  # importing what follows is a part of what a budget pays for
    from margin.cli.live_board import watching
    from margin.service.comparison import Oversight, board_snapshot, run_comparison
    from margin.service.streams import stem_of

    how = HowToRun(n_jobs=options.pop("n_jobs"), cluster=options.pop("cluster"))
    with report_problems():
        how.check()
        request = ComparisonRequest.of_texts(options)
    kind = "generative" if request.generative else "compare"
    folder = out or Path("runs") / f"{kind}-{stem_of(data)}"
    if request.horizon is not None:
        from margin.cli.forecasting import compare_forecasts

        return compare_forecasts(data, request, how.n_jobs, out, as_json)
    if request.generative:
        from margin.cli.generating import compare_generators

        return compare_generators(data, request, how.n_jobs, folder, quiet, as_json, started)
    with report_problems(), watching(quiet) as watch:
        existing = existing_folder("compare", new, force)
        oversight = Oversight(watch, started)
        comparison = run_comparison(data, None, request, out=folder, existing=existing, how=how, oversight=oversight)
    if as_json:
        print_json(board_snapshot(comparison))
    else:
        _print(comparison)
    _end(comparison, as_json, with_report)


def report(
    run: Annotated[Path, typer.Argument(help="The folder of a comparison.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File; default report.html in the folder.")] = None,
) -> None:
    """Write the report of a comparison again, in full: one HTML file that needs nothing else. Nothing is fitted."""
    from margin.service.comparison import open_comparison

    with report_problems():
        comparison = open_comparison(run)
        path = comparison.report(out)
    result().print(str(path), highlight=False, soft_wrap=True)


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
        console.print(
            f"{comparison.winner} fitted on {comparison.fitted_on}: {run.folder}", highlight=False, soft_wrap=True
        )
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
