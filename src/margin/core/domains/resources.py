"""Domains of what a fit may use of the machine."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.domains.base import Build, Domain

__all__ = ["Jobs"]


@dataclass(frozen=True)
class Jobs(Domain):
    """How many threads or workers: None, a number of them, or -1 for all cores, -2 for all but one, and so on.

    >>> Jobs().accepts(-1), Jobs().accepts(0)
    (True, False)
    """

    description = "None or an integer other than 0"

    def type_text(self) -> str:
        return "int or None"

    def accepts(self, value: Any) -> bool:
        if value is None:
            return True
        return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_) and value != 0

    def parse(self, text: str, build: Build | None = None) -> int | None:
        if text.lower() in {"none", "null"}:
            return None
        try:
            value = int(text)
        except ValueError:
            value = 0
        if not value:
            raise ValueError(f"{text!r} is not {self.description}.")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": ["integer", "null"]}

    def wrong(self) -> list[Any]:
        return [0, 1.5, "a string"]
