"""Checks of what comes in: each gives back a float array, or one sentence that names function, argument and value."""

from __future__ import annotations

from numpy.typing import ArrayLike

from margin.core.arguments import Floats, finite, integer, positive

__all__ = ["Floats", "finite", "integer", "matrix", "open_unit", "pair", "positive", "vector"]


def vector(caller: str, name: str, values: ArrayLike, *, least: int = 1) -> Floats:
    """A finite one-dimensional array with at least ``least`` entries."""
    array = finite(caller, name, values)
    if array.ndim != 1:
        raise ValueError(f"{caller}: {name} must be one-dimensional; got shape {array.shape}.")
    if len(array) < least:
        raise ValueError(f"{caller}: {name} needs at least {least} values; got {len(array)}.")
    return array


def matrix(caller: str, name: str, values: ArrayLike, *, least: int = 1) -> Floats:
    """A finite two-dimensional array with at least ``least`` rows and one column."""
    array = finite(caller, name, values)
    if array.ndim != 2 or array.shape[1] < 1:
        raise ValueError(f"{caller}: {name} must be a matrix with at least one column; got shape {array.shape}.")
    if len(array) < least:
        raise ValueError(f"{caller}: {name} needs at least {least} rows; got {len(array)}.")
    return array


def pair(caller: str, x: ArrayLike, y: ArrayLike, *, names: str = "x and y", least: int = 2) -> tuple[Floats, Floats]:
    """Two finite vectors of one length."""
    first, second = names.split(" and ")
    a, b = vector(caller, first, x, least=least), vector(caller, second, y, least=least)
    if len(a) != len(b):
        raise ValueError(f"{caller}: {names} must have one length; got {len(a)} and {len(b)}.")
    return a, b


def open_unit(caller: str, name: str, value: float) -> float:
    """A level strictly between 0 and 1."""
    if not 0 < value < 1:
        raise ValueError(f"{caller}: {name} must lie strictly between 0 and 1; got {value!r}.")
    return float(value)
