"""Hyperparameters declared once: what values a parameter may take.

A class writes ``domains = {"alpha": Number(low=0), "kernel": Choice("rbf", "poly")}`` beside its
``__init__``. From this one table come validation and its error sentences, parsing of ``--set alpha=0.1`` on the
command line, JSON schemas for forms, search spaces, parameter tables, and the tests for invalid parameters
(:mod:`margin.core.parameters`).
"""

from __future__ import annotations

import json
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "Array",
    "Choice",
    "Domain",
    "Either",
    "Flag",
    "Integer",
    "Nested",
    "Number",
    "Optional",
    "Seed",
    "Sequence",
    "Text",
]

Build = Callable[[str], Any]


class Domain(ABC):
    """The values one parameter may take."""

    description: str

    @abstractmethod
    def accepts(self, value: Any) -> bool:
        """Whether ``value`` lies in the domain."""

    def parse(self, text: str, build: Build | None = None) -> Any:
        """The value that ``text`` stands for on a command line; ``build`` makes nested estimators from their names."""
        raise ValueError(f"{text!r} is not {self.description}.")

    def schema(self) -> dict[str, Any]:
        """The JSON schema from which a form is made."""
        return {}

    def wrong(self) -> list[Any]:
        """A few values outside the domain, from which tests of the error are made."""
        return [object()]

    def draw(self, rng: np.random.Generator) -> Any:
        """A random value for a search; ``None`` domains (no search range) are not searched."""
        return None

    @property
    def searchable(self) -> bool:
        return False


@dataclass(frozen=True)
class Number(Domain):
    """A finite real number; ``low``/``high`` are allowed themselves, ``above``/``below`` are not.

    ``search`` is the range in which a search looks (drawn log-uniformly when ``log``).

    >>> Number(above=0).accepts(0), Number(low=0, below=1).description
    (False, 'a number at least 0 and below 1')
    """

    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    search: tuple[float, float] | None = None
    log: bool = False

    noun = "a number"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
            return False
        return math.isfinite(value) and self._inside(float(value))

    def _inside(self, value: float) -> bool:
        return (
            (self.low is None or value >= self.low)
            and (self.high is None or value <= self.high)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    @property
    def description(self) -> str:  # type: ignore[override]
        bounds = [("at least", self.low), ("above", self.above), ("at most", self.high), ("below", self.below)]
        limits = " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
        return f"{self.noun} {limits}".rstrip()

    def parse(self, text: str, build: Build | None = None) -> Any:
        try:
            value = self._convert(text)
        except ValueError:
            value = None
        if value is None or not self.accepts(value):
            raise ValueError(f"{text!r} is not {self.description}.")
        return value

    def _convert(self, text: str) -> float:
        return float(text)

    def schema(self) -> dict[str, Any]:
        keys = {
            "minimum": self.low,
            "maximum": self.high,
            "exclusiveMinimum": self.above,
            "exclusiveMaximum": self.below,
        }
        return {"type": "number", **{key: bound for key, bound in keys.items() if bound is not None}}

    def wrong(self) -> list[Any]:
        outside: list[Any] = ["a word", True, math.nan]
        outside += [self.low - 1] if self.low is not None else []
        outside += [self.above] if self.above is not None else []
        outside += [self.high + 1] if self.high is not None else []
        outside += [self.below] if self.below is not None else []
        return outside

    @property
    def searchable(self) -> bool:
        return self.search is not None

    def draw(self, rng: np.random.Generator) -> Any:
        if self.search is None:
            return None
        low, high = self.search
        if self.log:
            return float(np.exp(rng.uniform(np.log(low), np.log(high))))
        return float(rng.uniform(low, high))


@dataclass(frozen=True)
class Integer(Number):
    """A whole number.

    >>> Integer(low=1).accepts(3), Integer(low=1).accepts(2.5)
    (True, False)
    """

    noun = "a whole number"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, numbers.Integral) and super().accepts(value)

    def _convert(self, text: str) -> int:
        return int(text)

    def schema(self) -> dict[str, Any]:
        return super().schema() | {"type": "integer"}

    def wrong(self) -> list[Any]:
        return [*super().wrong(), 2.5]

    def draw(self, rng: np.random.Generator) -> Any:
        value = super().draw(rng)
        return None if value is None else round(value)


@dataclass(frozen=True, init=False)
class Choice(Domain):
    """One of a few named options.

    >>> Choice("rbf", "poly").parse("poly")
    'poly'
    """

    options: tuple[Any, ...]

    def __init__(self, *options: Any):
        object.__setattr__(self, "options", options)

    def accepts(self, value: Any) -> bool:
        return any(type(value) is type(option) and value == option for option in self.options)

    @property
    def description(self) -> str:  # type: ignore[override]
        if len(self.options) == 1:
            return repr(self.options[0])
        return "one of " + ", ".join(map(repr, self.options))

    def parse(self, text: str, build: Build | None = None) -> Any:
        for option in self.options:
            if text == str(option):
                return option
        raise ValueError(f"{text!r} is not {self.description}.")

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.options)}

    def wrong(self) -> list[Any]:
        return ["no such option", 12345.678]

    @property
    def searchable(self) -> bool:
        return len(self.options) > 1

    def draw(self, rng: np.random.Generator) -> Any:
        return self.options[int(rng.integers(len(self.options)))]


@dataclass(frozen=True)
class Flag(Domain):
    """True or false.

    >>> Flag().parse("yes")
    True
    """

    description = "True or False"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool | np.bool_)

    def parse(self, text: str, build: Build | None = None) -> bool:
        words = {
            "true": True,
            "yes": True,
            "1": True,
            "on": True,
            "false": False,
            "no": False,
            "0": False,
            "off": False,
        }
        if text.lower() not in words:
            raise ValueError(f"{text!r} is not {self.description}.")
        return words[text.lower()]

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def wrong(self) -> list[Any]:
        return ["a word", 2]

    def draw(self, rng: np.random.Generator) -> bool:
        return bool(rng.integers(2))


@dataclass(frozen=True)
class Text(Domain):
    """Any string."""

    description = "a string"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str)

    def parse(self, text: str, build: Build | None = None) -> str:
        return text

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def wrong(self) -> list[Any]:
        return [1]


@dataclass(frozen=True)
class Seed(Domain):
    """The source of randomness: None, a whole number, or a NumPy RandomState or Generator."""

    description = "None, a whole number at least 0, a numpy RandomState or a numpy Generator"

    def accepts(self, value: Any) -> bool:
        if value is None or isinstance(value, np.random.RandomState | np.random.Generator):
            return True
        return Integer(low=0, high=2**32 - 1).accepts(value)

    def parse(self, text: str, build: Build | None = None) -> int | None:
        return None if text.lower() in {"none", "null"} else Integer(low=0, high=2**32 - 1).parse(text)

    def schema(self) -> dict[str, Any]:
        return {"type": ["integer", "null"], "minimum": 0}

    def wrong(self) -> list[Any]:
        return ["a word", -1, 0.5]


@dataclass(frozen=True)
class Sequence(Domain):
    """A list or tuple (or 1-D array) whose items all lie in one domain.

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

    def parse(self, text: str, build: Build | None = None) -> tuple[Any, ...]:
        parts = [part.strip() for part in text.strip("[]() ").split(",") if part.strip()]
        value = tuple(self.item.parse(part, build) for part in parts)
        if not self.accepts(value):
            raise ValueError(f"{text!r} is not {self.description}.")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.item.schema(), "minItems": self.min_length}

    def wrong(self) -> list[Any]:
        return ["a word", 3, [object()]]


@dataclass(frozen=True)
class Array(Domain):
    """An array of numbers with ``ndim`` dimensions, given from Python (a form or a command line cannot)."""

    ndim: int

    @property
    def description(self) -> str:  # type: ignore[override]
        return f"an array of numbers with {self.ndim} dimension{'s' if self.ndim != 1 else ''}"

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
        return ["a word", np.zeros((1,) * (self.ndim + 1))]


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

    def parse(self, text: str, build: Build | None = None) -> Any:
        if build is None:
            raise ValueError(f"{text!r} is not {self.description}.")
        return build(text)

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "title": self.description}

    def wrong(self) -> list[Any]:
        return ["a word", 3]


@dataclass(frozen=True, init=False)
class Either(Domain):
    """Any of several domains, the first that parses a text wins.

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


class Optional(Either):
    """A domain or None.

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
        if text.lower() not in {"none", "null"}:
            raise ValueError(f"{text!r} is not None.")

    def schema(self) -> dict[str, Any]:
        return {"type": "null"}
