"""Columns brought to mean 0 and scale 1, with row weights, so that one learning rate suits every table."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from margin.core.number_range import in_safe_units

__all__ = ["Scaling", "share_a_unit", "usual_deviation"]

PIECE_ROWS = 65_536  # of which a copy is made at a time


class Scaling(NamedTuple):
    r""":math:`u = (x - c) / s` per column.

    >>> scaling = Scaling.of(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> scaling.apply(np.array([[3.0, 5.0]]))
    array([[1., 0.]])
    """

    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, X: Any, weight: np.ndarray | None = None, rows: np.ndarray | None = None) -> Scaling:
        """Weighted mean and deviation of every column, over the numbered ``rows`` (None: all); a constant column gets
        scale 1, or that of its rounding."""
        n = X.shape[0] if rows is None else len(rows)
        weight = np.ones(n) if weight is None else weight if rows is None else weight[rows]
        fraction = weight / np.sum(weight, dtype=np.float64)
        center, deviation = in_safe_units(lambda X: _mean_and_deviation(X, fraction, rows), X)
        # Rounding leaves a constant column with a deviation of a few units in the last place of its mean.
        rounding = 10 * np.finfo(X.dtype).eps * np.abs(center)
        return cls(center, np.where(deviation <= rounding, np.maximum(1.0, rounding), deviation))

    @classmethod
    def of_values(cls, X: np.ndarray, one_unit: bool = False, least: float = 1.0) -> Scaling:
        """Of what a network shall give back: no column in one unit with the others, as pixels are, is divided by less
        than ``least`` of their usual deviation. One that hardly ever moves would be blown up, and noise in it, too.
        """
        scaling = cls.of(X)
        moves = X.min(axis=0) < X.max(axis=0)
        if not moves.any() or not (one_unit or share_a_unit(X)):
            return scaling
        return cls(scaling.center, np.maximum(scaling.scale, least * usual_deviation(scaling.scale[moves])))

    @classmethod
    def none(cls, n_columns: int) -> Scaling:
        return cls(np.zeros(n_columns), np.ones(n_columns))

    def apply(self, X: np.ndarray) -> np.ndarray:
        return ((X - self.center) / self.scale).astype(X.dtype, copy=False)

    def undo(self, U: np.ndarray) -> np.ndarray:
        return U * self.scale + self.center


def usual_deviation(deviations: np.ndarray) -> float:
    """That of all columns together."""
    largest = float(np.max(deviations)) or 1.0  # in units of which squares do not overflow
    return largest * float(np.sqrt(np.mean(np.square(deviations / largest))))


def share_a_unit(X: np.ndarray) -> bool:
    """Whether half of the columns or more have the same smallest and the same largest value, as pixels have.

    >>> share_a_unit(np.array([[0, 0, 0.0], [1, 1, 0.2]])), share_a_unit(np.array([[0, 0, 0.0], [1, 70, 9.0]]))
    (True, False)
    """
    low, high = X.min(axis=0), X.max(axis=0)
    return bool(np.mean((low == low.min()) & (high == high.max())) >= 0.5 and high.max() > low.min())


def _mean_and_deviation(X: Any, fraction: np.ndarray, rows: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    if issparse(X):
        X = X if rows is None else X[rows]
        center = fraction @ X
        return center, np.sqrt(_sparse_variance(X, fraction, center))
    # Piece by piece: X may lie in a file that is larger than memory.
    cuts = [slice(start, start + PIECE_ROWS) for start in range(0, len(fraction), PIECE_ROWS)]
    pieces = [(fraction[cut], cut if rows is None else rows[cut]) for cut in cuts]
    center = _sum(part @ X[piece] for part, piece in pieces)
    return center, np.sqrt(_sum(part @ (X[piece] - center) ** 2 for part, piece in pieces))


def _sum(terms: Iterable[np.ndarray]) -> np.ndarray:
    return reduce(operator.add, terms)


def _sparse_variance(X: Any, fraction: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Weighted variance of the columns of a CSR matrix: entries that are there, and the zeros that are not."""
    entries = X.tocoo()
    weight = fraction[entries.row]
    columns = len(center)
    stored_weight = np.bincount(entries.col, weight, minlength=columns)
    squares = np.bincount(entries.col, weight * (entries.data - center[entries.col]) ** 2, minlength=columns)
    return squares + (1 - stored_weight).clip(min=0) * center**2
