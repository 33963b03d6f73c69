"""The classes of labels and the number of every row's class: ``np.unique`` without sorting the rows.

Sorting a million labels to find ten classes is most of the time of a fast fit. Integers of a small range are looked up
in a table, strings in a dict; everything else is left to NumPy and scikit-learn, whose results and errors these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["check_classes", "encode_classes"]

WIDE = 256  # a table of so many integers costs nothing; longer ones may have as many as there are rows
SUSPICIOUS_ROWS = 20  # from here on scikit-learn warns of classes that are more than half of the rows

Codes = NDArray[np.intp]


def encode_classes(y: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    """``np.unique(y, return_inverse=True)``: the sorted classes of labels, and the number of each label's class.

    >>> encode_classes(np.array([3, 1, 3]))
    (array([1, 3]), array([1, 0, 1]))
    >>> encode_classes(np.array(["no", "yes", "no"], dtype=object))
    (array(['no', 'yes'], dtype=object), array([0, 1, 0]))
    """
    integers = _integers(y)
    if integers is not None:
        low, distance, present = integers
        found = np.flatnonzero(present)
        classes = (found + low).astype(y.dtype)
        if len(found) == len(present):
            return classes, distance
        number = np.empty(len(present), dtype=np.intp)
        number[found] = np.arange(len(found))
        return classes, number[distance]
    strings = _strings(y)
    if strings is not None:
        rows, names = strings
        numbers = {name: number for number, name in enumerate(sorted(names))}
        codes = np.fromiter(map(numbers.__getitem__, rows), np.intp, len(rows))
        return np.array(list(numbers), dtype=y.dtype), codes
    return np.unique(y, return_inverse=True)


def check_classes(y: Any) -> None:
    """scikit-learn's ``check_classification_targets``: refuses real numbers, warns of almost as many classes as rows.

    Labels of bytes are classes here, as they are for scikit-learn's trees; objects that are none are named.
    """
    count = _count(y)
    if count is None:
        _refuse_objects(y)
    if count is None or (len(y) > SUSPICIOUS_ROWS and count > len(y) / 2):
        from sklearn.utils.multiclass import check_classification_targets  # late: metrics import without scikit-learn

        check_classification_targets(y)


def _refuse_objects(y: Any) -> None:
    """One sentence on labels that are objects of several types, or of one that is neither strings nor numbers."""
    if not isinstance(y, np.ndarray) or y.dtype.kind != "O" or y.ndim != 1:
        return
    kinds = dict.fromkeys(type(label).__name__ for label in y.tolist())
    allowed = "labels must be all strings, or an array of integers or booleans"
    if len(kinds) > 1 and isinstance(y[0], str) and not all(isinstance(label, str) for label in y.tolist()):
        raise TypeError(f"y mixes labels of the types {', '.join(kinds)}; {allowed}.")
    if kinds and not isinstance(y[0], Sequence):  # lists are another mistake, which scikit-learn knows
        raise ValueError(f"Unknown label type: unknown. y holds objects of type {', '.join(kinds)}; {allowed}.")


def _count(y: Any) -> int | None:
    """How many classes labels have, where that can be seen without sorting."""
    if not isinstance(y, np.ndarray):
        return None
    integers = _integers(y)
    if integers is not None:
        return int(np.count_nonzero(integers[2]))
    strings = _strings(y)
    return None if strings is None else len(strings[1])


def _integers(y: NDArray[Any]) -> tuple[int, Codes, NDArray[np.bool_]] | None:
    """The least label, how far each is above it, and which distances there are, if labels are integers (floats too) of
    a small range."""
    if y.ndim != 1 or not len(y) or y.dtype.kind not in "biuf":
        return None
    low, high = y.min(), y.max()
    width = float(high) - float(low)
    if not width < max(WIDE, len(y)) or not abs(float(low)) < 2**53:  # also NaN and infinity
        return None
    if y.dtype.kind == "f":
        whole = y.astype(np.intp)
        if not (whole == y).all():
            return None
        y = whole
    distance = np.subtract(y, int(low), dtype=np.intp, casting="unsafe")
    present = np.zeros(int(width) + 1, dtype=bool)
    present[distance] = True
    return int(low), distance, present


def _strings(y: NDArray[Any]) -> tuple[list[Any], set[Any]] | None:
    """The labels and the different ones among them, if all are strings or all are bytes."""
    if y.ndim != 1 or not len(y) or y.dtype.kind not in "OUS":
        return None
    rows = y.tolist()
    try:
        names = set(rows)
    except TypeError:  # lists, for example
        return None
    kinds = set(map(type, names))
    return (rows, names) if kinds in ({str}, {bytes}) else None
