r"""Newton's method for the linear machine with squared hinge loss.

.. math::
    J(\theta) = \tfrac12\|w\|^2 + \sum_i c_i\max\bigl(0,\, 1 - y_i f_i\bigr)^2,\qquad f = Xw + b,\quad \theta = (w, b).

J is convex and piecewise quadratic: on the active rows (:math:`y_i f_i < 1`) the gradient is
:math:`w - 2\sum c_i(1-y_if_i)y_i\tilde x_i` and the Hessian :math:`I_w + 2\sum c_i\tilde x_i\tilde x_i^\top`. Newton's
step with an exact search along it ends in a few steps; on many rows it starts from the solution on a part of them.
With many columns the step is found by conjugate gradients, which need products with X only, as far as it pays. Many
sparse rows start with coordinate descent in the dual, which for such rows is mostly all that is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lapack

from margin.compiled.svm import newton_step
from margin.kernels.blocked_products import Table, times, transposed_times, weighted_gram
from margin.kernels.dual_descent import DualDescent

__all__ = [
    "SquaredHinge",
    "conjugate_gradients",
    "exact_step",
    "penalize",
    "solve_positive",
    "squared_hinge_objective",
]

Floats = NDArray[np.float64]

SAMPLE_ROWS, SAMPLE_PER_COLUMN = 4096, 20  # rows of the part, at least; more with more columns
SAMPLE_TOLERANCE = 1e-3  # the part's solution is off by sampling anyway
STEP_SEARCHES = 50  # Newton steps of the search, which mostly needs two
DIRECT_COLUMNS = 1500  # up to here the Hessian is formed (18 MB) and factored
CLOSE_STEP, MOST_PRODUCTS = 0.1, 500  # of conjugate gradients: fraction of the gradient left, products with the Hessian
DESCENT_ENTRIES = 200_000  # stored numbers of sparse rows from which descent is faster than Newton's steps
COMPILED_COLUMNS, COMPILED_WORK = 64, 400_000  # up to here (n p^2) a step in one call beats BLAS in twenty
DESCENT_PASSES = 60  # of descent, at most: where the dual is ill-conditioned Newton's steps get further
# Of the objective: a step that lowers it by more was not the last, nor is one that leaves such a duality gap, however
# small the gradient is against that at zero, which a large C makes a poor measure.
MOST_FALL, MOST_GAP = 1e-4, 0.05
ENOUGH_FLATTER = 1e-3  # slope left after the search, as a fraction of that before


def squared_hinge_objective(
    theta: Floats, X: Table, y: Floats, bounds: Floats, *, intercept: bool
) -> tuple[float, Floats]:
    """J and its gradient; the last entry of ``theta`` is b if ``intercept``."""
    slack = np.maximum(1 - y * times(X, theta, ones=intercept), 0)
    weighted = bounds * slack
    w = penalize(theta, intercept)
    value = 0.5 * float(w @ w) + float(weighted @ slack)
    return value, w - 2 * transposed_times(X, weighted * y, ones=intercept)


def exact_step(slope: float, curvature: float, slack: Floats, fall: Floats, bounds: Floats) -> float:
    r"""The t > 0 that minimizes :math:`\text{slope}\,t + \frac12\text{curvature}\,t^2 + \sum c_i(s_i - t\,g_i)_+^2`.

    The derivative is piecewise linear and rising: Newton's method on it, kept inside the interval that holds the root.
    """
    t, low, high = 1.0, 0.0, np.inf
    start = abs(slope - 2 * float(bounds @ (np.maximum(slack, 0) * fall)))
    for _ in range(STEP_SEARCHES):
        left = slack - t * fall
        active = left > 0
        pull = bounds[active] * fall[active]
        derivative = slope + curvature * t - 2 * float(pull @ left[active])
        if abs(derivative) <= ENOUGH_FLATTER * start:
            break
        low, high = (t, high) if derivative < 0 else (low, t)
        steepness = curvature + 2 * float(pull @ fall[active])
        if steepness == 0:  # costs so small that squares underflow: t changes nothing
            break
        t -= derivative / steepness
        if not low < t < high:
            t = 2 * low if np.isinf(high) else 0.5 * (low + high)
    return t


class SquaredHinge:
    """Where Newton's method stands for labels ``y`` (-1 or 1): ``theta``, objective, gradient norm."""

    names = ("objective", "gradient")

    def __init__(
        self,
        X: Table,
        y: Floats,
        bounds: Floats,
        *,
        intercept: bool,
        tol: float,
        dual: bool | str = "auto",
        seed: int | None = None,
    ):
        self.X, self.y, self.bounds, self.intercept, self.tol = X, y, bounds, intercept, tol
        self.dual, self.seed = dual, seed
        self.theta = np.zeros(X.shape[1] + intercept)
        self.iteration, self.objective, self.gradient = 0, float(bounds.sum()), np.inf
        self.fell = np.inf  # by how much the last step lowered the objective
        self.memory = self._memory()
        self.stride = max(1, X.shape[0] // max(SAMPLE_ROWS, SAMPLE_PER_COLUMN * X.shape[1]))
        descends = sp.issparse(X) and dual == "auto" and X.shape[1] > DIRECT_COLUMNS and X.nnz >= DESCENT_ENTRIES
        self.descent = DualDescent(X, y, bounds, intercept=intercept, seed=seed) if descends else None
        # Whether the part has been solved, or is not worth it.
        self.sampled = self.stride < 4 or descends
        first = squared_hinge_objective(self.theta, X, y, bounds, intercept=intercept)[1]
        self.scale = float(np.linalg.norm(first)) or 1.0

    @property
    def solved(self) -> bool:
        flat = self.gradient <= self.tol * self.scale and self.fell <= MOST_FALL * self.objective
        return flat and self._gap() <= MOST_GAP * self.objective

    @property
    def measure(self) -> float:
        return self.gradient / self.scale

    def _gap(self) -> float:
        r"""The objective less that of the dual at :math:`\alpha_i = 2C_i(1-y_if_i)_+`: no less than its excess.

        A free intercept asks for as much :math:`\alpha` on one side as on the other; that of one side is reduced.
        """
        slack = np.maximum(1 - self.y * times(self.X, self.theta, ones=self.intercept), 0)
        alpha = 2 * self.bounds * slack
        if self.intercept:
            sides = [float(alpha[self.y > 0].sum()), float(alpha[self.y < 0].sum())]
            alpha *= np.where(self.y > 0, min(sides) / (sides[0] or 1.0), min(sides) / (sides[1] or 1.0))
        w = self.X.T @ (alpha * self.y)
        squares = np.divide(alpha**2, 4 * self.bounds, out=np.zeros_like(alpha), where=self.bounds > 0)
        return self.objective - float(alpha.sum() - squares.sum()) + 0.5 * float(w @ w)

    def step(self) -> None:
        """One Newton step on all rows; the very first one on a part of them, until that is solved; or some passes."""
        self.iteration += 1
        if self.descent is not None and self.descent.passes < DESCENT_PASSES:
            return self._descend(self.descent)
        if not self.sampled:
            self.sampled = True
            part = self._part()
            X, y = self.X[part] if sp.issparse(self.X) else np.ascontiguousarray(self.X[part]), self.y[part]
            bounds = self.bounds[part] * (self.bounds.sum() / (self.bounds[part].sum() or 1.0))
            inner = SquaredHinge(X, y, bounds, intercept=self.intercept, tol=SAMPLE_TOLERANCE, dual=self.dual)
            while not inner.solved and inner.iteration < STEP_SEARCHES:
                inner.step()
            self.theta = inner.theta
        return self._newton()

    def state(self) -> dict[str, Any]:
        names = ("iteration", "objective", "gradient", "fell", "sampled")
        descent = None if self.descent is None else self.descent.state()
        return {name: getattr(self, name) for name in names} | {"theta": self.theta.copy(), "descent": descent}

    def restore(self, state: dict[str, Any]) -> SquaredHinge:
        self.theta, self.iteration = np.array(state["theta"]), int(state["iteration"])
        self.objective, self.gradient, self.fell = (float(state[name]) for name in ("objective", "gradient", "fell"))
        self.sampled = bool(state["sampled"])
        if self.descent is not None:
            self.descent.restore(state["descent"])
        return self

    def _descend(self, descent: DualDescent) -> None:
        """Passes in the dual; their result counts if it is better, as the primal objective may rise on the way."""
        theta = descent.step()
        value, gradient = squared_hinge_objective(theta, self.X, self.y, self.bounds, intercept=self.intercept)
        self.fell = self.objective - value
        if value < self.objective:
            self.theta, self.objective, self.gradient = theta, value, float(np.linalg.norm(gradient))

    def _memory(self) -> tuple[Floats, ...] | None:
        """What the compiled step works in; None where the step is left to BLAS."""
        n, p = self.X.shape
        if sp.issparse(self.X) or self.dual is True or p > COMPILED_COLUMNS or n * p * p > COMPILED_WORK:
            return None
        self.X, self.y, self.bounds = (np.ascontiguousarray(part) for part in (self.X, self.y, self.bounds))
        d = len(self.theta)
        return np.empty(n), np.empty(n), np.empty((d, d)), np.empty(d), np.empty(3)

    def _newton(self) -> None:
        if self.memory is not None:
            given = self.X, self.y, self.bounds, STEP_SEARCHES, ENOUGH_FLATTER, self.theta
            if newton_step(*given, *self.memory):
                self.objective, self.fell, self.gradient = self.memory[-1].tolist()
                return
        slack = 1 - self.y * times(self.X, self.theta, ones=self.intercept)
        active = np.where(slack > 0, self.bounds, 0.0)
        w = penalize(self.theta, self.intercept)
        before = 0.5 * float(w @ w) + float(active @ slack**2)
        gradient = w - 2 * transposed_times(self.X, active * slack * self.y, ones=self.intercept)
        direction = self._direction(gradient, active)
        fall = self.y * times(self.X, direction, ones=self.intercept)
        p = penalize(direction, self.intercept)
        t = exact_step(float(p @ w), float(p @ p), slack, fall, self.bounds)
        self.theta = self.theta + t * direction
        slack -= t * fall
        active = self.bounds * np.maximum(slack, 0)
        w = penalize(self.theta, self.intercept)
        self.objective = 0.5 * float(w @ w) + float(active @ np.maximum(slack, 0))
        self.fell = before - self.objective
        gradient = w - 2 * transposed_times(self.X, active * self.y, ones=self.intercept)
        self.gradient = float(np.linalg.norm(gradient))

    def _part(self) -> Any:
        """The rows on which many rows start: every k-th, or drawn by a seed."""
        if self.seed is None:
            return slice(None, None, self.stride)
        n = self.X.shape[0]
        return np.sort(np.random.default_rng(self.seed).choice(n, size=len(range(0, n, self.stride)), replace=False))

    def _direction(self, gradient: Floats, active: Floats) -> Floats:
        if self.dual is True:
            return self._dual_step(gradient, active)
        direct = self.X.shape[1] <= DIRECT_COLUMNS
        return self._direct_step(gradient, active) if direct else self._iterative_step(gradient, active)

    def _dual_step(self, gradient: Floats, active: Floats) -> Floats:
        r"""Newton's step by a system of the active rows.

        .. math:: (I + X^\top DX)^{-1} = I - X^\top(D^{-1} + XX^\top)^{-1}X

        b is eliminated last: it has no penalty, hence no identity in its block.
        """
        used = active > 0
        X, weights = self.X[used], 2 * active[used]
        system = _dense(X @ X.T)
        system[np.diag_indices(len(weights))] += 1 / weights

        def solve(r: Floats) -> Floats:
            return r - X.T @ solve_positive(system, X @ r) if len(weights) else r

        if not self.intercept:
            return -solve(gradient)
        cross, corner = X.T @ weights, float(weights.sum())
        along, onto = solve(gradient[:-1]), solve(cross)
        rest = corner - float(cross @ onto)
        b = (float(cross @ along) - gradient[-1]) / rest if rest > 0 else 0.0
        return np.append(-along - b * onto, b)

    def _direct_step(self, gradient: Floats, active: Floats) -> Floats:
        hessian = weighted_gram(self.X, 2 * active, ones=self.intercept)
        hessian[np.diag_indices(self.X.shape[1])] += 1.0
        if self.intercept and not active.any():
            hessian[-1, -1] = 1.0  # no active row: b is free and stays
        return -solve_positive(hessian, gradient)

    def _iterative_step(self, gradient: Floats, active: Floats) -> Floats:
        """Conjugate gradients, scaled by the diagonal of the Hessian; closer the nearer the solution is."""
        used = active > 0
        X, weights = self.X[used], 2 * active[used]
        squares = X.multiply(X) if sp.issparse(X) else X**2
        diagonal = 1 + squares.T @ weights
        if self.intercept:
            diagonal = np.append(diagonal, weights.sum() or 1.0)

        def product(p: Floats) -> Floats:
            pulled = weights * times(X, p, ones=self.intercept)
            return penalize(p, self.intercept) + transposed_times(X, pulled, ones=self.intercept)

        size = float(np.linalg.norm(gradient))
        close = size * min(CLOSE_STEP, np.sqrt(size / self.scale))
        return conjugate_gradients(product, -gradient, diagonal, close)


def solve_positive(system: Floats, right: Floats) -> Floats:
    """The solution by Cholesky's method, also where rounding took definiteness."""
    # LAPACK itself: on a small table the checks of scipy.linalg.solve take longer than the solution.
    _, solution, failed = lapack.dposv(system.T, right, lower=1)
    return _solve_nearly_singular(system, right) if failed else solution


def _solve_nearly_singular(hessian: Floats, gradient: Floats) -> Floats:
    """The step where rounding hides the penalty: one row of 1e9 makes all columns equal in sixteen digits.

    On a unit diagonal as much is added as rounding took away, more until Cholesky's method succeeds. The matrix stays
    positive definite, so the step still leads down.
    """
    root = np.sqrt(hessian.diagonal())
    scaled = hessian / root[:, None] / root
    added = len(root) * np.finfo(float).eps
    while True:
        scaled[np.diag_indices(len(root))] = 1.0 + added
        _, solution, failed = lapack.dposv(scaled.T, gradient / root, lower=1)
        if not failed or not np.isfinite(added):
            return solution / root
        added *= 100.0


def conjugate_gradients(product: Callable[[Floats], Floats], right: Floats, diagonal: Floats, close: float) -> Floats:
    """The x with A x = ``right`` to a residual of ``close``; A is positive definite and known by its products.

    >>> A = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> conjugate_gradients(lambda p: A @ p, np.array([3.0, 5.0]), np.diag(A), 1e-12).round(9).tolist()
    [0.8, 1.4]
    """
    x, residual = np.zeros_like(right), right.copy()
    scaled = residual / diagonal
    p, rho = scaled.copy(), float(residual @ scaled)
    for _ in range(MOST_PRODUCTS):
        if np.linalg.norm(residual) <= close:
            break
        Ap = product(p)
        t = rho / float(p @ Ap)
        x += t * p
        residual -= t * Ap
        scaled = residual / diagonal
        rho, before = float(residual @ scaled), rho
        p = scaled + (rho / before) * p
    return x


def _dense(matrix: Any) -> Floats:
    return matrix.toarray() if sp.issparse(matrix) else matrix


def penalize(theta: Floats, intercept: bool) -> Floats:
    """theta with zero in place of b, which is not penalized."""
    if not intercept:
        return theta
    w = theta.copy()
    w[-1] = 0.0
    return w
