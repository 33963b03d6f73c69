"""Columns of strings and categories as codes: a state that has a name is a state like any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["as_labels", "with_codes"]


def with_codes(X: Any, known: Sequence[Sequence[str]] | None = None) -> tuple[Any, list[list[str]] | None]:
    """``X`` with the position of every label in place of it, and the labels of each column, none for numbers.

    A column has labels if all its entries are strings, or missing; one of a DataFrame also if it is categorical.
    ``known`` are the labels of a fit, behind which others count as one more. Where no column has any, ``X`` comes back
    as it is, with None.

    >>> codes, labels = with_codes([["red", 1], ["blue", 2], [None, 3]])
    >>> codes.tolist(), labels
    ([[1.0, 1], [0.0, 2], [nan, 3]], [['blue', 'red'], []])
    """
    frame = hasattr(X, "iloc") and hasattr(X, "columns")
    if not frame and hasattr(X, "tocsr"):
        return X, None
    table: Any = X if frame else _objects(X)
    if table is None:
        return X, None
    n_columns = table.shape[1]
    if known is not None and len(known) != n_columns:
        return X, None  # as many columns as are wrong: that is said where they are counted
    given = [table.iloc[:, j] if frame else table[:, j] for j in range(n_columns)]
    found = [list(known[j]) if known is not None else _labels(column) for j, column in enumerate(given)]
    if not any(found):
        return X, None
    coded = [_codes(column, labels) if labels else column for column, labels in zip(given, found)]
    if frame:
        return type(X)({j: np.asarray(column) for j, column in enumerate(coded)}).set_axis(X.columns, axis=1), found
    return np.stack([np.asarray(column, dtype=object) for column in coded], axis=1), found


def as_labels(rows: np.ndarray, labels: Sequence[Sequence[str]], names: Any = None) -> Any:
    """Rows of codes and numbers with labels in place of codes: a DataFrame where columns have ``names``."""
    table = rows.astype(object)
    for j, words in enumerate(labels):
        if words:
            table[:, j] = [None if code != code else words[int(code)] for code in rows[:, j]]
    if names is None:
        return table
    from pandas import DataFrame

    columns = {name: table[:, j] if labels[j] else rows[:, j] for j, name in enumerate(names)}
    return DataFrame(columns)


def _objects(X: Any) -> np.ndarray | None:
    """A table as an array of objects, where it may hold strings."""
    if isinstance(X, np.ndarray) and X.dtype.kind not in "OU":
        return None
    try:
        table = np.array(X, dtype=object)
    except ValueError:
        return None
    return table if table.ndim == 2 else None


def _labels(column: Any) -> list[str]:
    """The labels of a column, sorted (a categorical's own, in their order), or none."""
    categories = getattr(getattr(column, "cat", None), "categories", None)
    if categories is not None:
        return [str(label) for label in categories]
    entries = np.asarray(column)
    if entries.dtype.kind not in "OU":
        return []
    words = [entry for entry in entries.tolist() if not _missing(entry)]
    return sorted(set(words)) if words and all(isinstance(word, str) for word in words) else []


def _codes(column: Any, labels: Sequence[str]) -> np.ndarray:
    position = {label: float(code) for code, label in enumerate(labels)}
    entries = column.tolist() if hasattr(column, "tolist") else list(column)
    return np.array([np.nan if _missing(e) else position.get(str(e), float(len(labels))) for e in entries])


def _missing(entry: Any) -> bool:
    return entry is None or entry != entry or type(entry).__name__ == "NAType"
