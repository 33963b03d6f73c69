"""What every domain can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Build", "Domain"]

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
