"""Domains of single values: numbers, options, truth values, strings, seeds."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.domains.base import Build, Domain, says_none

__all__ = ["MOST_LAYERS", "Choice", "Flag", "Integer", "Number", "Seed", "Text"]

MOST_LAYERS = 1_000  # of a network: building more takes minutes, and a model file may ask for any number


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
    python_type = "float"

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
        return f"{self.noun} {self._limits()}".rstrip()

    def type_text(self) -> str:
        limits = self._limits()
        return f"{self.python_type}, {limits}" if limits else self.python_type

    def _limits(self) -> str:
        bounds = [("at least", self.low), ("above", self.above), ("at most", self.high), ("below", self.below)]
        return " and ".join(f"{relation} {bound:g}" for relation, bound in bounds if bound is not None)

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
        outside: list[Any] = ["a string", True, math.nan]
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

    def suggest(self, trial: Any, name: str) -> Any:
        return None if self.search is None else trial.suggest_float(name, *map(float, self.search), log=self.log)


@dataclass(frozen=True)
class Integer(Number):
    """An integer.

    >>> Integer(low=1).accepts(3), Integer(low=1).accepts(2.5)
    (True, False)
    """

    noun = "an integer"
    python_type = "int"

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

    def suggest(self, trial: Any, name: str) -> Any:
        return None if self.search is None else trial.suggest_int(name, *map(round, self.search), log=self.log)


@dataclass(frozen=True, init=False)
class Choice(Domain):
    """One of a few named options; with ``search=False`` a search leaves it alone (it changes the way, not the result).

    >>> Choice("rbf", "poly").parse("poly")
    'poly'
    """

    options: tuple[Any, ...]
    search: bool

    def __init__(self, *options: Any, search: bool = True):
        object.__setattr__(self, "options", options)
        object.__setattr__(self, "search", search)

    def accepts(self, value: Any) -> bool:
        # NumPy's scalars count as the Python values they hold: a grid of parameters is often an array.
        plain = value.item() if isinstance(value, np.generic) else value
        return any(type(plain) is type(option) and plain == option for option in self.options)

    @property
    def description(self) -> str:  # type: ignore[override]
        if len(self.options) == 1:
            return repr(self.options[0])
        return "one of " + ", ".join(map(repr, self.options))

    def type_text(self) -> str:
        return "{" + ", ".join(map(repr, self.options)) + "}"

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
        return self.search and len(self.options) > 1

    def draw(self, rng: np.random.Generator) -> Any:
        return self.options[int(rng.integers(len(self.options)))]

    def suggest(self, trial: Any, name: str) -> Any:
        # By position: an option may be a value that no file of a search could hold.
        return self.options[trial.suggest_categorical(name, tuple(range(len(self.options))))]


@dataclass(frozen=True)
class Flag(Domain):
    """True or false.

    >>> Flag().parse("yes")
    True
    """

    description = "True or False"

    def type_text(self) -> str:
        return "bool"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool | np.bool_)

    def parse(self, text: str, build: Build | None = None) -> bool:
        meanings = {
            "true": True,
            "yes": True,
            "1": True,
            "on": True,
            "false": False,
            "no": False,
            "0": False,
            "off": False,
        }
        if text.lower() not in meanings:
            raise ValueError(f"{text!r} is not {self.description}.")
        return meanings[text.lower()]

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def wrong(self) -> list[Any]:
        return ["a string", 2]

    def draw(self, rng: np.random.Generator) -> bool:
        return bool(rng.integers(2))


@dataclass(frozen=True)
class Text(Domain):
    """Any string."""

    description = "a string"

    def type_text(self) -> str:
        return "str"

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
    """The source of randomness: None, an integer, or a NumPy RandomState or Generator."""

    description = "None, an integer at least 0, a numpy RandomState or a numpy Generator"

    def type_text(self) -> str:
        return "int, RandomState, Generator or None"

    def accepts(self, value: Any) -> bool:
        if value is None or isinstance(value, np.random.RandomState | np.random.Generator):
            return True
        return Integer(low=0, high=2**32 - 1).accepts(value)

    def parse(self, text: str, build: Build | None = None) -> int | None:
        return None if says_none(text) else Integer(low=0, high=2**32 - 1).parse(text)

    def schema(self) -> dict[str, Any]:
        return {"type": ["integer", "null"], "minimum": 0}

    def wrong(self) -> list[Any]:
        return ["a string", -1, 0.5]
