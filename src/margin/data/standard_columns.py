"""Columns of mean 0 and deviation 1, and zero where training rows had one value only."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

__all__ = ["StandardColumns"]

#: A column whose values differ by less than this part of the largest is constant: what differs is rounding, and divided
#: by its deviation it would be noise of deviation 1.
CONSTANT = 1e-12


class StandardColumns(StandardScaler):
    """scikit-learn's ``StandardScaler``, except that a column which is constant in training stays zero ever after.

    Nothing was learned about such a column. If it moves later, a number in its own unit, perhaps of a million, would
    reach models beside numbers of about one, and weights that training never touched would multiply it.

    >>> scaler = StandardColumns().fit(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> scaler.transform(np.array([[2.0, 7.0], [5.0, 1e6]])).tolist()
    [[0.0, 0.0], [3.0, 0.0]]
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> StandardColumns:
        """Learn means and deviations; a constant column gets an infinite one."""
        super().fit(X, y, sample_weight)
        rows = np.asarray(X, dtype=np.float64)
        with np.errstate(over="ignore"):
            spans, largest = np.ptp(rows, axis=0), np.abs(rows).max(axis=0)
        self.scale_[spans <= CONSTANT * largest] = np.inf
        return self

    def inverse_transform(self, X: Any, copy: bool | None = None) -> np.ndarray:
        """The columns in their own units; a constant one is the constant."""
        finite = np.where(np.isinf(self.scale_), 0.0, self.scale_)
        return np.asarray(X, dtype=np.float64) * finite + self.mean_
