"""The command that trains the same again, from what a run folder says about its fit."""

from __future__ import annotations

import shlex
from typing import Any

from margin import catalog
from margin.core.parameters import parameters_of

__all__ = ["fit_command"]


def fit_command(manifest: dict[str, Any], folder: str) -> str:
    """``margin fit ...`` with the settings that differ from the defaults; empty for a model that is not of the catalog.

    >>> facts = {"identity": {"model": "ridge", "target": "y"}, "data": "t.csv", "params": {"alpha": "2.0"}}
    >>> fit_command(facts, "runs/a")
    'margin fit ridge t.csv --target y --set alpha=2.0 --out runs/a'
    """
    name, target = manifest["identity"].get("model", ""), manifest["identity"].get("target", "")
    if not any(entry.name == name for entry in catalog.ENTRIES):
        return ""
    parts = ["margin", "fit", name, str(manifest["data"]), *(["--target", target] if target else [])]
    usual = parameters_of(catalog.class_of(name))
    seed = manifest.get("seed", 0)
    for key, value in manifest.get("params", {}).items():
        if key in usual and value != str(usual[key].default) and (key, value) != ("random_state", str(seed)):
            parts += ["--set", f"{key}={value}"]
    return shlex.join([*parts, *(["--seed", str(seed)] if seed else []), "--out", folder])
