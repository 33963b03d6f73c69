"""The numpydoc sections that are written once: those of declared parameters and attributes, and of what functions of a
family take alike."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

__all__ = ["parameter_texts", "with_parameters", "with_sections"]

Function = TypeVar("Function", bound=Callable[..., Any])

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


def parameter_texts(entries: str) -> dict[str, str]:
    r"""Entries of a ``Parameters`` section by the name of the parameter.

    >>> parameter_texts("x : float\n    A number.")["x"]
    'x : float\n    A number.'
    """
    texts: dict[str, str] = {}
    name = ""
    for line in textwrap.dedent(entries).strip("\n").splitlines():
        if line[:1].strip():
            name = line.partition(" :")[0].strip()
            texts[name] = line
        else:
            texts[name] += f"\n{line}"
    return {name: text.rstrip() for name, text in texts.items()}


def with_parameters(shared: Mapping[str, str]) -> Callable[[Function], Function]:
    r"""A decorator that says in the ``Parameters`` of a function what ``shared`` says of those it does not describe.

    >>> @with_parameters(parameter_texts("x : float\n    A number."))
    ... def double(x):
    ...     "Twice the number."
    >>> print(double.__doc__)
    Twice the number.
    <BLANKLINE>
    Parameters
    ----------
    x : float
        A number.
    """

    def describe(function: Function) -> Function:
        if function.__doc__ is not None:  # there is none under -OO
            function.__doc__ = _with_entries(inspect.cleandoc(function.__doc__), _arguments(function), shared)
        return function

    return describe


def _arguments(function: Callable[..., Any]) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _with_entries(docstring: str, names: tuple[str, ...], shared: Mapping[str, str]) -> str:
    before, after = _split(docstring)
    before, _, section = before.partition("Parameters\n----------\n")
    own = parameter_texts(section)
    entries = {name: own.pop(name, shared.get(name, "")) for name in names}
    text = "\n".join([*filter(None, entries.values()), *own.values()])
    parts = [before.rstrip(), f"Parameters\n----------\n{text}", after]
    return "\n\n".join(part for part in parts if part)
