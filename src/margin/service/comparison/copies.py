"""Rows that repeat: where many do, equal ones stay together, and no model is tested on a row it has learned from."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.data.structure import COPIES_AMONG_REPEATS, few_combinations, mix, repeats_beyond_chance

__all__ = ["array_copies", "copies_remark", "many_copies"]

#: From this fraction of the rows on, equal ones stay together. A model that remembers every row gains at most as much
#: as its error times this fraction, which with fewer copies is far less than any interval on the board.
MANY = 0.02
#: With fewer different rows than this there is nothing to divide.
LEAST_DIFFERENT = 20


def many_copies(keys: np.ndarray | None) -> np.ndarray | None:
    """The numbers that equal rows share, where so many repeat an earlier one that folds must know; None otherwise."""
    if keys is None:
        return None
    different = len(np.unique(keys))
    return keys if len(keys) - different > MANY * len(keys) and different >= LEAST_DIFFERENT else None


def copies_remark(copies: np.ndarray | None) -> list[str]:
    if copies is None:
        return []
    n = len(copies) - len(np.unique(copies))
    return [
        f"{n:,} of {len(copies):,} rows repeat an earlier one, target and all: equal rows are in one fold, so that no"
        " model is tested on a row it has learned from."
    ]


def array_copies(X: Any, y: np.ndarray) -> np.ndarray | None:
    """A number per row that rows with equal numbers and targets share; None where rows are bound to repeat."""
    import pandas as pd

    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "biuf":
        return None
    keys = pd.factorize(y)[0].astype(np.uint64)
    for column in X.T:
        hashed = pd.util.hash_array(np.ascontiguousarray(column, dtype=np.float64) + 0.0)  # -0.0 equals 0.0
        keys = mix(keys, hashed)
    if many_copies(keys) is None or few_combinations([len(np.unique(column)) for column in X.T], len(X)):
        return None
    codes = [pd.factorize(column)[0] for column in X.T]
    repeats = len(keys) - len(np.unique(keys))
    return keys if repeats_beyond_chance(codes, keys) >= COPIES_AMONG_REPEATS * repeats else None
