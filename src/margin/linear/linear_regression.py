r"""Linear regression by ordinary least squares.

.. math::
    f_\theta(x) = \theta_0 + \theta^\top x,\qquad
    \hat\theta = \arg\min_\theta \sum_i w_i \bigl(y_i - f_\theta(x_i)\bigr)^2
    \;\Longleftrightarrow\; S_{xx}\,\theta = S_{xy},\;\; \theta_0 = \bar y - \theta^\top \bar x .
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from margin.core.array_types import MatrixLike
from margin.core.chunks import map_row_chunks
from margin.core.domains import Flag, Jobs, Number
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, Count, OneOf
from margin.core.new_rows import validate_new_rows
from margin.core.parameters import COPY, N_JOBS, attribute, parameter
from margin.core.relations import counts_as
from margin.core.streaming import RowBlock
from margin.core.targets import numeric_target
from margin.core.threads import thread_limit
from margin.linear.least_squares import (
    WIDE_SPARSE,
    Solution,
    least_squares,
    solve_dependent_moments,
    solve_moments,
)
from margin.linear.moment_summary import MomentSummary
from margin.linear.moments import RegressionMoments, blocks
from margin.linear.nonnegative import nonnegative_least_squares
from margin.linear.stored import NUMBER_OR_ROW, PER_TARGET
from margin.linear.summary import LinearSummary, summarize_linear

__all__ = ["LinearRegression"]


class LinearRegression(MomentSummary, MultiOutputMixin, RegressorMixin, Estimator):
    r"""Least squares in one pass over the rows; the minimum-norm solution if columns are (nearly) linearly dependent.

    Several columns of ``y`` are fitted at once, ``X`` may be sparse, and ``partial_fit`` takes a table chunk by chunk:
    it keeps only moments, so its result is that of ``fit`` on all rows together.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[25, 22.5], [35, 26.5], [45, 29.5], [55, 31.5], [65, 33.5]])
    >>> model = LinearRegression().fit(X, [180, 210, 240, 260, 280])
    >>> round(float(model.intercept_), 2), model.coef_.round(2)
    (25.68, array([0.94, 5.79]))
    """

    _: KW_ONLY
    fit_intercept: bool = parameter(True, Flag(), "Whether a constant is fitted.")
    copy_X: bool = parameter(True, Flag(), COPY)
    tol: float = parameter(
        1e-6,
        Number(low=0),
        "Singular values of the columns, each of norm one, below this fraction of the largest count as zero (0: below "
        "rounding); for sparse X of very many columns the precision of the iteration.",
    )
    n_jobs: int | None = parameter(None, Jobs(), N_JOBS)
    positive: bool = parameter(False, Flag(), "Whether coefficients must not be negative.")

    coef_: np.ndarray = attribute(
        OneOf(ArrayOf("n_features"), ArrayOf("n_targets", "n_features")),
        "Weights of the columns, (p,) or (targets, p).",
    )
    intercept_: float | np.ndarray = attribute(
        NUMBER_OR_ROW, "The constant, one number or one per target; 0 if none is fitted."
    )
    rank_: int | None = attribute(Count(), "Rank of the centered rows; None where only an iteration was run.")
    residual_variance_: float | np.ndarray = attribute(
        PER_TARGET,
        "Sum of w r^2 over (sum of w - rank - 1): a row of weight two counts as two; NaN if no freedom is left.",
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearRegression:
        """Learn from all rows; forgets chunks seen before."""
        self._check_parameters()
        X, Y, weights, single = self._rows(X, y, sample_weight, first=True)
        self._forget()
        if self.positive:
            self._refuse_overflow(X, Y)
        solve = nonnegative_least_squares if self.positive else partial(least_squares, tol=self.tol, rank_tol=self.tol)
        try:
            with thread_limit(self.n_jobs):
                solution = solve(X, Y, weights, intercept=bool(self.fit_intercept))
        except FloatingPointError as error:
            self._refuse_non_finite(X)
            raise ValueError(f"LinearRegression: {error}") from None
        return self._learn(solution, X.shape[0] if weights is None else float(weights.sum()), single)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearRegression:
        """Learn from these rows and those of earlier calls, of which only the moments were kept."""
        self._check_parameters()
        if self.positive:
            raise ValueError("LinearRegression: partial_fit has no form for positive=True; use fit.")
        X, Y, weights, single = self._rows(X, y, sample_weight, first=not hasattr(self, "summary_"))
        if sp.issparse(X) and X.shape[1] > WIDE_SPARSE:
            raise ValueError(
                f"LinearRegression: partial_fit keeps a p x p matrix and takes at most {WIDE_SPARSE} columns of sparse "
                f"X; got {X.shape[1]}."
            )
        total = self._with_earlier(self._moments(X, Y, weights))
        self._keep(total)
        return self._learn(solve_moments(total) or solve_dependent_moments(total, self.tol), total.weight, single)

    def summarize(self, block: RowBlock) -> RegressionMoments:
        """The moments of some rows of a stream."""
        if self.positive:
            raise ValueError("LinearRegression: positive=True needs all rows at once and takes no stream.")
        return super().summarize(block)

    def merge(self, first: RegressionMoments, second: RegressionMoments) -> RegressionMoments:
        """The moments of both."""
        if len(first.mean_y) != len(second.mean_y):
            raise ValueError(
                f"LinearRegression: y must have {len(first.mean_y)} columns as in earlier chunks; "
                f"got {len(second.mean_y)}."
            )
        return super().merge(first, second)

    def solve(self, summary: RegressionMoments) -> LinearRegression:
        """Learn from the moments of all rows."""
        self._forget()
        solution = solve_moments(summary) or solve_dependent_moments(summary, self.tol)
        return self._learn(solution, summary.weight, single=True)

    def predict(self, X: MatrixLike) -> np.ndarray:
        r"""Predict :math:`\theta_0 + \theta^\top x` for every row."""
        check_is_fitted(self)
        X = validate_new_rows(self, X, accept_sparse="csr", ensure_all_finite=False)
        coef = np.atleast_2d(self.coef_).T
        with np.errstate(invalid="ignore", over="ignore"):
            predicted = X @ coef if sp.issparse(X) or X.dtype == np.float64 else _product(X, coef)
            predicted = predicted + self.intercept_
        self._check_predictions(X, predicted)
        return predicted[:, 0] if self.coef_.ndim == 1 else predicted

    def summary(self, X: Any, y: Any, sample_weight: Any = None, *, level: float = 0.95) -> LinearSummary:
        """Standard errors, t, p-values, intervals and R2 of the coefficients on their training rows; one target."""
        check_is_fitted(self)
        if self.coef_.ndim != 1:
            raise ValueError(f"LinearRegression: summary is for one target; got {len(self.coef_)}.")
        X, Y, weights, _ = self._rows(X, y, sample_weight, first=False)
        if self.rank_ is not None and self.rank_ < X.shape[1] < X.shape[0]:
            raise ValueError(
                f"LinearRegression: summary: the columns of X are linearly dependent (rank {self.rank_} of "
                f"{X.shape[1]} at tol={self.tol:g}), so single coefficients have no error bars."
            )
        names = list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(X.shape[1])]))
        return summarize_linear(
            self.coef_,
            float(self.intercept_),
            X,
            Y[:, 0],
            names,
            weights=weights,
            fit_intercept=bool(self.fit_intercept),
            level=level,
        )

    def _rows(self, X: Any, y: Any, sample_weight: Any, *, first: bool) -> tuple[Any, ...]:
        """Checked X, y as columns, weights, and whether y was one plain column."""
        # Not finite is found later for free: a NaN or an infinity reaches the diagonal of the Gram matrix.
        y = numeric_target(self, y)
        X, y = validate_data(
            self, X, y, reset=first, accept_sparse="csr", ensure_all_finite=False, y_numeric=True, multi_output=True
        )
        Y = np.asarray(y, dtype=np.float64)
        assert_all_finite(Y, estimator_name="LinearRegression", input_name="y")
        if sample_weight is None:
            return X, Y.reshape(len(Y), -1), None, Y.ndim == 1
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return X, Y.reshape(len(Y), -1), weights, Y.ndim == 1

    def _learn(self, solution: Solution, weight: float, single: bool) -> LinearRegression:
        self.rank_ = solution.rank
        rank = min(solution.coef.shape[0], weight) if solution.rank is None else solution.rank
        freedom = weight - rank - bool(self.fit_intercept)
        variance = solution.rss / freedom if freedom > 0 else np.full(len(solution.rss), np.nan)
        intercept = solution.intercept if self.fit_intercept else np.zeros(len(solution.rss))
        self.coef_ = solution.coef[:, 0].copy() if single else np.ascontiguousarray(solution.coef.T)
        self.intercept_ = np.float64(intercept[0]) if single else intercept
        self.residual_variance_ = float(variance[0]) if single else variance
        return self


def _product(X: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """``X @ coef`` without a float64 copy of ``X``."""
    nothing = np.zeros(X.shape[1]), np.zeros(0)
    empty = np.zeros((len(X), 0))
    parts = map_row_chunks(
        lambda rows: [block.x @ coef for block in blocks(X, empty, None, nothing, rows)], len(X), work=X.size
    )
    return np.vstack([product for chunk in parts for product in chunk])


# scikit-learn's RANSACRegressor knows how many rows a straight line needs only for what is an instance of its own.
counts_as(LinearRegression, "sklearn.linear_model", "LinearRegression")
