"""``margin compare``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from margin.cli.output import FAILED, INTERRUPTED, log, print_json, reported, result

if TYPE_CHECKING:
    from margin.service.comparison import Comparison

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command("compare")(compare)


def compare(
    data: Annotated[str, typer.Argument(help="A file (CSV, Parquet, Arrow) or a named set.")],
    target: Annotated[str | None, typer.Option("--target", "-t", help="The column to predict.")] = None,
    task: Annotated[str | None, typer.Option(help="classification or regression; default: found out.")] = None,
    metric: Annotated[str | None, typer.Option(help="What decides; default accuracy or rmse.")] = None,
    models: Annotated[list[str] | None, typer.Option("--model", "-m", help="Only this model; may be repeated.")] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of folds and models.")] = 0,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Processes; default: the cores.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; default runs/compare-DATA.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare every suitable model on a table: cross-validated scores with intervals, times, failures as rows."""
    from margin.service.comparison import run_comparison

    folder = out or Path("runs") / f"compare-{Path(data.partition(':')[0]).stem}"
    with reported(), _live_board() as watch:
        comparison = run_comparison(
            data,
            out=folder,
            target=target,
            task=task,
            metric_name=metric,
            models=models or (),
            n_folds=folds,
            seed=seed,
            n_jobs=jobs,
            watch=watch,
        )
    standings = comparison.standings()
    if as_json:
        print_json([asdict(standing) for standing in standings])
    else:
        result().print(_board(comparison))
        if comparison.run.status == "finished":
            winner = comparison.run.manifest["winner"]["model"]
            result().print(f"{winner} fitted on all rows: {folder}", highlight=False, soft_wrap=True)
    if comparison.run.status == "interrupted":
        log().print("Stopped; the same command continues.", highlight=False)
        raise typer.Exit(INTERRUPTED)
    if comparison.run.status == "failed":
        log().print("No model could be fitted.", highlight=False)
        raise typer.Exit(FAILED)


@contextmanager
def _live_board() -> Iterator[Callable[[Comparison], None]]:
    """The board as it grows, on stderr, where that is a terminal."""
    console = log()
    if not console.is_terminal:
        yield lambda _: None
        return
    with Live(console=console, transient=True, refresh_per_second=4) as live:
        yield lambda comparison: live.update(_board(comparison))


def _board(comparison: Comparison) -> Group:
    """The table, which fits 80 columns, and below it why some models have no score."""
    metric, standings = comparison.metric, comparison.standings()
    arrow = "↑" if metric.greater_is_better else "↓"
    done = f"{comparison.source.name}: {comparison.source.task}, {len(comparison.trials)} of {comparison.total} trials"
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("model", no_wrap=True)
    for column in (f"{metric.name} {arrow}", "95 % interval", "fit s", "predict s"):
        table.add_column(column, justify="right", no_wrap=True)
    for s in standings:
        interval = "" if s.low != s.low else f"{_score(s.low)}…{_score(s.high)}"
        numbers = _score(s.mean), interval, f"{s.fit_seconds:.3f}", f"{s.predict_seconds:.3f}"
        without = "[dim]left out[/dim]" if s.model in comparison.left_out else "[red]failed[/red]"
        table.add_row(s.model, *((without,) if s.error else numbers))
    reasons = [Text.assemble((s.model, "bold"), f": {s.error}") for s in standings if s.error]
    return Group(Text(done, style="italic"), table, *reasons)


def _score(value: float) -> str:
    """Four decimals, fewer for large numbers: nobody reads the sixth digit of an error in dollars."""
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}" if abs(value) < 10_000 else f"{value:,.0f}"
