"""Results on stdout, everything else on stderr, errors as one sentence with a useful exit code."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from margin.core.strict_json import strict

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "FAILED",
    "INTERRUPTED",
    "USAGE",
    "log",
    "print_json",
    "print_table",
    "report_problems",
    "result",
    "strict",
    "write_json",
]

FAILED, USAGE, INTERRUPTED = 1, 2, 130  # 130 is what shells report for Ctrl-C
#: A pipe or file has no width: nothing is cut off or wrapped there.
UNLIMITED = 100_000


def result() -> Console:
    """The console for results; made anew so that redirected output is seen."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=UNLIMITED)


def log() -> Console:
    """The console for progress and remarks."""
    from rich.console import Console

    return Console(stderr=True)


def print_json(value: Any) -> None:
    write_json(value, sys.stdout)


def write_json(value: Any, file: Any) -> None:
    """Strict JSON, written piece by piece: a million predictions are never one string in memory."""
    for piece in json.JSONEncoder(indent=2, allow_nan=False).iterencode(strict(value)):
        file.write(piece)
    file.write("\n")


def print_table(columns: list[str], rows: list[list[Any]], title: str = "") -> None:
    from rich.table import Table

    table = Table(*columns, title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    result().print(table)


@contextmanager
def report_problems() -> Iterator[None]:
    """Turn an expected problem into one sentence on stderr: exit 2 for a bad request, 1 for a failure."""
    from margin.service.requests import BadRequest

    try:
        with _print_remarks():
            yield
    except BadRequest as problem:
        _end(str(problem), USAGE)
    except KeyError as problem:
        _end(str(problem.args[0]) if problem.args else "a name is missing", USAGE)
    except BrokenPipeError:
        raise  # whoever read our output has seen enough (`margin predict ... | head`); the framework ends quietly
    except OSError as problem:
        _end(_of_the_system(problem), FAILED)
    except MemoryError as problem:
        _end(f"there is not enough memory{f' ({problem})' if str(problem) else ''}.", FAILED)
    except (ValueError, FloatingPointError) as problem:
        _end(str(problem).strip().splitlines()[0] if str(problem).strip() else type(problem).__name__, FAILED)
    except KeyboardInterrupt:
        _end("interrupted", INTERRUPTED)


def _of_the_system(problem: OSError) -> str:
    """What the system refused, without the number it has for it."""
    if problem.strerror and problem.filename:
        return f"{problem.filename}: {problem.strerror[:1].lower()}{problem.strerror[1:]}."
    return str(problem).strip().splitlines()[0] if str(problem).strip() else type(problem).__name__


@contextmanager
def _print_remarks() -> Iterator[None]:
    """Warnings as sentences on stderr, without the line of ours that made them."""
    printed = set()

    def tell(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) in printed:  # every member of a blend reads the same rows and warns of the same
            return
        printed.add(str(message))
        log().print(f"margin: {message}", style="yellow", markup=False, highlight=False, soft_wrap=True)

    with warnings.catch_warnings():
        warnings.showwarning = tell
        yield


def _end(sentence: str, code: int) -> None:
    log().print(f"margin: {sentence}", style="red", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(code)
