r"""Regression by the mean of the nearest neighbors.

.. math:: \hat y(q) = \frac{\sum_{i \in N_k(q)} w_i y_i}{\sum_{i \in N_k(q)} w_i}
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from margin.core.array_types import MatrixLike
from margin.core.invariants import ArrayOf, TrueOrFalse
from margin.core.parameters import attribute
from margin.core.targets import numeric_target
from margin.neighbors.base import NeighborsEstimator
from margin.neighbors.stored import enough_rows, points_are_known
from margin.neighbors.voting import neighbor_weights, weighted_mean

__all__ = ["KNeighborsRegressor"]


class KNeighborsRegressor(MultiOutputMixin, RegressorMixin, NeighborsEstimator):
    """The weighted mean response of the nearest training rows.

    Examples
    --------
    >>> KNeighborsRegressor(n_neighbors=2).fit([[0.0], [1.0], [5.0]], [0.0, 1.0, 9.0]).predict([[0.6]])
    array([0.5])
    """

    values_: np.ndarray = attribute(
        ArrayOf("n_samples", None, kind="float64"), "Responses of the training rows, (n, outputs)."
    )
    single_output_: bool = attribute(TrueOrFalse(), "Whether y was one plain column.")

    _stored_rules = (
        enough_rows,
        points_are_known,
    )

    def fit(self, X: Any, y: Any) -> KNeighborsRegressor:
        """Keep the rows and their responses, one or several columns."""
        self._check_parameters()
        X, y = self._check_rows(X, numeric_target(self, y), copy=True, multi_output=True, y_numeric=True)
        self._keep(X)
        self.values_ = np.array(y, dtype=np.float64).reshape(len(X), -1)
        self.single_output_ = np.ndim(y) == 1
        return self

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The weighted mean of the neighbors' responses."""
        distances, neighbors = self.kneighbors(X)
        predicted = weighted_mean(self.values_[neighbors], neighbor_weights(distances, self.weights))
        return predicted[:, 0] if self.single_output_ else predicted
