"""The domain of a part that is chosen by its name or given as an object with parameters of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.domains.base import Build
from margin.core.domains.values import Choice

__all__ = ["Named"]


@dataclass(frozen=True, init=False)
class Named(Choice):
    """One of ``names``, or an object of class ``kind`` whose own parameters are valid; ``searched`` are the names that
    a search tries (none: it leaves the parameter alone).

    >>> from margin.core.parameters import Declared, parameter
    >>> from margin.core.domains import Number
    >>> class Slope(Declared):
    ...     size: float = parameter(1.0, Number(above=0), "Slope.")
    >>> domain = Named(Slope, ["flat", "steep"])
    >>> [domain.accepts(value) for value in ("flat", Slope(2.0), Slope(-1.0), "other", Slope)]
    [True, True, False, False, False]
    >>> domain.description
    "one of 'flat', 'steep' or a valid Slope"
    """

    kind: type
    searched: tuple[str, ...]

    def __init__(self, kind: type, names: Iterable[str], searched: Iterable[str] = ()):
        super().__init__(*names, search=bool(searched))
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "searched", tuple(searched))

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, self.kind):
            return super().accepts(value)
        from margin.core.parameters import InvalidParameter, check_parameters

        try:
            check_parameters(value)
        except InvalidParameter:
            return False
        return True

    @property
    def description(self) -> str:  # type: ignore[override]
        return f"{super().description} or a valid {self.kind.__name__}"

    def type_text(self) -> str:
        return f"{super().type_text()} or {self.kind.__name__}"

    def parse(self, text: str, build: Build | None = None) -> Any:
        try:
            return super().parse(text, build)
        except ValueError:
            raise ValueError(f"{text!r} is not {super().description}.") from None

    def draw(self, rng: np.random.Generator) -> Any:
        return self.searched[int(rng.integers(len(self.searched)))]

    def suggest(self, trial: Any, name: str) -> Any:
        return self.searched[trial.suggest_categorical(name, tuple(range(len(self.searched))))]
