"""``margin compare --generative``: the board of models that draw new rows."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from margin.cli.board_columns import ShownModel, board_columns
from margin.cli.output import FAILED, INTERRUPTED, log, print_json, report_problems, result

if TYPE_CHECKING:
    from margin.service.comparison.generative import GenerativeComparison
    from margin.service.comparison.generative.standings import GeneratorStanding
    from margin.service.comparison_request import ComparisonRequest

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
    data: str,
    request: ComparisonRequest,
    jobs: int | None,
    folder: Path,
    quiet: bool,
    as_json: bool,
    started: float | None = None,
) -> None:
    """Run the comparison, print the board, and say where the rest is."""
    from margin.service.comparison.generative import run_generative
    from margin.service.requests import BadRequest

    with report_problems():
        if jobs is not None:
            raise BadRequest("compare: jobs does not act on generative models, which are fitted one after the other.")
        comparison = run_generative(data, request, out=folder, watch=None if quiet else _line, started=started)
    if as_json:
        print_json(comparison.as_dict())
    else:
        _print(comparison)
    _end(comparison, as_json)


def _line(comparison: GenerativeComparison) -> None:
    """One line for the model that has just been measured."""
    last = comparison.measured[-1]
    standing = next(s for s in comparison.standings if s.model == last.model)
    outcome = f"failed: {last.error}" if last.error else f"{_density(standing)}, {last.fit_seconds:.2f} s to fit"
    log().print(f"{last.model}: {outcome}", highlight=False, soft_wrap=True, markup=False)


def _density(s: GeneratorStanding) -> str:
    from margin.service.comparison.showing import score_text

    if s.log_density_kind == "none":
        return "no density"
    sign = "≥" if s.log_density_kind == "bound" else "="
    return f"log-density {sign} {score_text(s.log_density) if math.isfinite(s.log_density) else '-inf'}"


def _print(comparison: GenerativeComparison) -> None:
    from margin.service.comparison.generative.result import verdict

    console = result()
    width = console.width if console.is_terminal else 200
    headings = ("log-density ↑", "kind", "95 % interval", *SHOWN, "fit s")
    console.print(board_columns(headings, [_row(s) for s in comparison.standings], width), width=width)
    reasons = [f"{s.model}: {s.status}: {s.error}" for s in comparison.standings if s.error]
    for note in [*verdict(comparison), *reasons, *comparison.remarks]:
        console.print(note, highlight=False, markup=False, soft_wrap=not console.is_terminal)


def _row(s: GeneratorStanding) -> ShownModel:
    from margin.service.comparison.showing import score_text

    mark = "≈ " if s.tied else "  "
    if s.status not in ("ranked", "reference"):
        return ShownModel(mark, s.model, (s.status,))
    interval = f"{score_text(s.low)}…{score_text(s.high)}" if math.isfinite(s.low) else ""
    density = "" if s.log_density_kind == "none" else "-inf"
    if math.isfinite(s.log_density):
        density = score_text(s.log_density)
    kind = s.status if s.status == "reference" else s.log_density_kind
    numbers = [f"{s.measures[name]:.3f}" for name in SHOWN.values()]
    seconds = f"{s.fit_seconds:.2f}" if s.status == "ranked" else ""
    return ShownModel(mark, s.model, (density, kind, interval, *numbers, seconds))


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
