"""Claims: one short function per statement of the notes, registered under its atlas id.

``claims/<area>.py`` (or a package ``claims/<area>/`` where one file would be long) holds the claims of an
area, its dashes written as underscores. A claim takes no arguments, seeds its own generators, runs well
under a second and returns a :class:`~margin.core.verdict.Verdict`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache

from margin.core.verdict import Verdict

__all__ = ["Check", "claim", "of_area"]

Check = Callable[[], Verdict]

_registered: dict[str, Check] = {}


def claim(*ids: str) -> Callable[[Check], Check]:
    """Register a check under one atlas id, or under several that are one statement said twice."""

    def register(check: Check) -> Check:
        for id in ids:
            known = _registered.get(id)
            # The same function may be registered again when its module is reloaded; two functions may not.
            if known is not None and (known.__module__, known.__name__) != (check.__module__, check.__name__):
                raise ValueError(f"Claim {id!r} is registered by {known.__name__} and by {check.__name__}.")
            _registered[id] = check
        return check

    return register


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
    return {id: check for id, check in _registered.items() if check.__module__ in modules}
