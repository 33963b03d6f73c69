"""Columns of words as numbers: a category becomes its place among those that training saw.

A data frame may hold columns of dtype category, string or object, an array of objects strings; trees read numbers. A
missing value (None, NaN, NA) and a word that training did not see become NaN, which trees handle themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.domains import Choice, Domain, Either, Flag, Integer, Optional, Sequence, Text
from margin.trees.columns import categorical_flags

__all__ = ["CATEGORICAL", "FROM_DTYPE", "Words", "learn_words", "read_words"]

FROM_DTYPE = "from_dtype"
CATEGORICAL: Domain = Optional(Either(Choice(FROM_DTYPE), Sequence(Either(Flag(), Integer(low=0), Text()))))

Words = dict[int, list[Any]]  # of every column of words its categories, in the order of their numbers


def learn_words(owner: str, X: Any, given: Any) -> tuple[Any, np.ndarray | None, Words]:
    """``X`` with words as numbers, which columns are categorical (None: ``given`` says it later), and the words.

    ``given`` is what a user says about categorical columns: "from_dtype" takes those of a data frame whose dtype is
    category, or whose values are strings; in an array there are none then.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "color": ["red", None, "blue"]})
    >>> X, categorical, words = learn_words("Tree", frame, "from_dtype")
    >>> X["color"].tolist(), categorical.tolist(), words
    ([1.0, nan, 0.0], [False, True], {1: ['blue', 'red']})
    """
    X = _frame(X)
    if not _is_frame(X):
        if given is None or isinstance(given, str) or not _has_objects(X):  # an array has one dtype for all its columns
            return X, None, {}
        chosen = categorical_flags(owner, given, X.shape[1])
        words = {int(j): _known(X[:, j]) for j in np.flatnonzero(chosen) if _has_strings(X[:, j])}
        return read_words(X, words), chosen, words
    worded = np.array([_is_worded(X.iloc[:, j]) for j in range(X.shape[1])], dtype=bool)
    chosen = worded if isinstance(given, str) else categorical_flags(owner, given, X.shape[1], list(X.columns))
    words = {int(j): _known(X.iloc[:, j].dropna().unique()) for j in np.flatnonzero(chosen & worded)}
    return read_words(X, words), chosen, words


def read_words(X: Any, words: Words) -> Any:
    """``X`` with the columns of ``words`` as numbers; other columns, and ``X`` itself, stay what they are.

    >>> read_words(np.array([["red", 5], ["green", 6]], dtype=object), {0: ["blue", "red"]})
    array([[1.0, 5],
           [nan, 6]], dtype=object)
    """
    X = _frame(X)
    if not words:
        return X
    if _is_frame(X):
        X = X.copy(deep=False)
        for j, known in words.items():
            if j < X.shape[1]:
                places = X.iloc[:, j].map({value: float(k) for k, value in enumerate(known)})
                X.isetitem(j, places.astype("object").to_numpy(dtype=np.float64, na_value=np.nan))
        return X
    X = np.array(X, dtype=object)
    for j, known in words.items():
        if X.ndim == 2 and j < X.shape[1]:  # otherwise the check that follows has something to say
            places = {value: float(k) for k, value in enumerate(known)}
            X[:, j] = [places.get(value, np.nan) for value in X[:, j]]
    return X


def _frame(X: Any) -> Any:
    return X.to_pandas() if hasattr(X, "to_pandas") and not _is_frame(X) else X


def _is_frame(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "columns")


def _has_objects(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUS"


def _is_worded(column: Any) -> bool:
    kind = str(column.dtype)
    return kind == "category" or (
        kind.startswith(("object", "string", "str")) and _has_strings(column.to_numpy(object))
    )


def _has_strings(values: np.ndarray) -> bool:
    return any(isinstance(value, str) for value in values)


def _known(values: Any) -> list[Any]:
    """The distinct values in an order that does not depend on the rows: by type, then by size."""
    found = {value.item() if isinstance(value, np.generic) else value for value in values if not _is_missing(value)}
    return sorted(found, key=lambda value: (type(value).__name__, value))


def _is_missing(value: Any) -> bool:
    # pandas' NA first: it answers a comparison with NA, which is neither true nor false.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value
