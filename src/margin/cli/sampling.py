"""``margin sample``: rows as CSV, or text in the terminal as it is drawn."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from margin.cli.output import log, print_json, report_problems
from margin.cli.tables import Json, Out, Spreadsheet, Trained, write_columns

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command("sample")(sample)


def sample(
    run: Trained,
    n: Annotated[int | None, typer.Option("--number", "-n", min=1, help="How many; default: 10 rows, 1 text.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    prompt: Annotated[str | None, typer.Option(help="Text: the beginning to continue.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Text: most tokens; default 200.")] = None,
    temperature: Annotated[
        float | None,
        typer.Option(min=0, help="Text: above 1 more random, 0 always the most probable token; default 1."),
    ] = None,
    top_k: Annotated[int | None, typer.Option(min=1, help="Text: only among the k most probable tokens.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Text: only among the most probable tokens that reach this probability.")
    ] = None,
    out: Out = None,
    as_json: Json = False,
    for_spreadsheet: Spreadsheet = False,
) -> None:
    """Draw from a trained generative model: rows as CSV on stdout, or text as it is drawn."""
    from margin.service import prediction
    from margin.service.writing import writes

    given: dict[str, Any] = {
        "prompt": prompt, "max_tokens": max_tokens, "temperature": temperature, "top_k": top_k, "top_p": top_p
    }  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}
    with report_problems():
        if given or writes(prediction.open_model(run)[0]):
            _write_texts(run, n or 1, seed, given, out, as_json)
            return
        write_columns(prediction.sample(run, n or 10, seed), out, as_json, for_spreadsheet)


def _write_texts(run: str, n: int, seed: int, options: dict[str, Any], out: Path | None, as_json: bool) -> None:
    """Every text after its prompt, ended by a new line; several are parted by an empty one."""
    from margin.service.writing import write_texts

    prompt = options.get("prompt", "")
    texts = write_texts(run, n, seed, **options)
    if as_json:
        print_json([prompt + "".join(pieces) for pieces in texts])
        return
    with nullcontext(sys.stdout) if out is None else open(out, "w", encoding="utf-8") as file:
        for number, pieces in enumerate(texts):
            file.write(("\n" if number else "") + prompt)
            for piece in pieces:
                file.write(piece)
                file.flush()  # a reader sees each piece when it is drawn
            file.write("\n")
    if out is not None:
        log().print(f"wrote {out}", highlight=False)
