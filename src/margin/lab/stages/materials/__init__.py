"""What the stages play with: small sets that a model learns in a second or two.

Each is a function of a seed that needs nothing around it, because the code that the lab exports holds its source: what
runs elsewhere is what ran here. They stand by the kind of stage that shows them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from margin.lab.stages.materials import curves, fields, graphs, landscapes, pictures, plane, tables, texts

__all__ = ["MATERIALS", "material"]

MATERIALS: dict[str, Callable[[int], tuple[Any, Any]]] = {
    name: getattr(module, name)
    for module in (plane, curves, tables, pictures, texts, graphs, fields, landscapes)
    for name in module.__all__
}


def material(name: str) -> Callable[[int], tuple[Any, Any]]:
    """The set called ``name``."""
    if name not in MATERIALS:
        raise KeyError(f"There is no set {name!r} to play with; there are {', '.join(MATERIALS)}.")
    return MATERIALS[name]
