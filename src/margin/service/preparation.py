"""Preprocessing in front of a model, fitted together with it and so on training rows only."""

from __future__ import annotations

from typing import Any

from margin.service.sources import Source

__all__ = ["behind", "preparation"]


def preparation(source: Source) -> Any:
    """An unfitted preprocessor for the columns of ``source``."""
    from margin.data import preprocessor

    return preprocessor(source.X if source.table is None else source.table)


def behind(prepare: Any, estimator: Any) -> Any:
    """The estimator behind its own copy of ``prepare``."""
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    return Pipeline([("prepare", clone(prepare)), ("model", estimator)])
