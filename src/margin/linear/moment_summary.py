"""What least squares with any penalty keeps of a stream, or of pieces of a table: the moments of the rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import validate_data

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.invariants import sometimes
from margin.core.parameters import attribute
from margin.core.pieces import LearnsInPieces
from margin.core.refused_fits import unchanged_if_refused
from margin.core.streaming import RowBlock
from margin.core.targets import numeric_target
from margin.linear.affine import AffinePrediction
from margin.linear.moments import RegressionMoments, moments
from margin.linear.stored import MOMENTS

__all__ = ["MomentSummary"]


class MomentSummary(AffinePrediction, LearnsInPieces):
    """``summarize``, ``merge`` and ``partial_fit`` of affine models, whose ``fit_intercept`` says whether moments are
    about the mean.
    """

    fit_intercept: Any
    summary_: dict[str, Any] = attribute(sometimes(MOMENTS), "What partial_fit keeps of the rows: their moments.")

    @staticmethod
    def _summary_of(fields: dict[str, Any]) -> RegressionMoments:
        return RegressionMoments(**fields)

    @unchanged_if_refused
    def partial_fit(self, X: MatrixLike, y: ArrayLike) -> Self:
        """Learn from these rows and those of earlier calls, of which only the moments were kept; one target."""
        return self._learn_piece(X, y)

    def summarize(self, block: RowBlock) -> RegressionMoments:
        """The moments of some rows."""
        name = type(self).__name__
        X, y = validate_data(
            self, block.X, numeric_target(self, block.y), dtype=np.float64, ensure_all_finite=False, y_numeric=True
        )
        assert_all_finite(y, estimator_name=name, input_name="y")
        return self._moments(X, y[:, None].astype(np.float64), None)

    def merge(self, first: RegressionMoments, second: RegressionMoments) -> RegressionMoments:
        """The moments of both."""
        return first.merge(second)

    def _moments(self, X: Any, Y: np.ndarray, weights: np.ndarray | None) -> RegressionMoments:
        found = moments(X, Y, weights, centered=bool(self.fit_intercept))
        if not found.finite:
            self._refuse_overflow(X, Y)
            raise ValueError(f"{type(self).__name__}: squares of X or y overflow; scale the columns first.")
        return found
