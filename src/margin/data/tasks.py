"""The task that a target asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.missing import any_missing

__all__ = ["detect_task"]

#: A response of integers is taken for classes up to this many different values ...
MOST_CLASSES = 20
#: ... each of which occurs, on average, at least this often.
ROWS_PER_CLASS = 5


def detect_task(y: Any) -> str:
    """The task that a target asks for, "classification" or "regression", by this rule.

    Labels that are not numbers, and truth values, are classes. Numbers with a fractional part are a response. Integers
    are classes if there are at most two different ones, or at most ``MOST_CLASSES`` which occur at least
    ``ROWS_PER_CLASS`` times on average; otherwise they are a response.

    >>> detect_task(["yes", "no"]), detect_task([0, 1, 1, 0]), detect_task([180, 190, 210]), detect_task([0.5, 1.5])
    ('classification', 'classification', 'regression', 'regression')
    """
    values = np.asarray(y)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"detect_task: y must be a non-empty list of values; got shape {values.shape}.")
    if any_missing(values.tolist()):
        raise ValueError("detect_task: y must not have missing values.")
    if values.dtype.kind not in "iuf":
        return "classification"
    if not np.all(np.isfinite(values)):
        raise ValueError("detect_task: y must be finite.")
    if np.any(values != np.floor(values)):
        return "regression"
    n_distinct = len(np.unique(values))
    repeats = n_distinct <= MOST_CLASSES and len(values) >= ROWS_PER_CLASS * n_distinct
    return "classification" if n_distinct <= 2 or repeats else "regression"
