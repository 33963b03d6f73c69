"""``margin verify`` and ``margin run``."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from margin.cli.output import FAILED, log, print_json, print_table, reported, result

__all__ = ["register"]

STYLES = {"holds": "green", "corrected": "yellow", "fails": "bold red", "missing": "dim"}


def register(app: typer.Typer) -> None:
    app.command("verify")(verify)
    app.command("run")(run)


def _areas_and_rows(incomplete: str) -> list[str]:
    from margin import atlas

    return [name for name in (*atlas.areas(), *atlas.rows()) if name.startswith(incomplete)]


def _experiment_names(incomplete: str) -> list[str]:
    from margin import experiments

    return [name for name in experiments.names() if name.startswith(incomplete)]


def verify(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[AREA|ID]...", help="Areas or ids of rows.", autocompletion=_areas_and_rows),
    ] = None,
    built: Annotated[bool, typer.Option("--built", help="Leave out rows that are not built yet.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of everything that is drawn.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="Check each row with this many seeds, from --seed on.")] = 1,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Also write the verdicts to this JSON file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check what the notes say by running it: holds, corrected (the notes are wrong), fails, or missing."""
    from margin import atlas
    from margin.service import evidence

    with reported():
        rows = [row for row in evidence.select(names or []) if not built or row.id in atlas.rows()]
        checked = []
        for item in (item for one in range(seed, seed + seeds) for item in evidence.verify(rows, one)):
            checked.append(item)
            if not as_json:
                _print_verdict(item)
    verdicts = [item.as_dict() for item in checked]
    if out is not None:
        out.write_text(json.dumps(verdicts, indent=1, default=str))
    if as_json:
        print_json(verdicts)
    else:
        counts = Counter(item.verdict for item in checked)
        result().print(
            ", ".join(f"{counts[verdict]} {verdict}" for verdict in STYLES if counts[verdict]), highlight=False
        )
    if any(item.verdict == "fails" for item in checked):
        raise typer.Exit(FAILED)


def _print_verdict(item: Any) -> None:
    style = STYLES[item.verdict]
    console = result()
    console.print(
        f"[{style}]{item.verdict:>9}[/{style}]  {item.area}/{item.id}  [dim]{item.seconds:.2f} s[/dim]", highlight=False
    )
    if item.verdict == "fails":
        console.print(
            f"           seed {item.seed}\n           measured {item.measured}\n           expected {item.expected}",
            markup=False,
        )


def run(
    name: Annotated[
        str | None, typer.Argument(help="The experiment; none lists them.", autocompletion=_experiment_names)
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for figures and data.")] = Path("runs/experiments"),
    seed: Annotated[int, typer.Option(help="Seed of the experiment.")] = 0,
    fast: Annotated[bool, typer.Option("--fast", help="The small version that the tests run.")] = False,
    svg: Annotated[bool, typer.Option("--svg", help="Also write the figure as SVG.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run an experiment and write its figure."""
    from margin import experiments
    from margin.service.evidence import run_experiment

    with reported():
        if name is None:
            listed = [{"name": n, "title": experiments.title(experiments.load(n))} for n in experiments.names()]
            if as_json:
                print_json(listed)
            else:
                print_table(["experiment", "shows"], [[item["name"], item["title"]] for item in listed])
            return
        log().print(f"running {name} ...", highlight=False)
        outcome = run_experiment(name, out, seed=seed, fast=fast, formats=("png", "svg") if svg else ("png",))
    if as_json:
        print_json(outcome.as_dict())
    else:
        style = STYLES[outcome.verdict]
        result().print(
            f"{outcome.title}\n[{style}]{outcome.verdict}[/{style}] in {outcome.seconds:.1f} s", highlight=False
        )
        result().print(f"measured {json.dumps(outcome.measured, default=str)}", markup=False, highlight=False)
        for file in outcome.files:
            result().print(file, highlight=False, soft_wrap=True)
    if outcome.verdict == "fails":
        raise typer.Exit(FAILED)
