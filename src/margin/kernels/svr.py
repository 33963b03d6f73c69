r"""Support vector regression: errors up to epsilon are free, larger ones cost their excess.

.. math::
    \min_{w,b}\; \tfrac12\|w\|^2 + \sum_i C_i\bigl(|y_i - w^\top\phi(x_i) - b| - \epsilon\bigr)_+
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight

from margin.core.domains import Flag, Integer, Number
from margin.core.estimator import IterativeEstimator
from margin.core.notices import warn_user
from margin.core.records import Record
from margin.core.threads import blas_threads
from margin.kernels.dual import DualProblem
from margin.kernels.dual_classifier import describe, solve_some
from margin.kernels.kernel import Kernel
from margin.kernels.kernel_model import KernelModel, columns_for, kept_rows
from margin.kernels.kernel_names import COEF0, DEGREE, GAMMA, KERNEL
from margin.kernels.optimality import offset_between
from margin.kernels.precision import column_dtype

__all__ = ["SVR"]


class SVR(RegressorMixin, KernelModel, IterativeEstimator):
    """Kernel support vector regression; parameters as in :class:`~margin.kernels.SVC`, ``epsilon`` is the free error.

    Learned: ``support_``, ``support_vectors_``, ``dual_coef_`` (1, n_support), ``intercept_`` (1,), ``kernel_``,
    ``objective_`` (dual), ``gap_``, ``violation_``, ``n_iter_``.

    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = SVR(C=100.0, epsilon=0.01).fit(X, X[:, 0] ** 2)
    >>> bool(np.abs(model.predict(X) - X[:, 0] ** 2).max() < 0.0111)
    True
    """

    takes_sparse = True
    domains = {
        "kernel": KERNEL,
        "degree": DEGREE,
        "gamma": GAMMA,
        "coef0": COEF0,
        "tol": Number(above=0),
        "C": Number(above=0, search=(1e-2, 1e3), log=True),
        "epsilon": Number(low=0, search=(1e-3, 1.0), log=True),
        "shrinking": Flag(),
        "cache_size": Number(above=0),
        "max_iter": Integer(low=1),
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200.0,
        max_iter: int = 10_000,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SVR:
        """Learn from rows X and numbers y."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record every few working sets."""
        self._check_parameters()
        X, y = self._checked(X, y, y_numeric=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        rows = np.flatnonzero(weights > 0)
        if len(rows) == 0:
            raise ValueError("SVR: sample_weight must be positive for some row; got only zeros.")
        kernel = self._kernel_for(X, weights)
        problem = self._problem(X, np.asarray(y, dtype=np.float64), rows, self.C * weights[rows], kernel)
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
            warn_user(
                f"SVR: max_iter={self.max_iter} working sets were not enough for tol; scale the columns or allow more.",
                ConvergenceWarning,
            )

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The value of the machine for every row."""
        values = self._expand(self._new_rows(X), self.support_, self.support_vectors_, self.dual_coef_)
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
        self.dual_coef_ = problem.beta[used][None, :]
        offset = offset_between(problem.score, problem.beta, problem.low, problem.high, problem.epsilon)
        self.intercept_ = np.array([offset])
        numbers = describe(problem)
        self.objective_, self.gap_, self.violation_ = (numbers[name] for name in ("objective", "gap", "violation"))
        self.n_iter_ = problem.iteration


class _Solving:
    """The running fit: the problem, and how many records there were."""

    def __init__(self, problem: DualProblem):
        self.problem, self.iteration, self.finished = problem, 0, False

    def state(self) -> dict[str, Any]:
        return {"iteration": self.iteration, "finished": self.finished, "problem": self.problem.state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.iteration, self.finished = int(state["iteration"]), bool(state["finished"])
        self.problem.restore(state["problem"])
