"""A scene: one model on one stage, with data and settings small enough to be watched."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["KINDS", "Made", "StageScene", "setting_text"]

#: The kinds of stage.
KINDS = ("plane", "curve", "landscape", "table", "pictures", "text", "graph", "field", "network")

DRAWABLE = ("adapted", "regions", "clusters", "density", "samples", "path", "axes", "curve")


@dataclass(frozen=True)
class Made:
    """A parameter's value that a function without arguments makes; exported code holds the function's source."""

    make: Callable[[], Any]


@dataclass(frozen=True)
class StageScene:
    """``data`` names sets of :mod:`margin.lab.stages.materials`, of which the first is shown first.

    ``params`` differ from the model's defaults; ``options`` go to its fit; ``view`` names the function that says what
    is seen of the model after a record; ``tables`` are further sets, of many columns each, and come first where
    ``table_first`` says so: what a method does to columns is not seen where there is only one.
    """

    kind: str
    data: tuple[str, ...]
    view: str
    params: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    tables: tuple[str, ...] = ()
    table_first: bool = False

    @property
    def sets(self) -> tuple[str, ...]:
        """All sets that the scene is shown with."""
        return (*self.tables, *self.data) if self.table_first else (*self.data, *self.tables)

    def view_of(self, data: str) -> str:
        """What is seen of the model on a set: of a table of many columns, what each of them does."""
        return "effects" if data in self.tables else self.view

    def drawable(self, data: str) -> bool:
        """Whether the set is points that can be drawn by hand."""
        return self.view_of(data) in DRAWABLE


def setting_text(value: Any) -> str:
    """A setting as it is written after its name: what a form shows, a command says, and a request sends back."""
    if isinstance(value, tuple | list):
        nested = any(isinstance(item, tuple | list) for item in value)
        return json.dumps(value) if nested else ",".join(map(str, value))
    return str(value)
