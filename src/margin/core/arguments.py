"""What a pure function accepts: each check gives back the plain form of an argument, or one sentence saying why not.

The sentence names the function (``owner``), the argument and the value. Packages build their own checks (a simplex, a
symmetric matrix, a list of masses) on these.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Floats", "finite", "integer", "numbers", "positive", "real", "refuse_told_twice", "shown"]

Floats = NDArray[np.float64]


def shown(value: Any, limit: int = 60) -> str:
    """A value as an error sentence shows it: its repr, cut where it would fill the screen."""
    try:
        text = repr(value)
    except Exception:  # of a half-made object: the sentence is about it, so it must not end here
        text = f"an object of {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def refuse_told_twice(owner: str, params: Mapping[str, object], told: Collection[str]) -> None:
    """Refuse ``params`` that a folder of weights decides."""
    for name in sorted(params.keys() & told):
        raise ValueError(f"{owner}: {name} is what the folder says; got {shown(params[name])} as well.")


def numbers(owner: str, name: str, value: ArrayLike) -> Floats:
    """Any array of real numbers as float64; NaN passes through; text, dates, complex and ragged lists do not."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufO":
            raise TypeError(array.dtype)
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: {name} must be an array of real numbers; got {shown(value)}.") from None


def finite(owner: str, name: str, value: ArrayLike) -> Floats:
    """The same, every number finite."""
    array = numbers(owner, name, value)
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{owner}: {name} must be finite; got {array[place]} at index {place}.")
    return array


def real(owner: str, name: str, value: Any) -> float:
    """One finite number."""
    array = numbers(owner, name, value)
    if array.ndim or not np.isfinite(array):
        raise ValueError(f"{owner}: {name} must be one finite number; got {shown(value)}.")
    return float(array)


def positive(owner: str, name: str, value: Any) -> float:
    """One finite number above zero."""
    number = real(owner, name, value)
    if number <= 0:
        raise ValueError(f"{owner}: {name} must be a positive number; got {shown(value)}.")
    return number


def integer(owner: str, name: str, value: Any, *, low: int = 0, high: int | None = None) -> int:
    """An integer from ``low`` on (to ``high``); 3.0 is one, True is not."""
    allowed = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}"
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not is_number or value != np.floor(value) or value < low or (high is not None and value > high):
        raise ValueError(f"{owner}: {name} must be {allowed}; got {shown(value)}.")
    return int(value)
