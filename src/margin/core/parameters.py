"""What follows from declared parameters: checking them, setting them from words, listing them in a table."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from margin.core.arguments import shown
from margin.core.domains import Build

__all__ = ["InvalidParameter", "check_parameters", "parameter_table", "parse_settings"]


class InvalidParameter(ValueError, TypeError):
    """A parameter is outside its domain; both bases are what scikit-learn's own checks accept."""


def check_parameters(estimator: Any) -> None:
    """Raise one sentence for the first parameter outside its domain."""
    for name, domain in estimator.domains.items():
        value = getattr(estimator, name)
        if not domain.accepts(value):
            owner = type(estimator).__name__
            raise InvalidParameter(f"{owner}: {name} must be {domain.description}; got {shown(value)}.")


def parse_settings(cls: Any, settings: Iterable[str], build: Build | None = None) -> dict[str, Any]:
    """The parameters that ``name=value`` words set on ``cls``."""
    parsed = {}
    for word in settings:
        name, sign, text = word.partition("=")
        if not sign:
            raise ValueError(f"A setting is written name=value; got {word!r}.")
        if name not in cls.domains:
            known = ", ".join(sorted(cls.domains)) or "none"
            raise ValueError(f"{cls.__name__} has no parameter {name!r}; it has {known}.")
        try:
            parsed[name] = cls.domains[name].parse(text, build)
        except ValueError as error:
            raise ValueError(f"{cls.__name__}: {name}: {error}") from None
    return parsed


def parameter_table(cls: Any) -> list[dict[str, Any]]:
    """One row per parameter in the order of the signature: name, default, allowed values, JSON schema."""
    defaults = inspect.signature(cls).parameters
    return [
        {
            "name": name,
            "default": defaults[name].default if name in defaults else None,
            "allowed": domain.description,
            "schema": domain.schema(),
        }
        for name, domain in cls.domains.items()
    ]
