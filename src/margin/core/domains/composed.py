"""Domains of what holds or joins other values: sequences, arrays, estimators, alternatives, optional values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.domains.base import Build, Domain, says_none

__all__ = ["Array", "Either", "Instance", "Learner", "Nested", "Optional", "Sequence"]


@dataclass(frozen=True)
class Sequence(Domain):
    """A list or tuple (or 1-D array) whose items all lie in one domain.

    >>> from margin.core.domains import Integer
    >>> Sequence(Integer(low=1)).parse("64,32")
    (64, 32)
    """

    item: Domain
    min_length: int = 0

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str) or not isinstance(value, list | tuple | np.ndarray):
            return False
        return len(value) >= self.min_length and all(self.item.accepts(part) for part in value)

    @property
    def description(self) -> str:  # type: ignore[override]
        return f"a list in which each item is {self.item.description}"

    def type_text(self) -> str:
        return f"list of {self.item.type_text()}"

    def parse(self, text: str, build: Build | None = None) -> tuple[Any, ...]:
        parts = [part.strip() for part in text.strip("[]() ").split(",") if part.strip()]
        value = tuple(self.item.parse(part, build) for part in parts)
        if not self.accepts(value):
            raise ValueError(f"{text!r} is not {self.description}.")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.item.schema(), "minItems": self.min_length}

    def wrong(self) -> list[Any]:
        return ["a string", 3, [object()]]


@dataclass(frozen=True)
class Array(Domain):
    """An array of numbers with ``ndim`` dimensions, given from Python (a form or a command line cannot)."""

    ndim: int

    @property
    def description(self) -> str:  # type: ignore[override]
        return f"an array of numbers with {self.ndim} dimension{'s' if self.ndim != 1 else ''}"

    def type_text(self) -> str:
        return f"{self.ndim}-D array"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str | bytes | dict) or value is None:
            return False
        try:
            return bool(np.asarray(value, dtype=float).ndim == self.ndim)
        except (TypeError, ValueError):
            return False

    def parse(self, text: str, build: Build | None = None) -> np.ndarray:
        try:
            value = np.asarray(json.loads(text), dtype=float)
        except (TypeError, ValueError):
            value = None
        if value is None or not self.accepts(value):
            raise ValueError(f"{text!r} is not {self.description}.")
        return value

    def schema(self) -> dict[str, Any]:
        inner: dict[str, Any] = {"type": "number"}
        for _ in range(self.ndim):
            inner = {"type": "array", "items": inner}
        return inner

    def wrong(self) -> list[Any]:
        return ["a string", np.zeros((1,) * (self.ndim + 1))]


@dataclass(frozen=True, init=False)
class Nested(Domain):
    """Another estimator, recognized by the methods it must have."""

    methods: tuple[str, ...]

    def __init__(self, *methods: str):
        object.__setattr__(self, "methods", methods or ("fit",))

    def accepts(self, value: Any) -> bool:
        return not isinstance(value, type) and all(hasattr(value, method) for method in (*self.methods, "get_params"))

    @property
    def description(self) -> str:  # type: ignore[override]
        return "an estimator with " + " and ".join(self.methods)

    def type_text(self) -> str:
        return self.description.removeprefix("an ")

    def parse(self, text: str, build: Build | None = None) -> Any:
        if build is None:
            raise ValueError(f"{text!r} is not {self.description}.")
        return build(text)

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "title": self.description}

    def wrong(self) -> list[Any]:
        return ["a string", 3]


class Learner(Nested):
    """Any object with these methods, an estimator or not."""

    def accepts(self, value: Any) -> bool:
        return not isinstance(value, type | str) and all(hasattr(value, method) for method in self.methods)

    @property
    def description(self) -> str:  # type: ignore[override]
        return "an object with " + " and ".join(self.methods)


@dataclass(frozen=True)
class Instance(Domain):
    """An object of one class, given from Python: a form or a command line names it instead.

    >>> Instance(complex, "a complex number").accepts(2j)
    True
    """

    kind: type
    description: str

    def accepts(self, value: Any) -> bool:
        return isinstance(value, self.kind)

    def type_text(self) -> str:
        return self.kind.__name__

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "title": self.description}

    def wrong(self) -> list[Any]:
        return ["a string", 3]


@dataclass(frozen=True, init=False)
class Either(Domain):
    """Any of several domains, the first that parses a text wins.

    >>> from margin.core.domains import Choice, Number
    >>> Either(Choice("scale"), Number(above=0)).description
    "'scale' or a number above 0"
    """

    parts: tuple[Domain, ...]

    def __init__(self, *parts: Domain):
        object.__setattr__(self, "parts", parts)

    def accepts(self, value: Any) -> bool:
        return any(part.accepts(value) for part in self.parts)

    @property
    def description(self) -> str:  # type: ignore[override]
        return " or ".join(part.description for part in self.parts)

    def type_text(self) -> str:
        return " or ".join(part.type_text() for part in self.parts)

    def parse(self, text: str, build: Build | None = None) -> Any:
        for part in self.parts:
            try:
                return part.parse(text, build)
            except ValueError:
                continue
        raise ValueError(f"{text!r} is not {self.description}.")

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [part.schema() for part in self.parts]}

    def wrong(self) -> list[Any]:
        candidates = [value for part in self.parts for value in part.wrong()]
        return [value for value in candidates if not self.accepts(value)]

    @property
    def searchable(self) -> bool:
        return any(part.searchable for part in self.parts)

    def draw(self, rng: np.random.Generator) -> Any:
        searchable = [part for part in self.parts if part.searchable]
        return searchable[int(rng.integers(len(searchable)))].draw(rng) if searchable else None

    def suggest(self, trial: Any, name: str) -> Any:
        searchable = [part for part in self.parts if part.searchable]
        if len(searchable) < 2:
            return searchable[0].suggest(trial, name) if searchable else None
        which = trial.suggest_categorical(f"{name} kind", tuple(range(len(searchable))))
        return searchable[which].suggest(trial, f"{name} {which}")


class Optional(Either):
    """A domain or None.

    >>> from margin.core.domains import Integer
    >>> Optional(Integer(low=1)).parse("none") is None
    True
    """

    def __init__(self, part: Domain):
        super().__init__(part, _Nothing())


@dataclass(frozen=True)
class _Nothing(Domain):
    description = "None"

    def accepts(self, value: Any) -> bool:
        return value is None

    def parse(self, text: str, build: Build | None = None) -> None:
        if not says_none(text):
            raise ValueError(f"{text!r} is not None.")

    def schema(self) -> dict[str, Any]:
        return {"type": "null"}
