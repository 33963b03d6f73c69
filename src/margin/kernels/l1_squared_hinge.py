r"""The linear machine with squared hinge loss and an L1 penalty, by a proximal Newton method.

.. math:: J(w, b) = \|w\|_1 + \sum_i c_i\max(0, 1 - y_i f_i)^2,\qquad f = Xw + b .

A step minimizes the quadratic model of the loss plus the penalty itself, over the columns whose weight is not zero or
wants to leave zero (:math:`|g_j| > 1`); the others stay. The Hessian of those columns alone is ever formed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from margin.kernels.blocked_products import Table, times, transposed_times, weighted_gram

__all__ = ["L1SquaredHinge", "l1_objective", "least_subgradient"]

Floats = NDArray[np.float64]

NEW_COLUMNS = 500  # that may leave zero in one step, the worst first: their Hessian is a dense matrix
SMALLEST_CURVATURE = 1e-10  # of the largest on the diagonal, added to it: columns may repeat each other
PASSES, INNER_TOLERANCE = 200, 1e-3  # of coordinate descent; changes relative to the largest at its start
SUFFICIENT, HALVINGS = 1e-4, 40  # of the line search (Armijo)


def l1_objective(theta: Floats, X: Table, y: Floats, bounds: Floats, *, intercept: bool) -> tuple[float, Floats]:
    """J, and the gradient of its loss; the last entry of ``theta`` is b if ``intercept``."""
    slack = np.maximum(1 - y * times(X, theta, ones=intercept), 0)
    penalty = float(np.abs(theta[:-1] if intercept else theta).sum())
    return penalty + float(bounds @ slack**2), -2 * transposed_times(X, bounds * slack * y, ones=intercept)


def least_subgradient(theta: Floats, gradient: Floats, penalty: Floats) -> Floats:
    """The entries of the subgradient of J nearest to zero: all zero at the minimum and nowhere else.

    >>> least_subgradient(np.array([0.0, 0.0, 2.0]), np.array([0.5, -1.5, -1.0]), np.ones(3)).tolist()
    [0.0, -0.5, 0.0]
    """
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - penalty, 0.0)
    return np.where(theta == 0, at_zero, gradient + penalty * np.sign(theta))


class L1SquaredHinge:
    """Where the method stands for labels ``y`` (-1 or 1): ``theta``, objective, size of the least subgradient."""

    def __init__(self, X: Table, y: Floats, bounds: Floats, *, intercept: bool, tol: float):
        self.X, self.y, self.bounds, self.intercept, self.tol = X, y, bounds, intercept, tol
        self.theta = np.zeros(X.shape[1] + intercept)
        self.penalty = np.ones_like(self.theta)
        if intercept:
            self.penalty[-1] = 0.0
        self.iteration = 0
        self.objective, gradient = l1_objective(self.theta, X, y, bounds, intercept=intercept)
        self.scale = float(np.linalg.norm(gradient)) or 1.0
        self.subgradient = float(np.linalg.norm(least_subgradient(self.theta, gradient, self.penalty)))

    @property
    def measure(self) -> float:
        return self.subgradient / self.scale

    @property
    def solved(self) -> bool:
        return self.measure <= self.tol

    def step(self) -> None:
        """One proximal Newton step."""
        from margin.compiled.svm import lasso_step

        self.iteration += 1
        slack = 1 - self.y * times(self.X, self.theta, ones=self.intercept)
        active = np.where(slack > 0, self.bounds, 0.0)
        gradient = -2 * transposed_times(self.X, active * slack * self.y, ones=self.intercept)
        chosen = self._columns(gradient)
        hessian = self._hessian(chosen, active)
        scale = np.sqrt(np.diag(hessian))
        start = least_subgradient(self.theta[chosen], gradient[chosen], self.penalty[chosen])
        tol = INNER_TOLERANCE * float(np.max(np.abs(start) / scale, initial=0.0))
        direction, d = np.zeros_like(self.theta), np.zeros(len(chosen))
        lasso_step(hessian, gradient[chosen], self.theta[chosen], self.penalty[chosen], tol, PASSES, d)
        direction[chosen] = d
        self._search(direction, gradient, slack)
        _, gradient = l1_objective(self.theta, self.X, self.y, self.bounds, intercept=self.intercept)
        self.subgradient = float(np.linalg.norm(least_subgradient(self.theta, gradient, self.penalty)))

    def state(self) -> dict[str, Any]:
        names = ("iteration", "objective", "subgradient")
        return {name: getattr(self, name) for name in names} | {"theta": self.theta.copy()}

    def restore(self, state: dict[str, Any]) -> L1SquaredHinge:
        self.theta, self.iteration = np.array(state["theta"]), int(state["iteration"])
        self.objective, self.subgradient = float(state["objective"]), float(state["subgradient"])
        return self

    def _columns(self, gradient: Floats) -> NDArray[np.int64]:
        """Columns of this step, rising; b, the last, always."""
        wish = np.where(self.theta == 0, np.abs(gradient) - self.penalty, 0.0)
        worst = np.argsort(-wish, kind="stable")[:NEW_COLUMNS]
        chosen = (self.theta != 0) | (self.penalty == 0)
        chosen[worst[wish[worst] > 0]] = True
        return np.flatnonzero(chosen)

    def _hessian(self, chosen: NDArray[np.int64], active: Floats) -> Floats:
        columns = chosen[chosen < self.X.shape[1]]
        part = self.X[:, columns]
        part = part.tocsr() if sp.issparse(part) else np.ascontiguousarray(part)
        hessian = weighted_gram(part, 2 * active, ones=self.intercept)
        largest = float(np.max(np.diag(hessian), initial=0.0)) or 1.0
        hessian[np.diag_indices(len(hessian))] += SMALLEST_CURVATURE * largest
        return hessian

    def _search(self, direction: Floats, gradient: Floats, slack: Floats) -> None:
        """The longest of the steps 1, 1/2, 1/4, ... that lowers J as much as its slope promises."""
        moved = self.y * times(self.X, direction, ones=self.intercept)
        before = float(self.penalty @ np.abs(self.theta))
        promised = float(gradient @ direction) + float(self.penalty @ np.abs(self.theta + direction)) - before
        t = 1.0
        for _ in range(HALVINGS):
            theta = self.theta + t * direction
            left = np.maximum(slack - t * moved, 0)
            value = float(self.penalty @ np.abs(theta)) + float(self.bounds @ left**2)
            if value <= self.objective + SUFFICIENT * t * promised:
                self.theta, self.objective = theta, value
                return
            t /= 2
