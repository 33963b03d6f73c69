"""The numpydoc sections of a class that has declared parameters and attributes."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable
from typing import Any

__all__ = ["with_sections"]

WIDTH = 110
LATER_SECTIONS = ("See Also", "Notes", "References", "Examples")  # numpydoc's order: what stands after the attributes


def with_sections(docstring: str, parameters: Iterable[Any], attributes: Iterable[Any]) -> str:
    """``docstring`` with its ``Parameters`` and ``Attributes`` before its examples.

    >>> from margin.core.domains import Number
    >>> from margin.core.parameters import Parameter
    >>> alpha = Parameter(1.0, Number(low=0), "Strength of the penalty.", name="alpha")
    >>> print(with_sections("A model.", [alpha], []))
    A model.
    <BLANKLINE>
    Parameters
    ----------
    alpha : float, at least 0, default=1.0
        Strength of the penalty.
    """
    before, after = _split(inspect.cleandoc(docstring))
    sections = [
        before,
        _section("Parameters", [(f"{p.name} : {p.domain.type_text()}, default={p.default!r}", p) for p in parameters]),
        _section("Attributes", [(f"{a.name} : {a.annotation}", a) for a in attributes]),
        after,
    ]
    return "\n\n".join(section for section in sections if section)


def _split(docstring: str) -> tuple[str, str]:
    """What stands before the first later section or example, and the rest, with a heading over bare examples."""
    lines = docstring.splitlines()
    for number, line in enumerate(lines):
        if line in LATER_SECTIONS and lines[number + 1 : number + 2] == ["-" * len(line)]:
            return _join(lines[:number]), _join(lines[number:])
        if line.startswith(">>> "):
            return _join(lines[:number]), "Examples\n--------\n" + _join(lines[number:])
    return docstring.strip(), ""


def _join(lines: list[str]) -> str:
    return "\n".join(lines).strip()


def _section(title: str, entries: list[tuple[str, Any]]) -> str:
    if not entries:
        return ""
    texts = ["\n".join([head, *(f"    {line}" for line in _lines(declared.sentence))]) for head, declared in entries]
    return "\n".join([title, "-" * len(title), *texts])


def _lines(sentence: str) -> list[str]:
    if len(sentence) <= WIDTH and sentence == sentence.strip() and "\n" not in sentence:
        return [sentence]  # most of them: looking for breaks took a third of the import of a package of models
    return textwrap.wrap(sentence, WIDTH, break_on_hyphens=False)
