r"""Support vector regression: errors up to epsilon are free, larger ones cost their excess.

.. math::
    \min_{w,b}\; \tfrac12\|w\|^2 + \sum_i C_i\bigl(|y_i - w^\top\phi(x_i) - b| - \epsilon\bigr)_+
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Either, Flag, Integer, Number
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count, ListOf, OneOf, SparseOf
from margin.core.notices import warn_user
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.records import Record
from margin.core.targets import numeric_target
from margin.core.threads import blas_threads
from margin.kernels.cost import COST, finite_cost
from margin.kernels.dual import DualProblem
from margin.kernels.dual_records import describe, solve_some
from margin.kernels.kernel import Kernel
from margin.kernels.kernel_model import KernelModel, as_rows, columns_for, dense, kept_rows, linear_weights
from margin.kernels.precision import column_dtype
from margin.kernels.stored import PER_MACHINE, ROWS, every_coefficient

__all__ = ["SVR"]


class SVR(RegressorMixin, KernelModel, IterativeEstimator):
    """Kernel support vector regression; kernels, sparse rows, working sets and records are as in :class:`SVC`.

    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = SVR(C=100.0, epsilon=0.01).fit(X, X[:, 0] ** 2)
    >>> bool(np.abs(model.predict(X) - X[:, 0] ** 2).max() < 0.0111)
    True
    """

    takes_sparse = True

    _: KW_ONLY
    tol: float = parameter(1e-3, Number(above=0), "Violation of optimality at which the problem is solved.")
    C: float = parameter(1.0, COST, "Cost of an error beyond epsilon. Infinite is as good as 1e10.")
    epsilon: float = parameter(0.1, Number(low=0, search=(1e-3, 1.0), log=True), "Error that costs nothing.")
    shrinking: bool = parameter(
        True, Flag(), "Whether rows that rest on a bound leave the problem until it is solved without them."
    )
    cache_size: float = parameter(
        200, Number(above=0), "Megabytes for columns of the kernel matrix; a working set's are kept in any case."
    )
    verbose: bool | int = parameter(False, Either(Flag(), Integer(low=0)), VERBOSE)
    max_iter: int = parameter(-1, Integer(low=-1), "Most working sets; -1 means no limit.")

    support_: NDArray[np.int64] = attribute(ArrayOf("n_support", kind="i", low=0), "Rows that are support vectors.")
    support_vectors_: Any = attribute(ROWS, "The support vectors, empty for a precomputed kernel.")
    dual_coef_: Any = attribute(
        OneOf(ArrayOf(1, "n_support"), SparseOf(1, "n_support")),
        "Coefficients of the support vectors, (1, n_support), sparse if the rows are.",
    )
    intercept_: NDArray[np.float64] = attribute(ArrayOf("n_machines"), "The constant, (1,).")
    objective_: float = attribute(PER_MACHINE, "Dual objective.")
    gap_: float = attribute(PER_MACHINE, "Primal minus dual objective.")
    violation_: float = attribute(PER_MACHINE, "What is left of the violation of optimality.")
    n_iter_: int = attribute(OneOf(Count(), ArrayOf(None, kind="i", low=0)), "Working sets.")
    fit_status_: int = attribute(Count(), "0 if the problem was solved, else 1.")
    shape_fit_: tuple[int, int] = attribute(ListOf(Count()), "Rows and columns of the training table.")

    _stored_rules = (every_coefficient,)
    _may_be_empty = ("n_support",)

    @property
    def n_support_(self) -> NDArray[np.int64]:
        """Number of support vectors, (1,)."""
        return np.array([len(self.support_)])

    @property
    def coef_(self) -> Any:
        """Weights of the columns, (1, p), of the linear kernel, sparse if the rows are."""
        return linear_weights(self, dense(self.dual_coef_))

    def fit(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> SVR:
        """Learn from rows X and numbers y."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        state: dict[str, Any] | None = None,
    ) -> Iterator[Record]:
        """Learn, yielding a record every few working sets."""
        self._check_parameters()
        X, y = self._check(X, numeric_target(self, y), y_numeric=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        rows = np.flatnonzero(weights > 0)
        if len(rows) == 0:
            raise ValueError("SVR: sample_weight must be positive for some row; got only zeros.")
        kernel = self._kernel_for(X, weights)
        self._refuse_huge_values(kernel, X)
        problem = self._problem(X, np.asarray(y, dtype=np.float64), rows, finite_cost(self.C) * weights[rows], kernel)
        self._loop = loop = _Solving(problem)
        if state is not None:
            loop.restore(state)
        while not loop.finished:
            with blas_threads(1):
                loop.finished = solve_some(problem, self.max_iter)
            loop.iteration += 1
            self._learn(X, rows, kernel, problem)
            yield Record(loop.iteration, describe(problem))
        self._learn(X, rows, kernel, problem)
        if not problem.solved:
            limit = "the limit of rounding" if self.max_iter < 0 else f"max_iter={self.max_iter} working sets"
            warn_user(
                f"SVR: the problem reached {limit} before tol; scale the columns or allow more.", ConvergenceWarning
            )

    def predict(self, X: MatrixLike) -> NDArray[np.float64]:
        """The value of the machine for every row."""
        values = self._expand(self._new_rows(X), self.support_, self.support_vectors_, dense(self.dual_coef_))
        return values[:, 0] + self.intercept_[0]

    def _problem(self, X: Any, y: Any, rows: Any, bounds: Any, kernel: Kernel | str) -> DualProblem:
        dtype: Any = np.float64
        if isinstance(kernel, Kernel):
            dtype = column_dtype(kernel, X[rows], float(bounds.max()), self.tol)
        columns, settings = columns_for(kernel, X, rows, dtype), (bool(self.shrinking), float(self.cache_size))
        return DualProblem(columns, y[rows], -bounds, bounds, float(self.epsilon), self.tol, *settings)

    def _learn(self, X: Any, rows: Any, kernel: Kernel | str, problem: DualProblem) -> None:
        used = np.flatnonzero(problem.beta)
        self.kernel_ = kernel
        self.support_ = rows[used]
        self.support_vectors_ = kept_rows(kernel, X, self.support_)
        self.dual_coef_ = as_rows(problem.beta[used][None, :], self.support_vectors_)
        self.intercept_ = np.array([problem.offset])
        numbers = describe(problem)
        self.objective_, self.gap_, self.violation_ = (numbers[name] for name in ("objective", "gap", "violation"))
        self.n_iter_, self.fit_status_ = problem.iteration, int(not problem.solved)
        self.shape_fit_ = (int(X.shape[0]), int(X.shape[1]))


class _Solving:
    """The running fit: the problem, and how many records there were."""

    def __init__(self, problem: DualProblem):
        self.problem, self.iteration, self.finished = problem, 0, False

    def state(self) -> dict[str, Any]:
        return {"iteration": self.iteration, "finished": self.finished, "problem": self.problem.state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.iteration, self.finished = int(state["iteration"]), bool(state["finished"])
        self.problem.restore(state["problem"])
