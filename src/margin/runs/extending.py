"""A finished run that goes on: the same fit with a larger ``max_iter``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from margin.runs.folder import Run, RunError
from margin.runs.identity import fingerprint

__all__ = ["LENGTH", "lengthen"]

LENGTH = "max_iter"


def lengthen(folder: str | Path, model: Any, identity: Mapping[str, Any], params: Mapping[str, str]) -> Path:
    """Where ``folder`` holds the fit of ``model`` with a smaller max_iter, note that it goes on; the folder.

    Nothing else may differ. A model that would have taken another course from its first step on, because something is
    laid out over max_iter, is refused with what that is.
    """
    if not Run.is_one(folder):
        return Path(folder)
    run = Run.existing(folder)
    name = _length_name(model)
    before = _shorter(run.manifest, identity, model, name)
    if before is None:
        return Path(folder)
    estimator, now = _last(model), model.get_params()[name]
    if not hasattr(estimator, "_depends_on_length"):
        return Path(folder)
    if reason := estimator._depends_on_length():
        raise RunError(
            f"{folder} holds this fit with {LENGTH}={before}, and it cannot go on to {now}: {reason}, so a longer fit"
            " takes another course from its first step on; choose another folder."
        )
    with run.lock():
        run.update(identity=dict(identity), params=dict(params), status="interrupted")
    return Path(folder)


def _shorter(manifest: Mapping[str, Any], identity: Mapping[str, Any], model: Any, name: str) -> int | None:
    """The smaller max_iter of an otherwise equal fit that the manifest describes."""
    from sklearn.base import clone

    known = manifest["identity"]
    others = {key for key in {**known, **identity} if known.get(key) != identity.get(key)}
    params = manifest.get("params", {})
    text = str(params.get(name, params.get(LENGTH, ""))) if isinstance(params, Mapping) else ""
    now = model.get_params().get(name)
    if others != {"fingerprint"} or not text.isdecimal() or not isinstance(now, int) or not int(text) < now:
        return None
    shorter = clone(model).set_params(**{name: int(text)})
    return int(text) if fingerprint(shorter) == known["fingerprint"] else None


def _length_name(model: Any) -> str:
    steps = getattr(model, "steps", None)
    return f"{steps[-1][0]}__{LENGTH}" if isinstance(steps, list) else LENGTH


def _last(model: Any) -> Any:
    steps = getattr(model, "steps", None)
    return steps[-1][1] if isinstance(steps, list) else model
