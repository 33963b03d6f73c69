"""``margin describe``."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from margin.cli.arguments import DATA
from margin.cli.output import print_json, report_problems, result

if TYPE_CHECKING:
    from margin.data import ColumnProfile, Profile

__all__ = ["register"]

MANY = 200  # columns, of which nobody reads one line each


def register(app: typer.Typer) -> None:
    app.command("describe")(describe)


def describe(
    data: Annotated[str, typer.Argument(help=DATA)],
    target: Annotated[str | None, typer.Option("--target", "-t", help="The column to predict.")] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--kinds",
            metavar="COLUMN=KIND",
            help="Read a column as number, flag, category, text or date; may be repeated.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", metavar="COLUMN", help="Leave a column out; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Describe a table: kind and use of every column with the reason, leaks, duplicates, groups, time order."""
    from margin.service.describing import describe as describe_table

    with report_problems():
        profile = describe_table(data, target=target, kinds=kinds or (), ignore=ignore or ())
    if as_json:
        print_json(profile.as_dict())
    else:
        _print(profile)


def _print(profile: Profile) -> None:
    console = result()
    left_out = sum(not column.used for column in profile.columns if column.name != profile.target)
    goal = f", {profile.task} of {profile.target}" if profile.target else ""
    line = f"{profile.n_rows:,} rows, {len(profile.columns)} columns, {left_out} left out{goal}"
    console.print(line, style="bold", markup=False, highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("column", overflow="fold")
    table.add_column("kind", no_wrap=True)
    for count in ("missing", "distinct"):
        table.add_column(count, justify="right", no_wrap=True)
    table.add_column("examples and remarks", overflow="fold")
    for alike in _alike(profile):
        style = "" if alike[0].used or alike[0].name == profile.target else "dim"
        table.add_row(*_cells(alike, style))
    console.print(table)
    if len(profile.columns) > MANY:
        console.print("Neighbors of one kind share a line; --json has every column.", style="dim")
    for remark in profile.remarks:
        console.print(f"• {remark}", markup=False, highlight=False, soft_wrap=True)
    suggested = {
        "--group": profile.suggested_group,
        "--time": profile.suggested_time,
        "--metric": profile.suggested_metric,
    }
    options = "  ".join(f"{option} {value}" for option, value in suggested.items() if value)
    if options:
        console.print(f"Suggested for a comparison: {options}", markup=False, highlight=False, soft_wrap=True)


def _alike(profile: Profile) -> list[list[ColumnProfile]]:
    """The columns line by line: of very many, neighbors of one kind of which nothing else is to be said share one."""
    if len(profile.columns) <= MANY:
        return [[column] for column in profile.columns]
    runs = groupby(profile.columns, key=lambda c: (c.kind, c.used, c.remark, c.name == profile.target))
    return [list(run) for _, run in runs]


def _cells(alike: list[ColumnProfile], style: str) -> tuple[Text | str, ...]:
    first, last = alike[0], alike[-1]
    remark = Text(", ".join(first.examples), style=style)
    if len(alike) > 1:
        remark = Text(f"{len(alike):,} columns, as {remark.plain}", style=style)
    if first.remark:
        remark.append(f"\n{first.remark}", style="red" if "LEAK?" in first.remark else "italic")
    name = first.name if first is last else f"{first.name} … {last.name}"
    missing = _span([f"{c.missing:.1%}" if c.missing else "" for c in _ends(alike, "missing")])
    distinct = _span([f"{c.distinct:,}" for c in _ends(alike, "distinct")])
    return Text(name, style=style), Text(first.kind, style=style), missing, distinct, remark


def _ends(alike: list[ColumnProfile], count: str) -> tuple[ColumnProfile, ColumnProfile]:
    by_count = attrgetter(count)
    return min(alike, key=by_count), max(alike, key=by_count)


def _span(ends: list[str]) -> str:
    least, most = ends
    return most if least == most else f"{least or 0}…{most}"
