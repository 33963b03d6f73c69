r"""What every fitted affine model can do: :math:`\hat y = \theta_0 + \theta^\top x`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted

from margin.core.array_types import MatrixLike
from margin.core.new_rows import validate_new_rows
from margin.core.number_range import require_squares

__all__ = ["AffinePrediction"]


class AffinePrediction:
    """``predict`` for estimators with ``coef_`` (p,) or (q, p) and ``intercept_``; ``X`` may be sparse."""

    coef_: np.ndarray
    intercept_: Any

    def predict(self, X: MatrixLike) -> np.ndarray:
        r"""Predict :math:`\theta_0 + \theta^\top x` for every row."""
        check_is_fitted(self)
        X = validate_new_rows(self, X, accept_sparse="csr", ensure_all_finite=False)
        with np.errstate(invalid="ignore", over="ignore"):
            predicted = X @ np.atleast_2d(self.coef_).T + self.intercept_
        self._check_predictions(X, predicted)
        return predicted[:, 0] if self.coef_.ndim == 1 else predicted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags

    def _check_predictions(self, X: Any, predicted: np.ndarray) -> None:
        if np.isfinite(predicted).all():
            return
        self._refuse_non_finite(X)
        raise ValueError(
            f"{type(self).__name__}: X must be small enough that predictions do not overflow; got {abs(X).max():.3g}; "
            "scale it first."
        )

    def _refuse_overflow(self, X: Any, y: np.ndarray) -> None:
        """After sums of squares were not finite: refuse the one of both that made them so."""
        self._refuse_non_finite(X)
        for argument, values in (("X", X), ("y", y)):
            require_squares(type(self).__name__, argument, values)

    def _refuse_non_finite(self, X: Any) -> None:
        assert_all_finite(X.data if sp.issparse(X) else X, estimator_name=type(self).__name__, input_name="X")
