"""Domains of what only Python code can give: functions, and dictionaries of options for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from margin.core.domains.base import Domain

__all__ = ["Function", "Options"]


@dataclass(frozen=True)
class Function(Domain):
    """A function that takes ``takes``, given from Python (a form, a command line or a model file cannot hold one).

    >>> Function("two rows").accepts(max), Function("two rows").description
    (True, 'a function of two rows')
    """

    takes: str

    @property
    def description(self) -> str:  # type: ignore[override]
        return f"a function of {self.takes}"

    def type_text(self) -> str:
        return "callable"

    def accepts(self, value: Any) -> bool:
        return callable(value) and not isinstance(value, type)

    def wrong(self) -> list[Any]:
        return [3.5]


@dataclass(frozen=True)
class Options(Domain):
    """A dictionary from names to values.

    >>> Options().accepts({"p": 3}), Options().accepts({1: 3})
    (True, False)
    """

    description = "a dict from names to values"

    def type_text(self) -> str:
        return "dict"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, dict) and all(isinstance(name, str) for name in value)

    def schema(self) -> dict[str, Any]:
        return {"type": "object"}

    def wrong(self) -> list[Any]:
        return ["a string", 3, {1: 2}]
