"""The shell command that trains what a stage shows, where the command line has the same data."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from margin import catalog
from margin.core.parameters import parameters_of, parse_settings
from margin.lab.stages.scene import setting_text

if TYPE_CHECKING:
    from margin.lab.stages.request import PlayRequest

__all__ = ["SETS", "command"]

#: Materials that are sets by name, as the command line writes them; a test compares their bits.
SETS = {
    "moons": "moons:n_samples=160,noise=0.18",
    "spirals": "spirals:n_samples=200,noise=0.03,turns=1.2",
    "circles": "circles:n_samples=160,noise=0.1,factor=0.4",
    "xor": "xor:n_samples=160,noise=0.05",
}


def command(request: PlayRequest) -> str:
    """``margin fit`` that trains the same to its end; "" where points, data or a setting cannot be written in one."""
    known = any(entry.name == request.model for entry in catalog.ENTRIES)
    if not known or request.points or request.data not in SETS or request.scene.options:
        return ""
    settings = _settings(request)
    if settings is None:
        return ""
    source = f"{SETS[request.data]},seed={request.seed}"
    unprepared = ["--no-prepare"] if catalog.entry(request.model).task in ("classification", "regression") else []
    chosen = [part for setting in settings for part in ("--set", setting)]
    seed = ["--seed", str(request.seed)] if "random_state" in parameters_of(request.class_) else []
    return shlex.join(["margin", "fit", request.model, source, *unprepared, *chosen, *seed])


def _settings(request: PlayRequest) -> list[str] | None:
    """Settings of the scene and of the person, name=value; None if one of the scene has no such form."""
    chosen = {text.partition("=")[0] for text in request.settings}
    found = []
    for name, value in request.scene.params.items():
        if name in chosen:
            continue
        text = f"{name}={setting_text(value)}"
        try:
            same = parse_settings(request.class_, [text])[name] == value
        except ValueError:
            return None
        if same is not True:
            return None
        found.append(text)
    return [*found, *request.settings]
