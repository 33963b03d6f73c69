"""Sizes of one model, which must agree; what every kind of stored value offers; the error where one does not fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Sizes", "Stored", "Violation"]


class Violation(ValueError):
    """A stored value is not what its class declares; the sentence says where and why."""


@dataclass
class Sizes:
    """The sizes met so far in one model, and the checks that need all of them."""

    known: dict[str, int] = field(default_factory=dict)
    later: list[Callable[[Sizes], None]] = field(default_factory=list)
    may_be_empty: Sequence[str] = ()

    def agree(self, name: str, size: int, context: str) -> None:
        if size == 0 and name not in self.may_be_empty:
            raise Violation(f"{context}: {name} must be at least 1")
        before = self.known.setdefault(name, size)
        if before != size:
            raise Violation(f"{context}: {name} is {before} elsewhere, here it is {size}")

    def __getitem__(self, name: str) -> int:
        if name not in self.known:
            raise Violation(f"{name} is not stored")
        return self.known[name]


class Stored(ABC):
    """One kind of value."""

    @abstractmethod
    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        """Raise a :class:`Violation` unless ``value`` may stand at ``where``."""
