"""What counts as a missing value, wherever a single value is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["any_missing", "is_missing"]


def is_missing(value: Any) -> bool:
    """Whether ``value`` is None, NaN, NaT or pandas' NA.

    >>> [is_missing(value) for value in (None, float("nan"), "", 0)]
    [True, True, False, False]
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True  # before any comparison: NA compared with itself is NA, neither true nor false
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # a value that cannot be compared, or compares to an array, is there
        return False


def any_missing(values: Sequence[Any]) -> bool:
    """Whether one of ``values`` is missing."""
    try:
        return any(value is None or value != value for value in values)
    except (TypeError, ValueError):  # some value cannot be compared: look at each one carefully
        return any(map(is_missing, values))
