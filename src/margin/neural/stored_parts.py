"""What a file may say about a part of a network: a name of its table, or a name and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from margin.core.invariants import Sizes, Stored, Violation
from margin.neural.parts import choose

__all__ = ["DescribedPart"]


@dataclass(frozen=True)
class DescribedPart(Stored):
    """What :func:`margin.neural.parts.describe` gives for a part of ``table``."""

    table: Mapping[str, Callable[..., Any]]

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, str) and not (isinstance(value, dict) and all(isinstance(key, str) for key in value)):
            raise Violation(f"{where} must be a name, or a dict of a name and parameters; got {type(value).__name__}")
        try:
            choose(where, value, self.table)
        except (TypeError, ValueError) as error:
            raise Violation(f"{where} describes no part: {str(error)[:120]}") from None
