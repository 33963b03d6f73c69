"""The model card of a run, written beside its model."""

from __future__ import annotations

from typing import Any

from margin import catalog
from margin.core.parameters import parameters_of
from margin.runs import Run
from margin.store.container import write_atomically

__all__ = ["CARD", "write_card", "write_winners_card"]

CARD = "model_card.md"


def write_card(run: Run) -> None:
    """Write the card of a fit; one that says the same already is left alone."""
    from margin.report.card import fit_card

    manifest = run.manifest
    usual = parameters_of(catalog.class_of(manifest["identity"]["model"]))
    params = manifest.get("params", {})
    changed = {name: value for name, value in params.items() if name in usual and value != str(usual[name].default)}
    metrics = run.metrics()
    _write(run, fit_card(run.folder, {**manifest, "params_set": changed}, metrics[-1] if metrics else {}))


def write_winners_card(comparison: Any) -> None:
    """Write the card of a comparison's winner."""
    from margin.report.card import comparison_card

    _write(comparison.run, comparison_card(comparison))


def _write(run: Run, text: str) -> None:
    path = run.folder / CARD
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_atomically(path, text.encode())
