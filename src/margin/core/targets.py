"""Targets of regression as numbers: what scikit-learn's own check lets through is found here."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.arguments import shown

__all__ = ["numeric_target"]


def numeric_target(model: Any, y: Any) -> Any:
    """``y`` for scikit-learn's check of a numeric target, objects and strings as float64 and all else as it came.

    That check looks for NaN before it turns objects into numbers, so a None, which becomes one, would be learned from.

    >>> numeric_target("Model", np.array([1, None], dtype=object))
    array([ 1., nan])
    >>> numeric_target("Model", ["3.5", "low"])
    Traceback (most recent call last):
    ValueError: Model: y must be numbers; got 'low'.
    """
    values = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else y
    if getattr(getattr(values, "dtype", None), "kind", "f") not in "OUS":
        return y
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        owner = model if isinstance(model, str) else type(model).__name__
        given = next(value for value in np.asarray(values, dtype=object).flat if not _is_number(value))
        raise ValueError(f"{owner}: y must be numbers; got {shown(given)}.") from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return value is None
    return True
