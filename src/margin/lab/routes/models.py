"""Models: what there is, which stage each stands on, its parameters as a form needs them."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter

from margin import catalog
from margin.core.parameters import parameter_table
from margin.lab.stages.exhibits import EXHIBITS, exhibit_rows
from margin.lab.stages.presets import PRESETS
from margin.lab.stages.readings import reading
from margin.lab.stages.scene import Made, setting_text
from margin.lab.stages.scenes import SCENES, scene_of
from margin.report.mathml import mathml
from margin.service.model_facts import model_facts, row_facts
from margin.service.models import list_models

router = APIRouter(tags=["models"])


@router.get("/models")
def models() -> list[dict[str, Any]]:
    """Every model of the catalog, with the kind of its stage."""
    listed = [{**model, "kind": scene_of(model["name"]).kind} for model in list_models(rows=False)]
    shown = [
        {"name": name, "family": "optimize", "task": "minimization", "kind": SCENES[name].kind} for name in EXHIBITS
    ]
    return [*listed, *shown]


@router.get("/models/{name}")
def model(name: str) -> dict[str, Any]:
    """Summary, parameters with their JSON schema, rows of the notes, and the scene."""
    if name in EXHIBITS:
        return _on_stage(exhibit_facts(name))
    return _on_stage(model_facts(catalog.entry(name)))


@router.get("/presets")
def presets() -> list[dict[str, Any]]:
    """Start screens that teach."""
    return [{**vars(preset), "kind": scene_of(preset.model).kind} for preset in PRESETS]


def exhibit_facts(name: str) -> dict[str, Any]:
    """What a form and a page need of something that is no model of the catalog."""
    cls = EXHIBITS[name]
    parameters = [{**row, "shown": repr(row["default"])} for row in parameter_table(cls)]
    summary = (cls.__doc__ or "").partition("\n\n")[0]
    return {
        "what": "exhibit",
        "name": name,
        "task": "minimization",
        "summary": summary,
        "parameters": parameters,
        "rows": [row_facts(row) for row in exhibit_rows(name)],
    }


def _on_stage(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts with what the page needs of the stage; ``looks`` say for some sets what is worth looking at."""
    name, scene = facts["name"], scene_of(facts["name"])
    shown = {k: setting_text(v) for k, v in scene.params.items() if not callable(v) and not isinstance(v, Made | dict)}
    equations = {tex: mathml(tex, display=False) for tex in re.findall(r":math:`([^`]+)`", facts["summary"] or "")}
    attributes = [row["name"] for row in facts.get("attributes", ())]
    stage = {
        "kind": scene.kind,
        "data": scene.sets,
        "view": {data: scene.view_of(data) for data in scene.sets},
        "params": shown,
        "fixed": [name for name in scene.params if name not in shown],
        "drawable": [data for data in scene.sets if scene.drawable(data)],
        "reading": {data: reading(scene.view_of(data), attributes, data) for data in scene.sets},
        "looks": {preset.data: preset.sentence for preset in PRESETS if preset.model == name},
    }
    return {**facts, "scene": stage, "equations": equations}
