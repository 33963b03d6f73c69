"""``margin verify`` and ``margin run``."""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from margin.cli.output import FAILED, log, print_json, print_table, report_problems, result
from margin.core.strict_json import strict_text

if TYPE_CHECKING:
    from margin.service.evidence import Checked

__all__ = ["register"]

STYLES = {"holds": "green", "corrected": "yellow", "fails": "bold red", "missing": "dim"}
INDENT = 11  # of the lines below a verdict
LINES = 2  # for what was measured; a failure is printed in full


def register(app: typer.Typer) -> None:
    app.command("verify")(verify)
    app.command("run")(run)


def _areas_and_rows(incomplete: str) -> list[str]:
    from margin.notes import atlas

    paths = (f"{row.area}/{row.id}" for row in atlas.rows().values())
    return [name for name in (*atlas.areas(), *atlas.rows(), *paths) if name.startswith(incomplete)]


def _experiment_names(incomplete: str) -> list[str]:
    from margin.notes import experiments

    return [name for name in experiments.names() if name.startswith(incomplete)]


def verify(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[AREA|ID]...", help="Areas, ids of rows, or area/id.", autocompletion=_areas_and_rows),
    ] = None,
    built: Annotated[bool, typer.Option("--built", help="Leave out rows that are not built yet.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything that is drawn.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="Check each row with this many seeds, from --seed on.")] = 1,
    brief: Annotated[bool, typer.Option("--brief", help="One line for each row that does not fail.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Also write the verdicts to this JSON file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one row on each line.")] = False,
) -> None:
    """Check what the notes say by running it: holds, corrected (the notes are wrong), fails, or missing.

    Below each verdict: the statement, what was measured (and what was expected), and where the notes are wrong the
    counter-example.
    """
    from margin.notes import atlas
    from margin.service import evidence

    with report_problems():
        rows = [row for row in evidence.select(names or []) if not built or row.id in atlas.rows()]
        checked: list[Checked] = []
        for item in (item for one in range(seed, seed + seeds) for item in evidence.verify(rows, one)):
            if as_json:  # one array over the whole output, one row on each line, as it comes
                sys.stdout.write(("[" if not checked else ",\n") + strict_text(item.as_dict()))
                sys.stdout.flush()
            else:
                _print_verdict(item, brief)
            checked.append(item)
    if out is not None:
        out.write_text(strict_text([item.as_dict() for item in checked], indent=1))
    if as_json:
        sys.stdout.write("]\n" if checked else "[]\n")
    else:
        counts = Counter(item.verdict for item in checked)
        result().print(
            ", ".join(f"{counts[verdict]} {verdict}" for verdict in STYLES if counts[verdict]), highlight=False
        )
    if any(item.verdict == "fails" for item in checked):
        raise typer.Exit(FAILED)


def _print_verdict(item: Checked, brief: bool) -> None:
    from margin.service.finding_words import finding_words

    style = STYLES[item.verdict]
    console = result()
    seed = f", seed {item.seed}" if item.verdict == "fails" else ""
    head = f"[{style}]{item.verdict:>9}[/{style}]  {item.area}/{item.id}  [dim]{item.seconds:.2f} s{seed}[/dim]"
    console.print(head, highlight=False)
    if item.verdict == "missing" or (brief and item.verdict != "fails"):
        return
    findings = item.findings()
    failed = item.verdict == "fails"
    _print_entry(console, "statement", item.statement)
    own = [f for f in findings if not f.is_counterexample]
    _print_entry(console, "measured", "; ".join(map(finding_words, own)), None if failed else LINES)
    for words in item.errata:
        _print_entry(console, "notes", words)
    for finding in (f for f in findings if f.is_counterexample):
        _print_entry(console, "counter-example", finding_words(finding), LINES)


def _print_entry(console: Console, name: str, text: str, lines: int | None = None) -> None:
    """A few lines below the verdict; what does not fit into ``lines`` is in the JSON."""
    width = max(console.width - INDENT, 40)
    wrapped = textwrap.wrap(f"{name}: {text}", width, subsequent_indent="  ", max_lines=lines, placeholder=" ...")
    console.print(textwrap.indent("\n".join(wrapped), " " * INDENT), markup=False, highlight=False, style="dim")


def run(
    name: Annotated[
        str | None, typer.Argument(help="The experiment; none lists them.", autocompletion=_experiment_names)
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for figures and data.")] = Path("runs/experiments"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the experiment.")] = 0,
    fast: Annotated[bool, typer.Option("--fast", help="The small version that the tests run.")] = False,
    svg: Annotated[bool, typer.Option("--svg", help="Also write the figure as SVG.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run an experiment and write its figure."""
    from margin.notes import experiments
    from margin.service.evidence import run_experiment

    with report_problems():
        if name is None:
            listed = [{"name": n, "title": experiments.title(experiments.load(n))} for n in experiments.names()]
            if as_json:
                print_json(listed)
            else:
                print_table(["experiment", "shows"], [[item["name"], item["title"]] for item in listed])
            return
        experiments.load(name)  # a name that does not exist is refused before anything is announced
        log().print(f"running {name} ...", highlight=False)
        outcome = run_experiment(name, out, seed=seed, fast=fast, formats=("png", "svg") if svg else ("png",))
    if as_json:
        print_json(outcome.as_dict())
    else:
        style = STYLES[outcome.verdict]
        result().print(
            f"{outcome.title}\n[{style}]{outcome.verdict}[/{style}] in {outcome.seconds:.1f} s", highlight=False
        )
        result().print(f"measured {strict_text(outcome.measured)}", markup=False, highlight=False)
        for file in outcome.files:
            result().print(file, highlight=False, soft_wrap=True)
    if outcome.verdict == "fails":
        raise typer.Exit(FAILED)
