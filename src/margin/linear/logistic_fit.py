"""The running fit of a logistic regression: which solver, in which variables, how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from margin.core.randomness import as_generator
from margin.linear.average_gradients import AverageGradients
from margin.linear.logistic_descent import Newton, NewtonCG, PreconditionedQuasiNewton
from margin.linear.logistic_loss import LabeledRows, Likelihood
from margin.linear.logistic_proximal import ProximalNewton
from margin.linear.separation import separating_direction

__all__ = ["SOLVERS", "LogisticFit", "strengths"]

SOLVERS = ("auto", "lbfgs", "newton-cholesky", "newton-cg", "liblinear", "sag", "saga", "proximal")
CORNERS = ("auto", "liblinear", "saga", "proximal")  # those that can take a penalty on absolute values

NEWTON_WORK = 3e8  # n p^2 up to which a Newton step with all rows is cheaper than setting up anything else
# An automatic fit of several classes that has not ended after so many steps goes on by Newton's, which units of columns
# do not slow down, where one of them takes at most about half a second.
SLOW_STEPS, RESCUE_WORK = 50, 1e9
SMALL_OBJECTIVE = 0.025  # the mean objective below which what is left of it tells how far a fit goes
SEPARATION_WORK = 2_000_000  # entries of X up to which the linear program that decides about separation is run
SUSPICIOUS_SCORE = 8.0  # a margin this large without a penalty is an outlier or a sign of separation


def strengths(model: Any, total: float) -> tuple[float, float]:
    """L1 and L2 strengths beside the mean loss of rows whose weights sum to ``total``."""
    if model.penalty is None or np.isinf(model.C):
        return 0.0, 0.0
    ratio = {"l2": 0.0, "l1": 1.0}.get(model.penalty, float(model.l1_ratio))
    strength = 1.0 / (model.C * total)
    return strength * ratio, strength * (1.0 - ratio)


class LogisticFit:
    """A solver, how often it stepped, and when it is done; ``start`` (p + 1, k) are parameters to begin with."""

    def __init__(
        self,
        model: Any,
        rows: LabeledRows,
        classes: int,
        start: np.ndarray | None = None,
        solver: Callable[[float], Newton] | None = None,
    ):
        self.model, self.iteration = model, 0
        self.dtype = rows.X.dtype  # of the user's table, and so of what is learned
        self.separated = False  # without a penalty: the present scores separate the classes
        scores = 1 if classes == 2 else classes
        l1, l2 = strengths(model, rows.total)
        self.penalized = l1 > 0 or l2 > 0
        self.by_newton = self.may_change = False
        if solver is not None:  # of a stream, in the user's own columns
            self.variables, self.solver = _Variables(rows.X), solver(l2)
            self._begin_at(start)
            return
        name = _solver_name(model, scores, l1, l2)
        self.variables = _variables(model, rows, l2)
        inner = rows._replace(X=self.variables.X)
        free = bool(model.fit_intercept) and name != "liblinear"
        if name in ("liblinear", "auto"):
            name = _automatic(inner, scores, l1)
        self.solver = _solver(name, model, inner, scores, l1, l2, free)
        self.may_change = model.solver == "auto" and name == "lbfgs" and _newton_is_cheap(inner, scores)
        self._begin_at(start)

    def _begin_at(self, start: np.ndarray | None) -> None:
        if start is not None:
            self.solver.begin_at(self.variables.inner(start))

    def start(self) -> None:
        self.solver.start()

    @property
    def theta(self) -> np.ndarray:
        """The parameters (p + 1, k) in the columns of the user's table, the last row the intercepts."""
        return self.variables.outer(self.solver.theta)

    def step(self) -> None:
        self.solver.step()
        self.iteration += 1
        if self.may_change and self.iteration == SLOW_STEPS and not self.converged:
            self._change_to_newton(self.solver.theta.copy()).start()
        # Rows that are all on the right side have a loss below log 2 each; a far smaller mean makes it worth a look.
        if not self.penalized and self.solver.value < 0.1:
            self.separated = bool(self._margins().min() > 0)

    @property
    def wanted(self) -> float:
        """The residual at which the fit ends.

        Where nearly all rows are far on the right side, gradients vanish long before the end: they are then held
        against what is left of the objective.
        """
        relative = isinstance(self.solver, _StochasticSolver)
        left = 1.0 if relative else min(1.0, self.solver.value / SMALL_OBJECTIVE)
        return float(self.model.tol * left)

    @property
    def converged(self) -> bool:
        return bool(self.solver.residual <= self.wanted or self.solver.stuck)

    @property
    def finished(self) -> bool:
        return self.separated or self.converged or self.iteration >= self.model.max_iter

    @property
    def objective(self) -> float:
        return float(self.solver.value * self.solver.likelihood.rows.total)

    def values(self) -> dict[str, float]:
        return {"objective": self.objective, "gradient_norm": self.solver.residual}

    def separable(self) -> bool | None:
        if self.penalized:
            return None
        if self.separated:
            return True
        if np.abs(self._margins()).max() < SUSPICIOUS_SCORE and self.converged:
            return False
        if not isinstance(self.solver.likelihood.rows, LabeledRows):
            return None  # a stream is too large to decide
        X, y, _ = self.solver.likelihood.rows
        classes = len(self.model.classes_)
        if X.shape[0] * X.shape[1] * (classes - 1) ** 2 > SEPARATION_WORK:
            return None
        return separating_direction(X, y, classes, intercept=bool(self.model.fit_intercept)) is not None

    def state(self) -> dict[str, Any]:
        progress = {"iteration": self.iteration, "separated": self.separated, "by_newton": self.by_newton}
        return {**progress, "solver": self.solver.state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.iteration, self.separated = int(state["iteration"]), bool(state["separated"])
        if state["by_newton"]:
            self._change_to_newton(self.solver.theta)
        self.solver.restore(state["solver"])

    def _change_to_newton(self, theta: np.ndarray) -> Newton:
        newton = Newton(self.solver.likelihood)
        newton.begin_at(theta)
        self.solver, self.by_newton = newton, True
        return newton

    def _margins(self) -> np.ndarray:
        return self.solver.likelihood.margins(self.solver.theta)


@dataclass(frozen=True)
class _Variables:
    """The columns in which a solver works: the user's own, those with a constant among them, or the span of the rows.

    ``scaling`` > 0 says that the last inner column is the constant ``scaling``, penalized like any other. ``span``
    (p, r) are orthonormal directions: coefficients are ``span`` times r unknowns.
    """

    X: Any
    scaling: float = 0.0
    span: np.ndarray | None = None

    def outer(self, theta: np.ndarray) -> np.ndarray:
        if self.scaling:
            theta = np.vstack([theta[:-2], self.scaling * theta[-2]])
        return theta if self.span is None else np.vstack([self.span @ theta[:-1], theta[-1]])

    def inner(self, theta: np.ndarray) -> np.ndarray:
        if self.span is not None:
            theta = np.vstack([self.span.T @ theta[:-1], theta[-1]])
        if not self.scaling:
            return theta.copy()
        return np.vstack([theta[:-1], theta[-1] / self.scaling, np.zeros(theta.shape[1])])


def _variables(model: Any, rows: LabeledRows, l2: float) -> _Variables:
    X, span = rows.X, None
    if model.dual and l2 > 0:
        X, span = _span_of_rows(X)
    if model.solver != "liblinear" or not model.fit_intercept:
        return _Variables(X, 0.0, span)
    constant = np.full((X.shape[0], 1), float(model.intercept_scaling), dtype=X.dtype)
    X = sp.hstack([X, sp.csr_array(constant)]).tocsr() if sp.issparse(X) else np.hstack([X, constant])
    return _Variables(X, float(model.intercept_scaling), span)


def _span_of_rows(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (n, r) of the rows in an orthonormal basis (p, r) of their span.

    With an L2 penalty the solution lies in that span, so n unknowns do where p columns were.
    """
    dense = X.toarray() if sp.issparse(X) else X
    Q, R = np.linalg.qr(np.asarray(dense, dtype=np.float64).T)
    return np.ascontiguousarray(R.T), Q


def _solver_name(model: Any, scores: int, l1: float, l2: float) -> str:
    name = str(model.solver)
    if l1 > 0 and name not in CORNERS:
        raise ValueError(
            f"LogisticRegression: solver={name!r} cannot take a penalty on absolute values; that needs one of "
            f"{', '.join(map(repr, CORNERS))}."
        )
    if name == "liblinear" and scores > 1:
        raise ValueError(f"LogisticRegression: solver='liblinear' is for two classes; got {scores}.")
    if name == "liblinear" and l1 == l2 == 0.0:
        raise ValueError("LogisticRegression: solver='liblinear' needs a penalty.")
    if model.dual and not (l1 == 0.0 < l2):
        raise ValueError("LogisticRegression: dual=True needs a pure L2 penalty.")
    return name


def _automatic(rows: LabeledRows, scores: int, l1: float) -> str:
    n, p = rows.X.shape
    if l1 > 0:
        return "proximal"
    return "newton-cholesky" if scores == 1 and n * (p + 1.0) ** 2 <= NEWTON_WORK and p <= n + 100 else "lbfgs"


def _newton_is_cheap(rows: LabeledRows, scores: int) -> bool:
    """Whether a step with the Hessian of all scores is worth trying."""
    (n, p), dense = rows.X.shape, not sp.issparse(rows.X)
    unknowns = scores * (p + 1.0)
    return dense and n * unknowns**2 + unknowns**3 <= RESCUE_WORK


def _solver(name: str, model: Any, rows: LabeledRows, scores: int, l1: float, l2: float, intercept: bool) -> Any:
    if name == "proximal":
        return ProximalNewton(Likelihood(rows, scores, 0.0, intercept), l1, l2)
    smooth = Likelihood(rows, scores, l2, intercept)
    if name in ("sag", "saga"):
        return _StochasticSolver(smooth, l1, saga=name == "saga", rng=as_generator(model.random_state))
    return {"newton-cholesky": Newton, "newton-cg": NewtonCG, "lbfgs": PreconditionedQuasiNewton}[name](smooth)


class _StochasticSolver:
    """SAG or SAGA with the interface of :class:`margin.linear.logistic_descent.Newton`; a step visits n random rows.

    ``residual`` is the largest change of a coefficient in the last step relative to the largest coefficient.
    """

    stuck = False

    def __init__(self, likelihood: Likelihood, l1: float, *, saga: bool, rng: np.random.Generator):
        self.likelihood, self.l1 = likelihood, l1
        X, y, weights = likelihood.rows
        binary = likelihood.columns == 1
        targets = y[:, None] if binary else np.eye(likelihood.columns)[y]
        self.descent = AverageGradients(
            X,
            targets,
            weights,
            rng,
            loss="logistic" if binary else "softmax",
            saga=saga,
            intercept=likelihood.intercept,
            l1=l1,
            l2=likelihood.ridge,
        )

    def begin_at(self, theta: np.ndarray) -> None:
        self.descent.begin_at(theta)

    def start(self) -> None:
        self._measure()

    def step(self) -> None:
        self.descent.epoch()
        self._measure()

    @property
    def theta(self) -> np.ndarray:
        return self.descent.theta

    @property
    def residual(self) -> float:
        return self.descent.change

    def state(self) -> dict[str, Any]:
        return self.descent.state()

    def restore(self, state: dict[str, Any]) -> None:
        self.descent.restore(state)
        self._measure()

    def _measure(self) -> None:
        smooth, _ = self.likelihood.value_and_gradient(self.theta)
        self.value = smooth + self.l1 * float(np.abs(self.theta[:-1]).sum())
