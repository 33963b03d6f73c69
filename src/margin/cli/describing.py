"""``margin describe``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from margin.cli.arguments import DATA
from margin.cli.output import print_json, reported, result

if TYPE_CHECKING:
    from margin.data import Profile

__all__ = ["register"]


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

    with reported():
        profile = describe_table(data, target=target, kinds=kinds or (), ignore=ignore or ())
    if as_json:
        print_json(profile.as_dict())
    else:
        _print(profile)


def _print(profile: Profile) -> None:
    console = result()
    left_out = sum(not column.used for column in profile.columns if column.name != profile.target)
    goal = f", {profile.task} of {profile.target}" if profile.target else ""
    line = f"{profile.table.n_rows:,} rows, {len(profile.columns)} columns, {left_out} left out{goal}"
    console.print(line, style="bold", markup=False, highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("column", overflow="fold")
    table.add_column("kind", no_wrap=True)
    for count in ("missing", "distinct"):
        table.add_column(count, justify="right", no_wrap=True)
    table.add_column("examples and remarks", overflow="fold")
    for column in profile.columns:
        style = "" if column.used or column.name == profile.target else "dim"
        missing = "" if not column.missing else f"{column.missing:.1%}"
        examples_and_remark = Text(", ".join(column.examples), style=style)
        if column.remark:
            examples_and_remark.append(f"\n{column.remark}", style="red" if "LEAK?" in column.remark else "italic")
        name, kind = (Text(text, style=style) for text in (column.name, column.kind))
        table.add_row(name, kind, missing, f"{column.distinct:,}", examples_and_remark)
    console.print(table)
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
