r"""Columns of a table as coordinates that a continuous generative model can learn, and back.

A number becomes its normal score :math:`z = \Phi^{-1}(F(x))` with the empirical distribution function :math:`F`, so
that skewed and bounded columns are all alike; a category becomes one coordinate per label, of which the largest is read
back. A missing number is one more coordinate, a missing category one more label.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

__all__ = ["ColumnCode", "decode_column", "encode_column", "learn_column", "width"]

FEW_VALUES = 20  # a number column with at most so many distinct values gives back only these
MOST_QUANTILES = 1000


class ColumnCode(NamedTuple):
    """What is kept of a column: its kind, sorted distinct labels or quantiles, and whether values may be missing.

    ``kind`` is "number" (between the quantiles), "steps" (a number that takes few values: ``values`` are those, and
    ``levels`` their distribution function) or "category" (``labels``, the last one for missing values if there are).
    """

    kind: str
    values: np.ndarray  # quantiles or values of a number; empty for a category
    levels: np.ndarray  # the distribution function there
    labels: list[str]  # labels of a category; empty for a number
    missing: bool
    integer: bool


def learn_column(column: np.ndarray) -> ColumnCode:
    """The code of a column: numbers if its dtype is numeric, else categories of whatever it holds."""
    nothing = np.zeros(0)
    if column.dtype.kind not in "biuf":
        absent = _absent(column)
        labels = sorted({str(label) for label in column[~absent]})
        return ColumnCode("category", nothing, nothing, labels, bool(absent.any()), False)
    numbers = column.astype(np.float64)
    absent = np.isnan(numbers)
    present = np.sort(numbers[~absent])
    if not len(present):
        raise ValueError("learn_column: a column of numbers must have at least one value that is not missing.")
    distinct, counts = np.unique(present, return_counts=True)
    integer = bool(np.all(distinct == np.round(distinct)))
    if len(distinct) <= FEW_VALUES:
        return ColumnCode("steps", distinct, np.cumsum(counts) / len(present), [], bool(absent.any()), integer)
    # Between the middles of the first and of the last row, which have half a row's probability outside.
    n = min(MOST_QUANTILES, len(present))
    levels = (np.arange(n) + 0.5) / n
    return ColumnCode("number", np.quantile(present, levels, method="hazen"), levels, [], bool(absent.any()), integer)


def width(code: ColumnCode) -> int:
    """Coordinates that a column takes."""
    return (len(code.labels) if code.kind == "category" else 1) + int(code.missing)


def encode_column(code: ColumnCode, column: np.ndarray) -> np.ndarray:
    """The coordinates of the values, (n, width)."""
    if code.kind == "category":
        absent = _absent(column)
        position = {label: k for k, label in enumerate(code.labels)}
        known = [position.get(str(label), -1) for label in column]
        if not code.missing and absent.any():
            raise ValueError("encode_column: a column without missing values in training must have none.")
        chosen = np.where(absent, len(code.labels), known)
        if (chosen < 0).any():
            unknown = str(column[np.flatnonzero(chosen < 0)[0]])
            raise ValueError(f"encode_column: a category must be one of training; got {unknown!r}.")
        return np.eye(width(code))[chosen]
    numbers = column.astype(np.float64)
    absent = np.isnan(numbers)
    filled = np.where(absent, np.median(code.values), numbers)
    if code.kind == "steps":
        below = np.concatenate([[0.0], code.levels[:-1]])
        at = np.searchsorted(code.values, filled).clip(max=len(code.values) - 1)
        level = (below + code.levels)[at] / 2  # the middle of the step: a normal score of its own for each value
    else:
        level = np.interp(filled, code.values, code.levels)
    score = ndtri(level)[:, None]
    return np.hstack([score, absent[:, None].astype(np.float64)]) if code.missing else score


def decode_column(code: ColumnCode, coordinates: np.ndarray) -> np.ndarray:
    """Values for coordinates: numbers within the range of training, labels of training, NaN or None where missing."""
    if code.kind == "category":
        labels = np.array([*code.labels, *([None] if code.missing else [])], dtype=object)
        return labels[coordinates.argmax(axis=1)]
    level = ndtr(coordinates[:, 0])
    if code.kind == "steps":
        values = code.values[np.searchsorted(code.levels, level).clip(max=len(code.values) - 1)]
    else:
        values = np.interp(level, code.levels, code.values)
    values = np.round(values) if code.integer else values
    return np.where(coordinates[:, 1] > 0.5, np.nan, values) if code.missing else values


def _absent(column: np.ndarray) -> np.ndarray:
    return np.array([label is None or label != label for label in column], dtype=bool)
