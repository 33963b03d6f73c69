"""``margin list`` and ``margin show``."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from margin.cli.completion import model_names, shown_names
from margin.cli.output import log, print_json, print_table, report_problems, result
from margin.service import models

__all__ = ["model_names", "parameters_as_table", "register"]


def register(app: typer.Typer) -> None:
    app.command("list")(list_models)
    app.command("show")(show)


def list_models(
    family: Annotated[str | None, typer.Option(help="Only this family.")] = None,
    task: Annotated[str | None, typer.Option(help="Only this task.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the models."""
    with report_problems():
        listed = models.list_models(family, task, rows=as_json)
    if as_json:
        print_json(listed)
        return
    print_table(["name", "task", "family", "class"], [[m["name"], m["task"], m["family"], m["path"]] for m in listed])


def show(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME",
            help="A model, a row of the notes, an experiment, a run folder, a model file, or a term of any words.",
            autocompletion=shown_names,
        ),
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Also run the checks of its rows and print their verdicts.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show a model or a row of the notes (equation, parameters, source, verdicts), or what a run holds.

    A misspelled name, or one from another library, shows the nearest method.
    """
    name = " ".join(words)
    with report_problems():
        facts = models.describe(name)
        if "asked" in facts:
            what = facts.get("name", facts.get("id"))
            log().print(f"There is no {name!r} here; the nearest is {what}.", highlight=False, soft_wrap=True)
        if check and facts["what"] not in ("rows", "run"):
            _add_verdicts(facts)
        if as_json:
            print_json(facts)
        else:
            _print(facts)


def _add_verdicts(facts: dict[str, Any]) -> None:
    from margin.service.evidence import select, verify

    rows = [facts] if facts["what"] == "row" else facts["rows"]
    ids = [row["id"] for row in rows]
    verdicts = {checked.id: checked for checked in verify(select(ids))} if ids else {}
    for row in rows:
        row["verdict"] = verdicts[row["id"]].verdict
        row["measured"] = verdicts[row["id"]].measured


def _print(facts: dict[str, Any]) -> None:
    console = result()
    if facts["what"] == "row":
        _print_row(facts)
        return
    if facts["what"] == "run":
        _print_run(facts)
        return
    console.print(f"[bold]{facts.get('name', facts.get('term'))}[/bold]  {facts.get('path', '')}", highlight=False)
    if facts["what"] == "model":
        console.print(f"{facts['family']}, {facts['task']}; source {facts['source']}\n", highlight=False)
    if facts.get("summary"):
        console.print(facts["summary"], markup=False, highlight=False)
    if facts.get("streams"):
        console.print(f"\n{facts['streams']}", markup=False, highlight=False)
    for equation in facts.get("equations", []):
        console.print(f"\n    {equation}", markup=False, highlight=False, soft_wrap=True)
    if facts.get("parameters"):
        console.print()
        result().print(parameters_as_table(facts["parameters"]))
    if facts.get("attributes"):
        console.print()
        print_table(["learned", "meaning"], [[a["name"], a["sentence"]] for a in facts["attributes"]])
    if facts.get("rows"):
        console.print()
        print_table(
            ["row of the notes", "where", *(["verdict"] if "verdict" in facts["rows"][0] else [])],
            [
                [row["id"], "; ".join(row["where"]), *([row["verdict"]] if "verdict" in row else [])]
                for row in facts["rows"]
            ],
        )


def parameters_as_table(parameters: list[dict[str, Any]]) -> Table:
    """One row per parameter: what it does, and below that what it may be."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("parameter", no_wrap=True)
    table.add_column("default", max_width=16)
    table.add_column("meaning")
    for parameter in parameters:
        meaning = Text.assemble(parameter["sentence"], ("\n" + parameter["allowed"], "dim"))
        table.add_row(parameter["name"], Text(parameter["shown"]), meaning)
    return table


def _print_row(row: dict[str, Any]) -> None:
    console = result()
    console.print(f"[bold]{row['id']}[/bold]  {row['title']}", highlight=False)
    if row["as_run"] and not row["used_by"]:
        row = {**row, "used_by": "commands and public functions only"}
    shown = ("where", "statement", "equation", "numbers", "erratum", "as_written", "as_run", "used_by", "experiment")
    for name in (*shown, "verdict", "measured"):
        value = "; ".join(row[name]) if isinstance(row.get(name), tuple | list) else row.get(name)
        if value:
            line = f"  {name.replace('_', ' ')}: {value}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def _print_run(run: dict[str, Any]) -> None:
    console = result()
    console.print(f"[bold]{run['name']}[/bold]  {run['kind']}", highlight=False, soft_wrap=True)
    names = ("status", "model", "parameters_set", "data", "rows", "target", "task", "seconds", "held_out", "records")
    for name in (*names, "last", "command", "files"):
        value = run.get(name)
        if isinstance(value, dict):
            value = "  ".join(f"{key} {_number(item)}" for key, item in value.items())
        elif isinstance(value, list):
            value = ", ".join(value)
        if value not in (None, "", 0):
            line = f"  {name.replace('_', ' ')}: {_number(value)}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    for remark in run.get("remarks", []):
        console.print(f"  remark: {remark}", markup=False, highlight=False, soft_wrap=True)
    if run.get("board"):
        console.print()
        _print_board(run["board"])


def _print_board(board: list[dict[str, Any]]) -> None:
    """Models in the order of the board; those without a score with the reason."""
    rows = []
    for s in board:
        score = s["error"] or s.get("status", "") if s["mean"] is None or s["error"] else _number(s["mean"])
        mark = "≈" if s.get("tied") and s is not board[0] else ""
        rows.append([mark, s["model"], score, "" if s["fit_seconds"] is None else _number(s["fit_seconds"])])
    print_table(["", "model", board[0]["metric"], "fit s"], rows)


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
