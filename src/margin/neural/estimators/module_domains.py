"""The domain of what a user of their own network gives: a module. It exists in Python only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from margin.core.domains import Domain
from margin.core.domains.base import says_none

__all__ = ["ModuleOrFactory"]


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
        if not says_none(text):
            raise ValueError(f"{text!r} is not None; a module is given in Python.")

    def wrong(self) -> list[Any]:
        return ["a string", 3]
