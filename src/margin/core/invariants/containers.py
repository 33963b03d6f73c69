"""Values made of others: one of several kinds, lists, dicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from margin.core.invariants.sizes import Sizes, Stored, Violation
from margin.core.invariants.values import NoneOnly

__all__ = ["DictOf", "FieldsOf", "ListOf", "OneOf", "Sometimes", "optional", "sometimes"]


@dataclass(frozen=True)
class OneOf(Stored):
    """The first option that fits."""

    options: tuple[Stored, ...]

    def __init__(self, *options: Stored):
        object.__setattr__(self, "options", options)

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        problem: Violation | None = None
        for option in self.options:
            tried = Sizes(dict(sizes.known), may_be_empty=sizes.may_be_empty)
            try:
                option.check(value, where, tried)
            except Violation as violation:
                problem = problem or violation
                continue
            sizes.known.update(tried.known)
            sizes.later += tried.later
            return
        raise problem or Violation(f"{where} fits nothing")


def optional(stored: Stored) -> Stored:
    """``stored`` or None."""
    return OneOf(stored, NoneOnly())


@dataclass(frozen=True)
class Sometimes(Stored):
    """What only some fitted models of a class have: those of other parameters, or of earlier versions."""

    of: Stored

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        self.of.check(value, where, sizes)


def sometimes(stored: Stored) -> Stored:
    """``stored``, in an attribute that a fitted model need not have."""
    return stored if isinstance(stored, Sometimes) else Sometimes(stored)


@dataclass(frozen=True)
class ListOf(Stored):
    """A list or tuple of ``of``; ``size`` names its length. Names in ``own`` are sizes of each item by itself."""

    of: Stored
    size: str = ""
    own: Sequence[str] = ()

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, list | tuple):
            raise Violation(f"{where} must be a list; got {type(value).__name__}")
        if self.size:
            sizes.agree(self.size, len(value), f"{where} has {len(value)} items")
        for i, item in enumerate(value):
            for name in self.own:
                sizes.known.pop(name, None)
            self.of.check(item, f"{where}[{i}]", sizes)
        for name in self.own:
            sizes.known.pop(name, None)


@dataclass(frozen=True)
class DictOf(Stored):
    """A dict with ``keys`` and ``values`` of one kind each."""

    keys: Stored
    values: Stored

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, dict):
            raise Violation(f"{where} must be a dict; got {type(value).__name__}")
        for key, item in value.items():
            self.keys.check(key, f"a key of {where}", sizes)
            self.values.check(item, f"{where}[{key!r}]", sizes)


@dataclass(frozen=True)
class FieldsOf(Stored):
    """A dict with exactly these keys, of which those in ``may_lack`` may be missing; ``rule`` checks what the fields
    are to each other.
    """

    fields: Mapping[str, Stored]
    rule: Callable[[Any, str, Sizes], None] | None = None
    may_lack: tuple[str, ...] = ()

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, dict) or not self.fields.keys() - set(self.may_lack) <= value.keys() <= set(
            self.fields
        ):
            raise Violation(f"{where} must be a dict of {', '.join(self.fields)}")
        for name, stored in self.fields.items():
            if name in value:
                stored.check(value[name], f"{where}[{name!r}]", sizes)
        if self.rule is not None:
            self.rule(value, where, sizes)
