"""The five kinds a column can have, and how values of each kind are stored.

=========  ==========================================  ==============================  ========
kind       what it holds                               array                           missing
=========  ==========================================  ==============================  ========
number     measurements and counts                     float64                         NaN
flag       true or false                               object (True, False)            None
category   labels from a list that repeats             object (str)                    None
text       free strings, names, identifiers              object (str)                    None
date       a day or a moment, without time zone        datetime64[us]                  NaT
=========  ==========================================  ==============================  ========

There is no kind for integers: float64 holds every integer up to 2**53 exactly, and longer ones are
identifiers, which are read as category or text. Labels are a *category* when they repeat and *text* when they
do not: at most ``FEW`` different values, or each value on average at least twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.missing import is_missing

__all__ = ["EXACT", "FEW", "KINDS", "label_kind", "missing_mask", "store_values"]

KINDS = ("number", "flag", "category", "text", "date")

#: Up to this many different values are labels however few rows there are.
FEW = 20

#: Below this, float64 tells every two integers apart.
EXACT = 2.0**53


def label_kind(n_distinct: int, n_present: int) -> str:
    """``category`` when values repeat, ``text`` when they do not.

    >>> label_kind(3, 1000), label_kind(891, 891)
    ('category', 'text')
    """
    return "category" if n_distinct <= FEW or 2 * n_distinct <= n_present else "text"


def missing_mask(values: np.ndarray) -> np.ndarray:
    """Which entries of a stored column are missing, as booleans."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "M":
        return np.isnat(values)
    return np.array([value is None for value in values.tolist()], dtype=bool)


def store_values(values: Any, kind: str | None = None, *, name: str = "values") -> tuple[str, np.ndarray]:
    """The kind of ``values`` (guessed from the array's type unless given) and the read-only array that stores them.

    >>> store_values([1, 2, 3])
    ('number', array([1., 2., 3.]))
    >>> store_values(["a", None, "b"])
    ('category', array(['a', None, 'b'], dtype=object))
    """
    array = values if isinstance(values, np.ndarray) else _as_array(values)
    if array.ndim != 1:
        raise ValueError(f"Table: column {name!r} must have one dimension; got shape {array.shape}.")
    kind = kind or _guess(array)
    if kind not in KINDS:
        raise ValueError(f"Table: the kind of column {name!r} must be one of {', '.join(KINDS)}; got {kind!r}.")
    try:
        return kind, _lock(_STORE[kind](array))
    except (TypeError, ValueError) as problem:
        raise ValueError(f"Table: column {name!r} cannot be stored as {kind} ({problem}).") from None


def _as_array(values: Any) -> np.ndarray:
    """A list with strings or None stays a list of objects; NumPy would turn ``["a", 1]`` into two strings."""
    values = list(values)
    if any(value is None or isinstance(value, str) for value in values):
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.asarray(values)


def _guess(array: np.ndarray) -> str:
    if array.dtype.kind in "iu" and array.size and max(abs(int(array.min())), abs(int(array.max()))) >= EXACT:
        return label_kind(len(np.unique(array)), len(array))
    if array.dtype.kind in "iuf":
        return "number"
    if array.dtype.kind == "b":
        return "flag"
    if array.dtype.kind == "M":
        return "date"
    present = [value for value in array.tolist() if not is_missing(value)]
    if all(isinstance(value, bool | np.bool_) for value in present) and present:
        return "flag"
    if all(isinstance(value, int | float | np.number) for value in present) and not any(map(_is_long, present)):
        return "number"
    return label_kind(len(set(map(str, present))), len(present))


def _is_long(value: Any) -> bool:
    """An integer that float64 might confuse with its neighbor."""
    return isinstance(value, int | np.integer) and abs(int(value)) >= EXACT


def _numbers(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "O":
        array = np.array([np.nan if is_missing(value) else value for value in array.tolist()], dtype=np.float64)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"its type is {array.dtype}")
    return array.astype(np.float64, copy=False)


def _flags(array: np.ndarray) -> np.ndarray:
    flags = np.empty(len(array), dtype=object)
    for row, value in enumerate(array.tolist()):
        if is_missing(value):
            flags[row] = None
        elif value in (True, False):
            flags[row] = bool(value)
        else:
            raise ValueError(f"{value!r} is neither true nor false")
    return flags


def _labels(array: np.ndarray) -> np.ndarray:
    labels = np.empty(len(array), dtype=object)
    labels[:] = [None if is_missing(value) else _label(value) for value in array.tolist()]
    return labels


def _label(value: Any) -> str:
    """Integers lose their decimal point, so that the label of 3.0 is ``"3"``."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _dates(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "O":
        array = np.array([None if is_missing(value) else value for value in array.tolist()], dtype="datetime64[us]")
    if array.dtype.kind != "M":
        raise TypeError(f"its type is {array.dtype}")
    return array.astype("datetime64[us]", copy=False)


_STORE = {"number": _numbers, "flag": _flags, "category": _labels, "text": _labels, "date": _dates}


def _lock(array: np.ndarray) -> np.ndarray:
    """A read-only array nobody else can write to: itself if it already is one, else a copy."""
    base = array.base
    shared = base is not None and not (isinstance(base, np.ndarray) and not base.flags.writeable)
    if array.flags.writeable or shared:
        array = array.copy()
        array.setflags(write=False)
    return array
