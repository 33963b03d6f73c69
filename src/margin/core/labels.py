"""Which rows have a label: the rule of semi-supervised models, on tables and on graphs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from margin.core.arguments import shown
from margin.core.classes import check_classes, encode_classes

__all__ = ["UNKNOWN", "coded_labels", "has_label"]

UNKNOWN = -1  # the code of a row without a label


def has_label(y: np.ndarray, *, may_be_class: bool = True) -> np.ndarray:
    """Which entries are labels: not None, not NaN, and not -1 unless -1 and one other number are the two classes.

    Without ``may_be_class`` -1 is never a label, as in scikit-learn.

    >>> has_label(np.array([0, 1, -1])), has_label(np.array([-1, 1, 1])), has_label(np.array(["a", None], dtype=object))
    (array([ True,  True, False]), array([ True,  True,  True]), array([ True, False]))
    """
    if y.dtype.kind == "O":
        known = np.array([value is not None and value == value for value in y.tolist()], dtype=bool)
        minus = np.array([not isinstance(value, str) and value == UNKNOWN for value in y.tolist()], dtype=bool)
    else:
        known = ~np.isnan(y) if y.dtype.kind == "f" else np.ones(len(y), dtype=bool)
        minus = y == UNKNOWN if y.dtype.kind in "if" else np.zeros(len(y), dtype=bool)
    others = set(y[known & ~minus].tolist())
    is_class = may_be_class and len(others) <= 1 and bool(known.all())
    return known if is_class else known & ~minus


def coded_labels(
    owner: str, X: np.ndarray, y: Any, *, may_be_class: bool = True, least: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """At least ``least`` classes, and for every row the position of its class among them or ``UNKNOWN``."""
    if y is None:
        raise ValueError(f"{owner}: requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "O" and not all(isinstance(value, Hashable) for value in y.tolist()):
        raise ValueError(f"{owner}: y must have one label for each row; got {shown(y[0])}.")
    check_consistent_length(X, y)
    known = has_label(y, may_be_class=may_be_class)
    if not known.any():
        raise ValueError(f"{owner}: y must have a label for at least one row; none of {len(y)} has.")
    labels = np.array(y[known].tolist()) if y.dtype.kind == "O" else y[known]
    check_classes(labels)
    classes, codes = encode_classes(labels)
    if len(classes) < least:
        raise ValueError(f"{owner}: y must have labels of at least 2 classes; got one class, {classes[0]!r}.")
    all_codes = np.full(len(y), UNKNOWN)
    all_codes[known] = codes
    return classes, all_codes
