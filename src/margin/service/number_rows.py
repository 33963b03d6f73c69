"""Rows of numbers for a model without a data frame around them: pandas costs more than many a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.estimator import Estimator
from margin.service.sources import Source

__all__ = ["as_numbers"]


def as_numbers(model: Any, source: Source) -> Any:
    """The rows for a model: an array where all columns are numbers and have the names and the order of those it knows.

    The frame would hold the same numbers in the same layout, one column behind the other.
    """
    known = tuple(getattr(model, "feature_names_in_", ()))
    if not isinstance(model, Estimator) or source.given is not None or source.table is None or known != source.features:
        return source.X
    if source.needs_preparation:
        return source.X
    return np.stack([source.table.columns[name] for name in known]).T
