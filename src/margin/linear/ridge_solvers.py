r"""The ways to a ridge solution, by the names scikit-learn gives them; all minimize

.. math:: \sum_i w_i \lVert y_i - b - B^\top x_i \rVert^2 + \alpha \lVert B \rVert^2 .

"cholesky" solves the normal equations of the smaller Gram matrix. "svd" divides by :math:`s_j^2 + \alpha` in the
singular directions of the centered rows. "lsqr" and "sparse_cg" need only products with X. "sag" and "saga" visit one
random row at a time. "lbfgs" is the one that keeps coefficients non-negative by bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from margin.linear.average_gradients import AverageGradients
from margin.linear.least_squares import Solution, centered_operator, solve_iteratively
from margin.linear.moments import moments
from margin.linear.nonnegative import nonnegative_least_squares
from margin.linear.penalized_least_squares import ridge, ridge_by_svd

__all__ = ["SOLVERS", "RidgeIterations", "RidgeProblem"]

FLAT = 64 * np.finfo(float).eps  # relative decrease that is rounding, where a bounded search ends
STOCHASTIC_EPOCHS = 1000  # visits to all rows if max_iter does not say


@dataclass(frozen=True)
class RidgeProblem:
    """``X`` (n, p; dense or CSR), ``Y`` (n, q), one penalty, and how exactly an iteration is to be run."""

    X: Any
    Y: np.ndarray
    alpha: float
    weights: np.ndarray | None
    intercept: bool
    tol: float = 1e-4
    max_iter: int | None = None
    positive: bool = False
    rng: np.random.Generator | None = None


@dataclass(frozen=True)
class RidgeIterations:
    """How many iterations every target took, and whether one of them ended before ``tol`` was reached."""

    steps: np.ndarray
    unfinished: bool


Found = tuple[Solution, RidgeIterations | None]  # None where a closed form was solved


def _cholesky(problem: RidgeProblem) -> Found:
    if problem.positive:
        return nonnegative_least_squares(
            problem.X, problem.Y, problem.weights, intercept=problem.intercept, alpha=problem.alpha
        ), None
    return ridge(problem.X, problem.Y, problem.alpha, problem.weights, intercept=problem.intercept), None


def _svd(problem: RidgeProblem) -> Found:
    if sp.issparse(problem.X):
        raise ValueError("solver='svd' takes a dense X; got a sparse one.")
    w = np.ones(len(problem.Y)) if problem.weights is None else problem.weights
    mean_x = w @ problem.X / w.sum() if problem.intercept else np.zeros(problem.X.shape[1])
    mean_y = w @ problem.Y / w.sum() if problem.intercept else np.zeros(problem.Y.shape[1])
    root = np.sqrt(w)[:, None]
    rows, targets = root * (problem.X - mean_x), root * (problem.Y - mean_y)
    coef, rank = ridge_by_svd(rows, targets, problem.alpha)
    rss = ((targets - rows @ coef) ** 2).sum(axis=0)
    return Solution(coef, mean_y - mean_x @ coef, rank, rss), None


def _lsqr(problem: RidgeProblem) -> Found:
    solution, steps, unfinished = solve_iteratively(
        problem.X,
        problem.Y,
        problem.weights,
        intercept=problem.intercept,
        alpha=problem.alpha,
        tol=problem.tol,
        max_iter=problem.max_iter,
    )
    return solution, RidgeIterations(steps, unfinished)


def _sparse_cg(problem: RidgeProblem) -> Found:
    rows = centered_operator(problem.X, problem.Y, problem.weights, intercept=problem.intercept)
    p = problem.X.shape[1]
    normal = LinearOperator(
        (p, p), dtype=np.float64, matvec=lambda v: rows.operator.rmatvec(rows.operator.matvec(v)) + problem.alpha * v
    )
    steps = np.zeros(problem.Y.shape[1], dtype=int)
    coefs, unfinished = [], False
    for j, target in enumerate(rows.targets.T):

        def count(_: Any, j: int = j) -> None:
            steps[j] += 1

        right = rows.operator.rmatvec(target)
        coef, info = cg(normal, right, rtol=problem.tol, atol=0.0, maxiter=problem.max_iter, callback=count)
        coefs.append(coef)
        unfinished |= info > 0
    coef = np.column_stack(coefs)
    rss = ((rows.targets - rows.operator.matmat(coef)) ** 2).sum(axis=0)
    return Solution(coef, rows.mean_y - rows.mean_x @ coef, None, rss), RidgeIterations(steps, unfinished)


def _lbfgs(problem: RidgeProblem) -> Found:
    from scipy.optimize import minimize

    m = moments(problem.X, problem.Y, problem.weights, centered=problem.intercept)
    if not m.finite:
        raise FloatingPointError("X holds a value that is not finite, or squares overflow.")
    p, q = m.xy.shape
    bounds = [(0, None) if problem.positive else (None, None)] * p
    coef, steps, unfinished = np.zeros((p, q)), np.zeros(q, dtype=int), False
    for j in range(q):

        def half(b: np.ndarray, j: int = j) -> tuple[float, np.ndarray]:
            slope = m.xx @ b + problem.alpha * b
            return float(0.5 * b @ slope - m.xy[:, j] @ b), slope - m.xy[:, j]

        limit = 15_000 if problem.max_iter is None else problem.max_iter
        options = {"maxiter": limit, "gtol": problem.tol, "ftol": FLAT}
        optimum = minimize(half, coef[:, j], jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        coef[:, j], steps[j] = optimum.x, optimum.nit
        unfinished |= optimum.status == 1
    rss = m.yy - (2 * coef * m.xy - coef * (m.xx @ coef)).sum(axis=0)
    return Solution(coef, m.mean_y - m.mean_x @ coef, None, rss), RidgeIterations(steps, unfinished)


def _average(saga: bool) -> Callable[[RidgeProblem], Found]:
    def solve(problem: RidgeProblem) -> Found:
        assert problem.rng is not None
        total = float(len(problem.Y) if problem.weights is None else problem.weights.sum())
        limit = STOCHASTIC_EPOCHS if problem.max_iter is None else problem.max_iter
        if not np.isfinite(problem.X.data if sp.issparse(problem.X) else problem.X).all():
            raise FloatingPointError("X holds a value that is not finite.")
        w = np.ones(len(problem.Y)) if problem.weights is None else problem.weights
        # Centered rows need no intercept on the way; sparse ones would be dense then.
        centered = problem.intercept and not sp.issparse(problem.X)
        mean_x = w @ problem.X / w.sum() if centered else np.zeros(problem.X.shape[1])
        mean_y = w @ problem.Y / w.sum() if centered else np.zeros(problem.Y.shape[1])
        X = problem.X - mean_x if centered else problem.X
        steps, thetas, unfinished = np.zeros(problem.Y.shape[1], dtype=int), [], False
        for j, target in enumerate((problem.Y - mean_y).T):
            descent = AverageGradients(
                X,
                target[:, None],
                problem.weights,
                problem.rng,
                loss="squared",
                saga=saga,
                intercept=problem.intercept and not centered,
                l2=problem.alpha / total,
            )
            while steps[j] < limit and descent.change > problem.tol:
                descent.epoch()
                steps[j] += 1
            thetas.append(descent.theta[:, 0])
            unfinished |= descent.change > problem.tol
        theta = np.column_stack(thetas)
        intercepts = theta[-1] + mean_y - mean_x @ theta[:-1]
        rss = w @ (problem.Y - (problem.X @ theta[:-1] + intercepts)) ** 2
        return Solution(theta[:-1], intercepts, None, rss), RidgeIterations(steps, unfinished)

    return solve


SOLVERS: dict[str, Callable[[RidgeProblem], Found]] = {
    "svd": _svd,
    "cholesky": _cholesky,
    "lsqr": _lsqr,
    "sparse_cg": _sparse_cg,
    "sag": _average(saga=False),
    "saga": _average(saga=True),
    "lbfgs": _lbfgs,
}
