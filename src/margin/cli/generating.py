"""``margin compare --generative``: the board of models that draw new rows."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from margin.cli.output import FAILED, INTERRUPTED, log, print_json, reported, result

if TYPE_CHECKING:
    from margin.service.comparison.generative import GenerativeComparison
    from margin.service.comparison.generative.standings import GeneratorStanding
    from margin.service.comparison.request import ComparisonRequest

__all__ = ["compare_generators"]

# Heading, name of the measure.
SHOWN = {
    "2-sample": "neighbor_accuracy",
    "MMD²": "mmd_squared",
    "Frechet": "frechet_distance",
    "precision": "precision",
    "recall": "recall",
    "coverage": "coverage",
    "closer": "fraction_closer",
}


def compare_generators(
    data: str, request: ComparisonRequest, jobs: int | None, folder: Path, quiet: bool, as_json: bool
) -> None:
    """Run the comparison, print the board, and say where the rest is."""
    from margin.service.comparison.generative import run_generative
    from margin.service.requests import BadRequest

    with reported():
        if jobs is not None:
            raise BadRequest("compare: jobs does not act on generative models, which are fitted one after the other.")
        comparison = run_generative(data, request, out=folder, watch=None if quiet else _line)
    if as_json:
        print_json(comparison.as_dict())
    else:
        _print(comparison)
    _end(comparison, as_json)


def _line(comparison: GenerativeComparison) -> None:
    """One line for the model that has just been measured."""
    last = comparison.measured[-1]
    standing = next(s for s in comparison.standings if s.model == last.model)
    said = f"failed: {last.error}" if last.error else f"{_density(standing)}, {last.fit_seconds:.2f} s to fit"
    log().print(f"{last.model}: {said}", highlight=False, soft_wrap=True, markup=False)


def _density(s: GeneratorStanding) -> str:
    from margin.service.comparison.showing import score_text

    if s.log_density_kind == "none":
        return "no density"
    sign = "≥" if s.log_density_kind == "bound" else "="
    return f"log-density {sign} {score_text(s.log_density) if math.isfinite(s.log_density) else '-inf'}"


def _print(comparison: GenerativeComparison) -> None:
    from margin.service.comparison.generative.result import verdict
    from margin.service.comparison.showing import score_text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("  model", no_wrap=True)
    for heading in ("log-density ↑", "kind", "95 % interval", *SHOWN, "fit s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for s in comparison.standings:
        if s.status not in ("ranked", "reference"):
            table.add_row(f"  {s.model}", s.status)
            continue
        interval = f"{score_text(s.low)}…{score_text(s.high)}" if math.isfinite(s.low) else ""
        density = (
            score_text(s.log_density)
            if math.isfinite(s.log_density)
            else ""
            if s.log_density_kind == "none"
            else "-inf"
        )
        kind = s.status if s.status == "reference" else s.log_density_kind
        numbers = [f"{s.measures[name]:.3f}" for name in SHOWN.values()]
        seconds = f"{s.fit_seconds:.2f}" if s.status == "ranked" else ""
        table.add_row(f"{'≈' if s.tied else ' '} {s.model}", density, kind, interval, *numbers, seconds)
    console = result()
    console.print(table, width=None if console.is_terminal else 200)
    reasons = [f"{s.model}: {s.status}: {s.error}" for s in comparison.standings if s.error]
    for note in [*verdict(comparison), *reasons, *comparison.remarks]:
        console.print(note, highlight=False, markup=False, soft_wrap=not console.is_terminal)


def _end(comparison: GenerativeComparison, as_json: bool) -> None:
    """Where everything is, and how to go on."""
    run = comparison.run
    if run.status == "finished":
        console = log() if as_json else result()
        console.print(
            f"{comparison.winner} fitted on all rows: {run.folder}, with board.json, board.png, and new rows of it in"
            f" sampled.csv; margin sample {shlex.quote(str(run.folder))} draws more",
            highlight=False,
            soft_wrap=True,
        )
    elif run.status == "interrupted":
        log().print(f"Stopped. To continue:\n  {comparison.command}", highlight=False, soft_wrap=True)
        raise typer.Exit(INTERRUPTED)
    else:
        log().print("No model could be fitted.", highlight=False)
        raise typer.Exit(FAILED)
