"""Columns of numbers and of categories: a table taken apart, and one float64 matrix put together from it.

A column is float64 (numbers, NaN where a value is missing) or object (categories, None where missing). In the matrix
a category is its position among the categories that training saw. Missing are None, NaN, pandas' NA and the mark "?".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from margin.core.arguments import shown
from margin.core.missing import is_missing

__all__ = [
    "UNSEEN",
    "Categories",
    "column_number",
    "columns_of",
    "encode",
    "encode_columns",
    "is_empty",
    "sort_categories",
]

UNSEEN = -1.0  # the code of a category that training did not meet
MISSING_MARK = "?"

Categories = np.ndarray | list[Any]  # sorted numbers, or a list when strings are among them


def is_empty(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, pandas' NA or NaT, or the mark "?".

    >>> [is_empty(cell) for cell in (None, float("nan"), "?", "sunny", 0)]
    [True, True, True, False, False]
    """
    return value == MISSING_MARK if isinstance(value, str) else is_missing(value)


def columns_of(owner: Any, X: Any, *, reset: bool) -> list[np.ndarray]:
    """The columns of a data frame, a :class:`margin.data.Table`, an array or nested lists.

    ``owner`` is the estimator; with ``reset`` it remembers the number and names of the columns, without it they must
    be the remembered ones.
    """
    name = type(owner).__name__
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        validate_data(owner, X, reset=reset, skip_check_array=True)
        if not X.shape[0] or not X.shape[1]:
            raise ValueError(f"{name}: X must have at least one row and one column; got shape {X.shape}.")
        columns = [_frame_column(name, X.iloc[:, j]) for j in range(X.shape[1])]
    else:
        X = validate_data(owner, _cells(X), reset=reset, dtype=None, ensure_all_finite=False)
        columns = [_column(name, X[:, j]) for j in range(X.shape[1])]
    for j, column in enumerate(columns):
        if column.dtype != object and np.isinf(column).any():
            raise ValueError(f"{name}: X must be finite or missing; got an infinity (inf) in column {j}.")
    return columns


def sort_categories(column: np.ndarray) -> Categories:
    """The categories of a column in their order: numbers by size, else by type and then by value.

    >>> sort_categories(np.array(["no", None, "yes", "no"], dtype=object))
    ['no', 'yes']
    """
    if column.dtype != object:
        return np.unique(column[~np.isnan(column)])
    distinct = {value for value in column.tolist() if value is not None}
    return sorted(distinct, key=lambda value: (isinstance(value, str), value))


def encode(column: np.ndarray, known: Categories) -> np.ndarray:
    """Every category as its position in ``known``; NaN where missing, :data:`UNSEEN` where not known.

    >>> encode(np.array(["yes", None, "maybe"], dtype=object), ["no", "yes"])
    array([ 1., nan, -1.])
    """
    if column.dtype != object and isinstance(known, np.ndarray):
        position = np.minimum(np.searchsorted(known, column), max(len(known) - 1, 0))
        met = known[position] == column if len(known) else np.zeros(len(column), dtype=bool)
        return np.where(np.isnan(column), np.nan, np.where(met, position, UNSEEN))
    positions = {value: float(position) for position, value in enumerate(list(known))}
    missing = np.isnan(column) if column.dtype != object else np.array([value is None for value in column], dtype=bool)
    codes = np.array([positions.get(value, UNSEEN) for value in column.tolist()], dtype=np.float64)
    return np.where(missing, np.nan, codes)


def encode_columns(owner: str, columns: Sequence[np.ndarray], categories: Mapping[int, Categories]) -> np.ndarray:
    """All columns as one float64 matrix (n, p) in column order; those in ``categories`` by their codes."""
    X = np.empty((len(columns[0]), len(columns)), order="F")
    for j, column in enumerate(columns):
        if j in categories:
            X[:, j] = encode(column, categories[j])
        else:
            X[:, j] = column if column.dtype != object else _numbers(owner, j, column)
    return X


def column_number(owner: str, argument: str, key: Any, names: Sequence[str], n_columns: int) -> int:
    """The number of the column that ``key`` (its name, or an integer) means."""
    if isinstance(key, str) and key in names:
        return list(names).index(key)
    if not isinstance(key, str) and 0 <= key < n_columns:
        return int(key)
    raise ValueError(f"{owner}: {argument} names {key!r}, which is no column of X.")


def _cells(X: Any) -> Any:
    """Nested lists as an array in which 85 beside "sunny" stays a number."""
    if isinstance(X, list | tuple):
        array = np.asarray(X)
        return np.array(X, dtype=object) if array.dtype.kind in "US" else array
    return X


def _frame_column(owner: str, series: Any) -> np.ndarray:
    if getattr(series.dtype, "kind", "O") in "iufb":
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    # A column declared to be categorical stays one, even if its categories are numbers.
    return _column(owner, series.to_numpy(dtype=object), declared=str(series.dtype) == "category")


def _column(owner: str, values: np.ndarray, declared: bool = False) -> np.ndarray:
    if values.dtype.kind in "iufb":
        return values.astype(np.float64)
    if values.dtype.kind not in "OUS":
        raise TypeError(f"{owner}: a cell of X as argument must be a string or a number; got {values.dtype}.")
    plain = np.empty(len(values), dtype=object)
    all_numbers = True
    for i, value in enumerate(values.tolist()):
        if is_empty(value):
            continue
        if not isinstance(value, str | bool | int | float | np.generic):
            raise TypeError(f"{owner}: a cell of X as argument must be a string or a number; got {shown(value)}.")
        plain[i] = value.item() if isinstance(value, np.generic) else value
        all_numbers &= not isinstance(plain[i], str | bool)
    return plain.astype(np.float64) if all_numbers and not declared else plain


def _numbers(owner: str, j: int, column: np.ndarray) -> np.ndarray:
    if any(isinstance(value, str) for value in column.tolist()):
        string = next(value for value in column.tolist() if isinstance(value, str))
        raise ValueError(f"{owner}: column {j} of X held numbers in training; got {string!r}.")
    return column.astype(np.float64)
