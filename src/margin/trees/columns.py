"""What parameters say about columns: which are categorical, which are monotone, how many are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.domains import Choice, Domain, Either, Integer, Number, Optional, Sequence

__all__ = ["MAX_FEATURES", "MONOTONE", "categorical_flags", "feature_count", "monotone_signs"]

MONOTONE: Domain = Optional(Sequence(Either(Integer(low=-1, high=1), Choice(-1.0, 0.0, 1.0))))
MAX_FEATURES: Domain = Optional(
    Either(Choice("sqrt", "log2", "third"), Integer(low=1), Number(above=0, high=1, search=(0.2, 1.0)))
)


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


def monotone_signs(owner: str, given: Any, categorical: np.ndarray) -> np.ndarray | None:
    """1, -1 or 0 per column, or None if no column is constrained."""
    if given is None:
        return None
    signs = np.asarray(given, dtype=np.int8)
    if len(signs) != len(categorical):
        raise ValueError(f"{owner}: monotonic_cst has {len(signs)} entries; X has {len(categorical)} columns.")
    if not signs.any():
        return None
    if np.any(signs[categorical] != 0):
        column = int(np.flatnonzero((signs != 0) & categorical)[0])
        raise ValueError(f"{owner}: monotonic_cst must be 0 for categorical columns; got {signs[column]} for {column}.")
    return signs


def feature_count(max_features: Any, columns: int) -> int:
    r"""How many columns a split looks at: all (None), :math:`\lfloor\sqrt p\rfloor`, :math:`\lfloor\log_2 p\rfloor`,
    :math:`\lfloor p/3\rfloor`, a fraction or a count; at least one.

    >>> feature_count("sqrt", 10), feature_count("third", 10), feature_count(0.25, 10), feature_count(None, 10)
    (3, 3, 2, 10)
    """
    if max_features is None:
        return columns
    if isinstance(max_features, str):
        rule = {"sqrt": np.sqrt(columns), "log2": np.log2(columns), "third": columns / 3}
        return max(1, int(rule[max_features]))
    count = int(max_features * columns) if isinstance(max_features, float | np.floating) else int(max_features)
    return min(max(1, count), columns)
