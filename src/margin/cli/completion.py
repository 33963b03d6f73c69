"""What a shell offers while a command is typed: names of models, metrics and data."""

from __future__ import annotations

__all__ = ["data_names", "metric_names", "model_names", "shown_names"]


def model_names(incomplete: str) -> list[str]:
    """Models of the catalog."""
    from margin import catalog

    return [entry.name for entry in catalog.ENTRIES if entry.name.startswith(incomplete)]


def metric_names(incomplete: str) -> list[str]:
    """Metrics that can decide a comparison."""
    from margin.metrics import REGISTRY

    return [name for name in REGISTRY if name.startswith(incomplete)]


def data_names(incomplete: str) -> list[str]:
    """Named data sets; where none begins so, the shell offers files."""
    from margin import data

    return [name for name in data.names() if name.startswith(incomplete)]


def shown_names(incomplete: str) -> list[str]:
    """All that ``margin show`` knows by name: models, rows of the notes, experiments."""
    from margin.notes import atlas, experiments

    others = (name for name in (*atlas.rows(), *experiments.names()) if name.startswith(incomplete))
    return [*model_names(incomplete), *others]
