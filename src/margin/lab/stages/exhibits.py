"""What is played like a model and is none of the catalog: its class, and the statements of the notes that it shows."""

from __future__ import annotations

from collections.abc import Mapping

from margin.lab.stages.race import OptimizerRace
from margin.notes import atlas

__all__ = ["EXHIBITS", "exhibit_rows", "exhibits_of"]

EXHIBITS: Mapping[str, type] = {"optimizers": OptimizerRace}

#: Modules with what is seen on the stage: rows that cite them are shown by it.
_MODULES = {
    "optimizers": tuple(
        f"margin.optimize.{name}"
        for name in ("conjugate", "descent", "landscapes", "quasi_newton", "rules", "second_order", "trust")
    )
}


def exhibit_rows(name: str) -> list[atlas.Row]:
    """The rows whose code lies in one of the modules of an exhibit."""
    return [row for row in atlas.rows().values() if name in exhibits_of(row)]


def exhibits_of(row: atlas.Row) -> list[str]:
    """The exhibits that show what a row says."""
    homes = {path.rpartition(".")[0] for path in row.code}
    return [name for name, modules in _MODULES.items() if homes & set(modules)]
