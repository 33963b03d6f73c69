"""What parameters say about columns: which are monotone, how many are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.domains import Choice, Domain, Either, Integer, Number, Optional, Sequence

__all__ = ["MAX_FEATURES", "MONOTONE", "feature_count", "monotone_signs"]

MONOTONE: Domain = Optional(Sequence(Either(Integer(low=-1, high=1), Choice(-1.0, 0.0, 1.0))))
MAX_FEATURES: Domain = Optional(
    Either(Choice("sqrt", "log2", "third"), Integer(low=1), Number(above=0, high=1, search=(0.2, 1.0)))
)


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
