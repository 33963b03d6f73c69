"""``python -m fuzz.removals margin.lab.guard tests/lab/test_guard.py``: take away one line at a time; who notices?

Meant for code of which every line must have a test that fails without it, such as the guard of the lab. Each statement,
each part of a condition, each entry of a table, each named argument and each call of a text's method is taken out of
the module, and the tests run in a process of their own that imports the module as it is then. Below each stands the
first test that fails; the program ends with 1 where nobody notices.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import importlib.abc
import importlib.util
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

LONGEST, WAITING = 120.0, 20.0  # processor seconds for the tests with one line less; times as long by the clock
BLOCKS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
TEXT_METHODS = ("lower", "upper", "strip", "lstrip", "rstrip")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz.removals", description=__doc__)
    parser.add_argument("module", help="the module from which lines are taken")
    parser.add_argument("tests", nargs="+", help="files of tests, as pytest takes them")
    parser.add_argument("--skip", type=int, default=0, help="begin behind so many removals, to go on with a long run")
    parser.add_argument("--only", default="", help="only removals whose line holds this text")
    options = parser.parse_args(arguments)
    source = Path(importlib.util.find_spec(options.module).origin).read_text(encoding="utf-8")  # type: ignore[union-attr,arg-type]
    failed, *imported = _first_to_notice(options.module, source, options.tests)
    if failed:
        raise SystemExit(f"With every line in its place: {failed} fails.")
    _import_once(imported, options.module.partition(".")[0])
    missed = tried = 0
    for number, (what, without) in enumerate(removals(source)):
        if number < options.skip or options.only not in what:
            continue
        tried += 1
        noticed, *_ = _first_to_notice(options.module, without, options.tests)
        missed += not noticed
        print(f"{what}\n    {noticed or 'NOBODY'}", flush=True)
    print(f"{tried - missed} of {tried} removals noticed")
    return int(missed > 0)


def removals(source: str) -> Iterator[tuple[str, str]]:
    """What was taken away, and the source without it."""
    lines, count = source.splitlines(), len(list(_places(ast.parse(source))))
    for number in range(count):
        tree = ast.parse(source)
        node, remove = list(_places(tree))[number]
        what = f"line {node.lineno}: {ast.unparse(node).splitlines()[0]}  (in: {lines[node.lineno - 1].strip()})"
        remove()
        yield what, ast.unparse(ast.fix_missing_locations(tree))


def _places(tree: ast.AST) -> Iterator[tuple[Any, Any]]:
    """Every part that can be taken away, with the function that does it."""
    types = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Subscript) for part in ast.walk(node.slice)}
    for parent in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list):
                yield from ((node, _blank(block, i)) for i, node in enumerate(block) if _is_line(node, parent))
        if isinstance(parent, ast.BoolOp):
            yield from ((value, _drop(parent.values, i)) for i, value in enumerate(parent.values))
        elif isinstance(parent, ast.Tuple | ast.Set) and id(parent) not in types and _is_read(parent):
            yield from ((value, _drop(parent.elts, i)) for i, value in enumerate(parent.elts))
        elif isinstance(parent, ast.Dict):
            yield from ((key, _drop(parent.keys, i, parent.values)) for i, key in enumerate(parent.keys) if key)
        elif isinstance(parent, ast.Call):
            yield from ((word, _drop(parent.keywords, i)) for i, word in enumerate(parent.keywords) if word.arg)
            if isinstance(parent.func, ast.Attribute) and parent.func.attr in TEXT_METHODS:
                yield parent, _unwrap(parent)


def _is_line(node: ast.AST, parent: ast.AST) -> bool:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    named = isinstance(node, ast.Assign) and isinstance(parent, ast.Module)  # without it nothing is imported
    if isinstance(node, (*BLOCKS, ast.Import, ast.ImportFrom, ast.Pass, ast.Nonlocal)):
        return False
    return not (text or named)


def _is_read(node: ast.Tuple | ast.Set) -> bool:
    return not isinstance(getattr(node, "ctx", None), ast.Store)


def _blank(block: list[Any], i: int) -> Any:
    def remove() -> None:
        block[i] = ast.Pass(lineno=block[i].lineno, col_offset=0)

    return remove


def _drop(values: list[Any], i: int, *beside: list[Any]) -> Any:
    def remove() -> None:
        for each in (values, *beside):
            del each[i]

    return remove


def _unwrap(call: ast.Call) -> Any:
    """``text.strip()`` becomes ``(text or text)``: the same without the call."""

    def remove() -> None:
        inner = call.func.value  # type: ignore[attr-defined]
        call.func, call.args, call.keywords = ast.parse("(lambda text: text)", mode="eval").body, [inner], []

    return remove


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports one module from a text."""

    def __init__(self, name: str, text: str):
        self.name, self.text = name, text

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> Any:
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def get_source(self, fullname: str) -> str:
        return self.text


def _first_to_notice(module: str, text: str, tests: Sequence[str]) -> list[str]:
    """The first test that fails with this text of the module ("": all pass), and what a fork that ran them imported."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with contextlib.suppress(BaseException):
            for number in (signal.SIGPROF, signal.SIGALRM):
                signal.signal(number, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_PROF, LONGEST)
            signal.setitimer(signal.ITIMER_REAL, WAITING * LONGEST)
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1), os.dup2(silent, 2)
            sys.meta_path.insert(0, _Changed(module, text))
            import pytest

            noted = _Noted()
            outcome = pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests], plugins=[noted])
            told = [noted.failed or ("" if outcome == 0 else "nothing can be imported"), *sys.modules]
            with os.fdopen(writing, "w") as pipe:
                pipe.write("\n".join(told))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer.split("\n") if answer else ["it does not end"]


def _import_once(names: Sequence[str], own: str) -> None:
    """Import what does not belong to us here, before any fork: libraries take longer than the tests."""
    for name in names:
        if name.partition(".")[0] not in (own, "tests", "conftest", "__main__", "_pytest", "pytest"):
            with contextlib.suppress(Exception):
                importlib.import_module(name)


class _Noted:
    """A plugin of pytest that keeps the name of the first test that failed."""

    failed = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid.rpartition("::")[2]


if __name__ == "__main__":
    raise SystemExit(main())
