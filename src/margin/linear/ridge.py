r"""Ridge regression: least squares with a penalty on the squared length of the coefficients.

.. math:: \min_{\theta, \theta_0} \; \sum_i w_i (y_i - \theta_0 - \theta^\top x_i)^2 + \alpha \lVert\theta\rVert_2^2
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import _check_sample_weight, validate_data

from margin.core.domains import Choice, Either, Flag, Integer, Number, Optional, Seed, Sequence
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, OneOf, Real, StringOf, sometimes
from margin.core.notices import warn_user
from margin.core.number_range import power_of_two
from margin.core.parameters import COPY, attribute, parameter
from margin.core.precision import in_precision_of
from margin.core.randomness import RandomLike, as_generator
from margin.core.streaming import RowBlock
from margin.core.targets import numeric_target
from margin.linear.least_squares import Solution
from margin.linear.moment_summary import MomentSummary
from margin.linear.moments import RegressionMoments
from margin.linear.penalized_least_squares import (
    default_alphas,
    leave_one_out_mse,
    ridge_from_moments,
    ridge_of_dependent_moments,
)
from margin.linear.ridge_solvers import SOLVERS, RidgeIterations, RidgeProblem
from margin.linear.stored import ITERATIONS, NUMBER_OR_ROW

__all__ = ["Ridge"]


class Ridge(MomentSummary, MultiOutputMixin, RegressorMixin, Estimator):
    r"""Linear regression for correlated or many columns; the intercept :math:`\theta_0` carries no penalty.

    By default it is solved in closed form, at the cost of one product of ``X`` with itself: the smaller of n p^2 and
    n^2 p operations. Several columns of ``y`` are fitted at once; ``X`` may be sparse.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[-1.0], [0.0], [1.0]]), [-1.0, 1.0, 3.0]
    >>> model = Ridge(alpha=2.0).fit(X, y)
    >>> model.coef_, float(model.intercept_)
    (array([1.]), 1.0)
    >>> bool(Ridge(alpha="loo").fit(X, y).coef_[0] > 1.99)  # exact data need no penalty
    True
    """

    alpha: Any = parameter(
        1.0,
        Either(Number(low=0, search=(1e-4, 1e4), log=True), Choice("loo"), Sequence(Number(low=0), min_length=1)),
        'Strength of the L2 penalty, or one per target; "loo" takes the one of alphas with the least exact '
        "leave-one-out error.",
    )
    _: KW_ONLY
    fit_intercept: bool = parameter(True, Flag(), "Whether a constant is fitted.")
    copy_X: bool = parameter(True, Flag(), COPY)
    max_iter: int | None = parameter(
        None, Optional(Integer(low=1)), "Most iterations of a solver that iterates; None leaves it to the solver."
    )
    tol: float = parameter(1e-4, Number(low=0), "Precision at which a solver that iterates stops.")
    solver: str = parameter(
        "auto",
        Choice("auto", *SOLVERS, search=False),
        'The method. "auto" and "cholesky" are closed forms, exact to rounding; the others reach the same solution by '
        "other ways.",
    )
    positive: bool = parameter(
        False, Flag(), 'Whether coefficients must not be negative; for solver "auto" (exact) and "lbfgs".'
    )
    random_state: RandomLike = parameter(None, Seed(), 'Draws the rows that "sag" and "saga" visit.')
    alphas: Any = parameter(
        None,
        Optional(Sequence(Number(above=0), min_length=1)),
        'Penalties among which alpha="loo" chooses; None takes 37 in the scale of the data.',
    )

    coef_: np.ndarray = attribute(
        OneOf(ArrayOf("n_features"), ArrayOf("n_targets", "n_features")),
        "Weights of the columns, (p,) or (targets, p).",
    )
    intercept_: float | np.ndarray = attribute(
        NUMBER_OR_ROW, "The constant, one number or one per target; 0 if none is fitted."
    )
    n_iter_: np.ndarray = attribute(sometimes(ITERATIONS), "Iterations per target; 1 where a closed form was solved.")
    solver_: str = attribute(StringOf(), "The method that was used.")
    alpha_: float | np.ndarray = attribute(OneOf(Real(), ArrayOf(None)), "The penalty that was used.")
    alphas_: np.ndarray = attribute(sometimes(ArrayOf(None)), 'Penalties that were compared under alpha="loo".')
    loo_mse_: np.ndarray = attribute(
        sometimes(ArrayOf(None, finite=False)), "Mean squared leave-one-out error of each of alphas_."
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Ridge:
        """Learn from all rows."""
        self._check_parameters()
        y = numeric_target(self, y)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", ensure_all_finite=False, y_numeric=True, multi_output=True
        )
        Y = np.asarray(y, dtype=np.float64)
        assert_all_finite(Y, estimator_name="Ridge", input_name="y")
        ndim, Y = Y.ndim, Y.reshape(len(Y), -1)
        loo = isinstance(self.alpha, str)
        # Coefficients are linear in y, so its squares need not overflow; errors that are compared are squares.
        unit = 1.0 if loo else power_of_two(np.abs(Y).max(initial=0.0))
        Y = Y if unit == 1 else Y / unit
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        solver = self._solver()
        try:
            tried = self._leave_one_out(X, Y, weights) if loo else {}
            alpha = float(tried["alphas_"][np.argmin(tried["loo_mse_"])]) if loo else self._penalties(Y.shape[1])
            # In loops of a solver products are larger than squares; SciPy 1.14 goes on with what has overflowed.
            with np.errstate(over="raise", invalid="raise"):
                solution, run = self._solve(solver, X, Y, alpha, weights)
        except FloatingPointError:
            self._refuse_overflow(X, Y)
            raise ValueError(
                f"Ridge: X must be small enough that nothing overflows in solver={solver!r}; got numbers up to "
                f"{abs(X).max():.3g}; scale it first."
            ) from None
        self.__dict__.pop("alphas_", None), self.__dict__.pop("loo_mse_", None)
        self.__dict__.update(tried)
        self.alpha_, self.solver_ = alpha, solver
        self.n_iter_ = np.ones(Y.shape[1], dtype=int) if run is None else run.steps
        if run is not None and run.unfinished:
            warn_user(
                f"Ridge: solver={solver!r} ended after {self.n_iter_.max()} iterations above tol={self.tol:g}; allow "
                "more by max_iter.",
                ConvergenceWarning,
            )
        return self._learn(X, solution, unit, plain=ndim == 1)

    def summarize(self, block: RowBlock) -> RegressionMoments:
        """The moments of some rows of a stream."""
        if isinstance(self.alpha, str) or self.positive or self.solver not in ("auto", "cholesky"):
            raise ValueError(
                f"Ridge: of a stream or of pieces only the closed form is solved; got alpha={self.alpha!r}, "
                f"solver={self.solver!r}, positive={self.positive!r}."
            )
        return super().summarize(block)

    def solve(self, summary: RegressionMoments) -> Ridge:
        """Learn from the moments of all rows."""
        alpha = self._penalties(1)
        self.__dict__.pop("alphas_", None), self.__dict__.pop("loo_mse_", None)
        self.alpha_, self.solver_, self.n_iter_ = alpha, "cholesky", np.ones(1, dtype=int)
        solution = ridge_from_moments(summary, float(alpha)) or ridge_of_dependent_moments(summary, float(alpha))
        return self._learn(np.zeros(0), solution, 1.0, plain=True)

    def _learn(self, X: Any, solution: Solution, unit: float, *, plain: bool) -> Ridge:
        self._forget()
        targets = solution.coef.shape[1]
        intercept = solution.intercept if self.fit_intercept else np.zeros(targets)
        # As in scikit-learn, y of one column gives plain coefficients but keeps its dimension in the constant.
        coef, intercept = in_precision_of(X, solution.coef * unit), in_precision_of(X, intercept * unit)
        self.coef_ = coef[:, 0].copy() if targets == 1 else np.ascontiguousarray(coef.T)
        self.intercept_ = intercept[0] if plain or not self.fit_intercept else intercept
        return self

    def _solver(self) -> str:
        if not self.positive or self.solver in ("auto", "lbfgs"):
            return "cholesky" if self.solver == "auto" else self.solver
        raise ValueError(f"Ridge: positive=True needs solver 'auto' or 'lbfgs'; got {self.solver!r}.")

    def _penalties(self, targets: int) -> float | np.ndarray:
        if np.ndim(self.alpha) == 0:
            return float(self.alpha)
        alphas = np.asarray(self.alpha, dtype=np.float64)
        if len(alphas) not in (1, targets):
            raise ValueError(f"Ridge: alpha must be one number or one per target, {targets}; got {len(alphas)}.")
        return float(alphas[0]) if len(alphas) == 1 else alphas

    def _solve(
        self, solver: str, X: Any, Y: np.ndarray, alpha: float | np.ndarray, weights: np.ndarray | None
    ) -> tuple[Solution, RidgeIterations | None]:
        rng = as_generator(self.random_state) if solver in ("sag", "saga") else None
        intercept, positive = bool(self.fit_intercept), bool(self.positive)

        def solve(targets: np.ndarray, penalty: float) -> tuple[Solution, RidgeIterations | None]:
            problem = RidgeProblem(
                X, targets, penalty, weights, intercept, float(self.tol), self.max_iter, positive, rng
            )
            try:
                return SOLVERS[solver](problem)
            except ValueError as error:
                raise ValueError(f"Ridge: {error}") from None

        if np.ndim(alpha) == 0:
            return solve(Y, float(alpha))
        parts = [solve(Y[:, [j]], float(penalty)) for j, penalty in enumerate(np.asarray(alpha))]
        solutions = [solution for solution, _ in parts]
        joined = Solution(
            np.hstack([part.coef for part in solutions]),
            np.concatenate([part.intercept for part in solutions]),
            solutions[0].rank,
            np.concatenate([part.rss for part in solutions]),
        )
        runs = [run for _, run in parts if run is not None]
        if not runs:
            return joined, None
        return joined, RidgeIterations(np.concatenate([run.steps for run in runs]), any(run.unfinished for run in runs))

    def _leave_one_out(self, X: Any, Y: np.ndarray, weights: np.ndarray | None) -> dict[str, np.ndarray]:
        if sp.issparse(X):
            raise ValueError('Ridge: alpha="loo" takes a dense X; got a sparse one.')
        self._refuse_overflow(X, Y)
        intercept = bool(self.fit_intercept)
        given = self.alphas is not None
        alphas = np.array(self.alphas, dtype=float) if given else default_alphas(X, weights, intercept=intercept)
        return {"alphas_": alphas, "loo_mse_": leave_one_out_mse(X, Y, alphas, weights, intercept=intercept)}
