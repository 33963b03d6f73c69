"""Single values: numbers, truth values, strings, None, fitted models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.invariants.sizes import Sizes, Stored, Violation

__all__ = ["Anything", "Count", "ModelWith", "NoneOnly", "Real", "StringOf", "TrueOrFalse", "steps_are_named_models"]


@dataclass(frozen=True)
class Real(Stored):
    """A number; ``finite`` where an infinite or missing one would do harm."""

    low: float = -np.inf
    high: float = np.inf
    finite: bool = False

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise Violation(f"{where} must be a number; got {type(value).__name__}")
        if self.finite and not np.isfinite(value):
            raise Violation(f"{where} must be finite; got {value}")
        if value == value and not self.low <= value <= self.high:
            raise Violation(f"{where} must be from {self.low} to {self.high}; got {value}")


@dataclass(frozen=True)
class Count(Stored):
    """An integer; ``size`` names the size that it is."""

    low: int = 0
    size: str = ""
    high: int = 2**63 - 1

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < self.low:
            raise Violation(f"{where} must be an integer of at least {self.low}; got {str(value)[:40]}")
        if value > self.high:
            raise Violation(f"{where} must be at most {self.high}; got {str(value)[:40]}")
        if self.size:
            sizes.agree(self.size, int(value), where)


@dataclass(frozen=True)
class TrueOrFalse(Stored):
    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, bool | np.bool_):
            raise Violation(f"{where} must be True or False; got {type(value).__name__}")


@dataclass(frozen=True)
class StringOf(Stored):
    """A string, one of ``allowed`` if any are named."""

    allowed: tuple[str, ...] = ()

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, str) or (self.allowed and value not in self.allowed):
            raise Violation(f"{where} must be {' or '.join(self.allowed) or 'a string'}; got {str(value)[:40]!r}")


@dataclass(frozen=True)
class NoneOnly(Stored):
    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if value is not None:
            raise Violation(f"{where} must be None; got {type(value).__name__}")


@dataclass(frozen=True)
class Anything(Stored):
    """A value that only Python reads, such as a category."""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        pass


@dataclass(frozen=True)
class ModelWith(Stored):
    """A model, itself checked already, that can do all of ``can``; ``columns`` names the size of its input."""

    can: Sequence[str] = ()
    columns: str = ""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if isinstance(value, type) or not hasattr(value, "get_params"):
            raise Violation(f"{where} must be a model; got {type(value).__name__}")
        for method in self.can:
            if not hasattr(value, method):
                raise Violation(f"{where} is a {type(value).__name__}, which has no {method}")
        if self.columns and hasattr(value, "n_features_in_"):
            sizes.agree(self.columns, int(value.n_features_in_), where)


def steps_are_named_models(model: Mapping[str, Any], _: Sizes) -> None:
    """A check of a :class:`Form`: the ``steps`` of a pipeline."""
    for step in model["steps"]:
        if not (isinstance(step, tuple | list) and len(step) == 2 and isinstance(step[0], str)):
            raise Violation("steps must be pairs of a name and a model")
        if not (step[1] in (None, "passthrough") if isinstance(step[1], str | None) else hasattr(step[1], "fit")):
            raise Violation(f"steps must be pairs of a name and a model; got a {type(step[1]).__name__}")
