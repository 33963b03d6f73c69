"""Domains of what a fit may use of the machine."""

from __future__ import annotations

import numbers
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.domains.base import Build, Domain, says_none

__all__ = ["Device", "Jobs"]


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
        if says_none(text):
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


@dataclass(frozen=True)
class Device(Domain):
    """Where a network computes, by the names of torch; whether it is there is asked when a fit begins.

    >>> Device().accepts("cuda:1"), Device().accepts("the graphics card")
    (True, False)
    """

    description = "'auto' or the name of a device such as 'cpu', 'cuda:1' or 'mps'"

    def type_text(self) -> str:
        return "str"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and re.fullmatch(r"[a-z]+(:\d{1,3})?", value) is not None

    def parse(self, text: str, build: Build | None = None) -> str:
        if not self.accepts(text):
            raise ValueError(f"{text!r} is not {self.description}.")
        return text

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def wrong(self) -> list[Any]:
        return [0, "no such device"]
