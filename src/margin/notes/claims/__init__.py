"""Claims: one short function per statement of the notes, registered under its atlas id.

``claims/<area>.py`` (or a package ``claims/<area>/`` where one file would be long) holds the claims of an
area, its dashes written as underscores. A claim that draws anything takes a seed and makes all its
generators from it; one without randomness takes nothing. It runs well under a second and returns a
:class:`~margin.core.verdict.Verdict`. ``python -m margin.notes.claims --seeds 5`` runs them with several seeds.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from margin.core.verdict import Verdict

__all__ = ["Check", "claim", "of_area"]

Function = Callable[..., Verdict]


@dataclass(frozen=True)
class Check:
    """A registered claim: called with a seed, whether or not it draws anything."""

    function: Function
    is_random: bool

    def __call__(self, seed: int) -> Verdict:
        return self.function(seed) if self.is_random else self.function()


_registered: dict[str, Check] = {}


def claim(*ids: str) -> Callable[[Function], Function]:
    """Register a check under one atlas id, or under several that are one statement said twice."""

    def register(function: Function) -> Function:
        arguments = list(inspect.signature(function).parameters)
        if arguments not in ([], ["seed"]):
            raise TypeError(f"Claim {function.__name__} takes {arguments}; a claim takes nothing or a seed.")
        for id in ids:
            known = _registered.get(id)
            # The same function may be registered again when its module is reloaded; two functions may not.
            if known is not None and _place(known.function) != _place(function):
                raise ValueError(f"Claim {id!r} is registered by {known.function.__name__} and by {function.__name__}.")
            _registered[id] = Check(function, bool(arguments))
        return function

    return register


def _place(function: Any) -> tuple[str, str]:
    return function.__module__, function.__name__


@cache
def of_area(area: str) -> dict[str, Check]:
    """The claims of one area by atlas id; imports only that area's modules."""
    name = f"{__name__}.{area.replace('-', '_')}"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            return {}
        raise
    modules = {name}
    for part in pkgutil.iter_modules(getattr(module, "__path__", [])):
        modules.add(importlib.import_module(f"{name}.{part.name}").__name__)
    return {id: check for id, check in _registered.items() if check.function.__module__ in modules}
