r"""The lasso and the elastic net: least squares with a penalty that makes coefficients exactly zero.

.. math:: \min_{\theta, \theta_0} \; \frac1{2W} \sum_i w_i (y_i - \theta_0 - \theta^\top x_i)^2
          + \alpha \rho \lVert\theta\rVert_1 + \tfrac{\alpha (1 - \rho)}2 \lVert\theta\rVert_2^2
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, validate_data

from margin.core.domains import Flag, Integer, Number
from margin.core.estimator import IterativeEstimator
from margin.core.notices import warn_user
from margin.core.records import Record
from margin.linear.affine import AffinePrediction
from margin.linear.sparse_descent import SparseDescent
from margin.linear.sparse_problem import columns_of

__all__ = ["ElasticNet", "Lasso"]

INNER_FRACTION = 0.1  # of the gap that is wanted: a sweep that gains less ends a round of descent


class ElasticNet(AffinePrediction, RegressorMixin, IterativeEstimator):
    r"""Elastic net by coordinate descent on inner products of columns; :math:`\theta_0` carries no penalty.

    ``alpha`` is the strength and ``l1_ratio`` the part :math:`\rho` of it on absolute values. A fit ends when the
    duality gap, which bounds the distance from the minimum, is at most ``tol`` times half the mean square of the
    (centered) y, or after ``max_iter`` rounds of descent, each of which looks at all columns once. A tall table costs
    one product of ``X`` with itself, a wide one a product of ``X`` with the residual per round.

    Learned: ``coef_`` (p,) with exact zeros, ``intercept_``, ``n_iter_``, ``duality_gap_``, ``objective_``. Records
    carry ``objective``, ``duality_gap`` and ``nonzero`` (coefficients).

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> ElasticNet(alpha=1.0, l1_ratio=0.5).fit(X, [3.0, -3.0, 1.0, -1.0]).coef_
    array([1., 0.])
    """

    domains = {
        "alpha": Number(above=0, search=(1e-4, 10), log=True),
        "l1_ratio": Number(above=0, high=1, search=(0.05, 1)),
        "fit_intercept": Flag(),
        "tol": Number(low=0),
        "max_iter": Integer(low=1),
    }

    def __init__(
        self,
        alpha: float = 1.0,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 1000,
    ):
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from all rows."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record per round of descent."""
        self._check_parameters()
        name = type(self).__name__
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            used = weights > 0
            X, y, weights = (X, y, weights) if used.all() else (X[used], y[used], weights[used])
        try:
            columns = columns_of(X, y, weights, intercept=bool(self.fit_intercept))
        except FloatingPointError as error:
            raise ValueError(f"{name}: {error}") from None
        ratio = self._ratio()
        self._loop = loop = _CoordinateFit(
            columns, self.alpha * ratio, self.alpha * (1 - ratio), self.tol, self.max_iter
        )
        if state is not None:
            loop.restore(state)
        self._learn(loop)
        while not loop.finished:
            loop.step()
            self._learn(loop)
            yield Record(loop.iteration, loop.values(), total=self.max_iter)
        if not loop.converged:
            warn_user(
                f"{name}: duality gap {self.duality_gap_:.3g} above {loop.bound:.3g} after max_iter={self.max_iter}.",
                ConvergenceWarning,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _ratio(self) -> float:
        return float(self.l1_ratio)

    def _learn(self, loop: _CoordinateFit) -> None:
        columns, w = loop.descent.columns, loop.descent.w
        self.coef_ = w.copy()
        self.intercept_ = float(columns.mean_y - columns.mean_x @ w) if self.fit_intercept else 0.0
        self.objective_, self.duality_gap_ = loop.descent.gap()
        self.n_iter_ = max(loop.iteration, 1)


class Lasso(ElasticNet):
    r"""Lasso: the elastic net with absolute values only, :math:`\rho = 1`; parameters and results are its own.

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> Lasso(alpha=0.5).fit(X, [3.0, -3.0, 1.0, -1.0]).coef_
    array([2., 0.])
    """

    domains = {name: domain for name, domain in ElasticNet.domains.items() if name != "l1_ratio"}

    def __init__(self, alpha: float = 1.0, fit_intercept: bool = True, tol: float = 1e-6, max_iter: int = 1000):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def _ratio(self) -> float:
        return 1.0


class _CoordinateFit:
    """The running fit: rounds of descent at one penalty."""

    def __init__(self, columns: Any, l1: float, l2: float, tol: float, max_iter: int):
        self.descent = SparseDescent(columns).aim(l1, l2)
        self.bound = tol * columns.square / 2
        self.inner = INNER_FRACTION * self.bound
        self.max_iter, self.iteration = max_iter, 0
        self.last = np.inf

    def step(self) -> None:
        gap = self.descent.step(self.inner).gap
        self.inner = self.inner / 10 if gap > self.last / 2 else self.inner
        self.last = gap
        self.iteration += 1

    @property
    def converged(self) -> bool:
        # Where nothing moves any more, the gap that is left is rounding.
        return self.iteration > 0 and (self.descent.gap().gap <= self.bound or not self.descent.moved)

    @property
    def finished(self) -> bool:
        return self.converged or self.iteration >= self.max_iter

    def values(self) -> dict[str, float]:
        objective, gap = self.descent.gap()
        return {"objective": objective, "duality_gap": gap, "nonzero": float(np.count_nonzero(self.descent.w))}

    def state(self) -> dict[str, Any]:
        return {
            "descent": self.descent.state(),
            "iteration": self.iteration,
            "inner": self.inner,
            "last": float(min(self.last, np.finfo(float).max)),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.descent.restore(state["descent"])
        self.iteration, self.inner, self.last = int(state["iteration"]), float(state["inner"]), float(state["last"])
