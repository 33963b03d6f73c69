"""Categorical columns as codes: a category becomes its position among those that training saw.

There is one meaning of a category that training did not see, here and in everything built on it: it is missing, as
None, NaN and NA are; a tree sends it where its missing values go, and a network for tables reads no category.

Strings are encoded before a table is checked (the check wants numbers), categories that are numbers after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.domains import Choice, Domain, Either, Flag, Integer, Optional, Sequence, Text
from margin.core.missing import is_missing

__all__ = [
    "CATEGORICAL",
    "FROM_DTYPE",
    "MAX_CATEGORIES",
    "Categories",
    "categorical_flags",
    "encode_numbers",
    "encode_strings",
    "find_categories",
    "find_string_categories",
    "string_categories",
    "unknown_column",
]

FROM_DTYPE = "from_dtype"
CATEGORICAL: Domain = Optional(Either(Choice(FROM_DTYPE), Sequence(Either(Flag(), Integer(low=0), Text()))))
MAX_CATEGORIES = 255  # a set of categories is 32 bytes, and one code means missing

# Of every categorical column its categories in the order of their codes: a list if the column held strings, otherwise
# an ascending float64 array.
Categories = dict[int, Any]


def categorical_flags(owner: str, given: Any, columns: int, names: Any = None) -> np.ndarray:
    """One flag per column from a list of flags, of numbers or of names; none for None and for "from_dtype".

    >>> categorical_flags("Tree", ["color"], 3, ["size", "color", "age"])
    array([False,  True, False])
    """
    flags = np.zeros(columns, dtype=bool)
    if given is None or isinstance(given, str):
        return flags
    given = list(given)
    if given and all(isinstance(item, bool | np.bool_) for item in given):
        if len(given) != columns:
            raise ValueError(f"{owner}: categorical_features has {len(given)} flags; X has {columns} columns.")
        return np.array(given, dtype=bool)
    known = [] if names is None else list(names)
    for item in given:
        if isinstance(item, str) and item not in known:
            raise ValueError(f"{owner}: categorical_features names {item!r}, {unknown_column(names)}.")
        position = known.index(item) if isinstance(item, str) else int(item)
        if not 0 <= position < columns:
            raise ValueError(f"{owner}: categorical_features has column {position}; X has {columns} columns.")
        flags[position] = True
    return flags


def unknown_column(names: Any) -> str:
    """Why a name is none of a column: there are others, or none."""
    return "but the columns of X have no names" if names is None else "which is not a column of X"


def find_string_categories(owner: str, X: Any, given: Any) -> tuple[Any, np.ndarray | None, Categories]:
    """``X`` with strings as codes, which columns are categorical (None: ``given`` says it later), and the strings.

    ``given`` is what a user says about categorical columns: "from_dtype" takes those of a data frame whose dtype is
    category, or whose values are strings; in an array there are none then.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "color": ["red", None, "blue"]})
    >>> X, categorical, names = find_string_categories("Tree", frame, "from_dtype")
    >>> X["color"].tolist(), categorical.tolist(), names
    ([1.0, nan, 0.0], [False, True], {1: ['blue', 'red']})
    """
    X = _frame(X)
    if not _is_frame(X):
        if given is None or isinstance(given, str) or not _has_objects(X):  # an array has one dtype for all its columns
            return X, None, {}
        chosen = categorical_flags(owner, given, X.shape[1])
        categories = {int(j): _sort_distinct(X[:, j]) for j in np.flatnonzero(chosen) if _has_strings(X[:, j])}
        return encode_strings(X, categories), chosen, categories
    holds_strings = np.array([_holds_strings(X.iloc[:, j]) for j in range(X.shape[1])], dtype=bool)
    chosen = holds_strings if isinstance(given, str) else categorical_flags(owner, given, X.shape[1], list(X.columns))
    categories = {
        int(j): _sort_distinct(X.iloc[:, j].dropna().unique()) for j in np.flatnonzero(chosen & holds_strings)
    }
    return encode_strings(X, categories), chosen, categories


def encode_strings(X: Any, categories: Mapping[int, Any]) -> Any:
    """``X`` with columns of strings as codes; other columns, and ``X`` itself, stay what they are.

    >>> encode_strings(np.array([["red", 5], ["green", 6]], dtype=object), {0: ["blue", "red"]})
    array([[1.0, 5],
           [nan, 6]], dtype=object)
    """
    X, strings = _frame(X), string_categories(categories)
    if not strings:
        return X
    if _is_frame(X):
        X = X.copy(deep=False)
        for j, known in strings.items():
            if j < X.shape[1]:
                codes = X.iloc[:, j].map({value: float(k) for k, value in enumerate(known)})
                X.isetitem(j, codes.astype("object").to_numpy(dtype=np.float64, na_value=np.nan))
        return X
    X = np.array(X, dtype=object)
    for j, known in strings.items():
        if X.ndim == 2 and j < X.shape[1]:  # otherwise the check that follows has something to say
            code = {value: float(k) for k, value in enumerate(known)}
            X[:, j] = [code.get(value, np.nan) for value in X[:, j]]
    return X


def string_categories(categories: Mapping[int, Any]) -> dict[int, list[Any]]:
    """Those of ``categories`` that belong to columns of strings."""
    return {column: known for column, known in categories.items() if isinstance(known, list)}


def find_categories(
    owner: str, X: np.ndarray, categorical: np.ndarray, strings: Mapping[int, Any], names: Any = None
) -> Categories:
    """The categories of every categorical column: ``strings`` where it held some, else its distinct known numbers.

    ``names`` of the columns, if there are any, are what an error calls them.
    """
    categories: Categories = {}
    for column in np.flatnonzero(categorical).tolist():
        known = strings.get(column)
        if known is None:
            known = np.unique(X[:, column])
            known = known[~np.isnan(known)]
        if len(known) > MAX_CATEGORIES:
            called = column if names is None else repr(str(names[column]))
            raise ValueError(
                f"{owner}: categorical column {called} has {len(known)} categories; at most {MAX_CATEGORIES} are"
                " possible: merge the rarest, as margin.data.preprocessor does."
            )
        categories[column] = known
    return categories


def encode_numbers(X: np.ndarray, categories: Mapping[int, Any]) -> np.ndarray:
    """``X`` with the numbers of every categorical column as codes; columns of strings hold codes already.

    >>> encode_numbers(np.array([[7.0, 1], [3, 2], [5, 3]]), {0: np.array([5.0, 7])})
    array([[ 1.,  1.],
           [nan,  2.],
           [ 0.,  3.]])
    """
    numeric = {column: known for column, known in categories.items() if not isinstance(known, list)}
    if not numeric:
        return X
    X = np.array(X, dtype=np.float64)
    for column, known in numeric.items():
        if not len(known):  # the column was missing in every training row
            X[:, column] = np.nan
            continue
        x = np.ascontiguousarray(X[:, column])
        if known[0] == 0 and known[-1] == len(known) - 1 and np.array_equal(known, np.arange(len(known))):
            is_known = (x >= 0) & (x < len(known)) & (x == np.floor(x))  # the numbers are codes: nothing to look up
            X[:, column] = np.where(is_known, x + 0.0, np.nan)  # 0.0 for -0.0
            continue
        code = np.minimum(np.searchsorted(known, x), len(known) - 1)
        X[:, column] = np.where(known[code] == x, code, np.nan)
    return X


def _frame(X: Any) -> Any:
    return X.to_pandas() if hasattr(X, "to_pandas") and not _is_frame(X) else X


def _is_frame(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "columns")


def _has_objects(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUS"


def _holds_strings(column: Any) -> bool:
    kind = str(column.dtype)
    return kind == "category" or (
        kind.startswith(("object", "string", "str")) and _has_strings(column.to_numpy(object))
    )


def _has_strings(values: np.ndarray) -> bool:
    return any(isinstance(value, str) for value in values)


def _sort_distinct(values: Any) -> list[Any]:
    """The distinct values in an order that does not depend on the rows: by type, then by size."""
    distinct = {value.item() if isinstance(value, np.generic) else value for value in values if not is_missing(value)}
    return sorted(distinct, key=lambda value: (type(value).__name__, value))
