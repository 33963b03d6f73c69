"""Domains of what a user of their own network gives: a module, a loss, arguments. They exist in Python only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from margin.core.domains import Domain

__all__ = ["Function", "ModuleOrFactory", "Settings"]


@dataclass(frozen=True)
class ModuleOrFactory(Domain):
    """None, an ``nn.Module``, or what makes one when called."""

    description = "None, an nn.Module, or a class or function that makes one"

    def accepts(self, value: Any) -> bool:
        return value is None or callable(value)

    def type_text(self) -> str:
        return "nn.Module, class, function or None"

    def schema(self) -> dict[str, Any]:
        return {"type": "null"}

    def parse(self, text: str, build: Any = None) -> None:
        if text.lower() not in {"none", "null"}:
            raise ValueError(f"{text!r} is not None; a module is given in Python.")

    def wrong(self) -> list[Any]:
        return ["a string", 3]


@dataclass(frozen=True)
class Function(Domain):
    """Something that can be called."""

    description = "a function"

    def accepts(self, value: Any) -> bool:
        return callable(value)

    def wrong(self) -> list[Any]:
        return ["a string", 3]


@dataclass(frozen=True)
class Settings(Domain):
    """Arguments by name."""

    description = "a dictionary of arguments by name"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, dict) and all(isinstance(name, str) for name in value)

    def type_text(self) -> str:
        return "dict"

    def schema(self) -> dict[str, Any]:
        return {"type": "object"}

    def wrong(self) -> list[Any]:
        return ["a string", {3: 4}]
