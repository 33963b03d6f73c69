"""What every domain can do."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Build", "Domain", "parse_json", "says_none"]

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

    def type_text(self) -> str:
        """The type as a numpydoc entry names it: "int, at least 1" or "{'gini', 'entropy'}"."""
        return self.description

    def schema(self) -> dict[str, Any]:
        """The JSON schema from which a form is made."""
        return {}

    def wrong(self) -> list[Any]:
        """A few values outside the domain, from which tests of the error are made."""
        return [object()]

    def draw(self, rng: np.random.Generator) -> Any:
        """A random value for a search; ``None`` domains (no search range) are not searched."""
        return None

    def suggest(self, trial: Any, name: str) -> Any:
        """A value that ``trial`` proposes for the parameter ``name``; it has the methods of a trial of Optuna.

        Where a domain is not searched, that is None.
        """
        return None

    @property
    def searchable(self) -> bool:
        """Whether the domain declares a range for hyperparameter search."""
        return False


def says_none(text: str) -> bool:
    """Whether a text of the command line stands for None."""
    return text.lower() in {"none", "null"}


def parse_json(domain: Domain, text: str) -> Any:
    """None, or the JSON value that ``text`` is, or else the text itself, if ``domain`` accepts it."""
    if says_none(text):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if not domain.accepts(value):
        raise ValueError(f"{text!r} is not {domain.description}.")
    return value
