"""Columns of mean 0 and deviation 1, and zero where training rows had one value only."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from margin.core.invariants import ArrayOf, Count, Form, OneOf, Real
from margin.data.stored import centers_and_scales

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

    _stored_form = Form(
        {
            "mean_": ArrayOf("n_features", finite=False),
            "var_": ArrayOf("n_features", finite=False),
            "scale_": ArrayOf("n_features", finite=False),  # infinite for a constant column
            "n_samples_seen_": OneOf(Count(), ArrayOf("n_features", kind="i", low=0), Real(0.0, finite=True)),
        },
        [centers_and_scales],
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> StandardColumns:
        """Learn means and deviations; a constant column gets an infinite one."""
        super().fit(X, y, sample_weight)
        rows = np.asarray(X, dtype=np.float64)
        self._still(rows.min(axis=0), rows.max(axis=0))
        return self

    def set_moments(
        self, count: int, mean: np.ndarray, variance: np.ndarray, lowest: np.ndarray, highest: np.ndarray
    ) -> StandardColumns:
        """What :meth:`fit` learns from ``count`` rows of this mean, variance and range."""
        self.n_samples_seen_, self.mean_, self.var_ = np.int64(count), mean, variance
        eps = np.finfo(np.float64).eps
        rounding = count * eps * variance + (count * mean * eps) ** 2  # of a variance, as scikit-learn bounds it
        self.scale_ = np.where(variance <= rounding, 1.0, np.sqrt(variance))
        self._still(lowest, highest)
        return self

    def _still(self, lowest: np.ndarray, highest: np.ndarray) -> None:
        """An infinite deviation for columns that are constant."""
        with np.errstate(over="ignore"):
            spans, largest = highest - lowest, np.maximum(np.abs(lowest), np.abs(highest))
        self.scale_[spans <= CONSTANT * largest] = np.inf

    def inverse_transform(self, X: Any, copy: bool | None = None) -> np.ndarray:
        """The columns in their own units; a constant one is the constant."""
        finite = np.where(np.isinf(self.scale_), 0.0, self.scale_)
        return np.asarray(X, dtype=np.float64) * finite + self.mean_
