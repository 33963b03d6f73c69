"""Every view by name: what is seen of a model after a record."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from margin.core.strict_json import strict
from margin.lab.stages import curve, drawings, fields, graphs, pictures, plane, race, table, texts
from margin.lab.stages.panels import Panel
from margin.lab.stages.request import PlayRequest
from margin.lab.stages.trees import tree_panels

__all__ = ["MOST_BYTES", "VIEWS", "frame", "frame_text"]

View = Callable[[Any, Any, Any, Any], list[Panel]]
MOST_BYTES = 1_500_000  # of one frame

VIEWS: dict[str, View] = {
    name: getattr(module, name)
    for module in (curve, drawings, fields, graphs, pictures, plane, race, table, texts)
    for name in module.__all__
    if name not in ("layout", "OptimizerRace")
}


def frame(request: PlayRequest, model: Any, X: Any, y: Any, probe: Any = None) -> list[Panel]:
    """The panels of a model on its stage; ``probe`` is what a person holds against it (a drawing, a sentence)."""
    return [*VIEWS[request.view](model, X, y, probe), *tree_panels(model)]


def frame_text(panels: list[Panel]) -> str:
    """Panels as JSON, bounded: a frame that is too large is said to be so."""
    said = json.dumps(strict(panels), allow_nan=False, separators=(",", ":"))
    if len(said) <= MOST_BYTES:
        return said
    return json.dumps([{"panel": "text", "title": "", "lines": [["This model is too large to be drawn."]]}])
