r"""The linear machine with hinge loss, by a primal-dual interior-point method in the number of columns.

.. math::
    \min_{w,b}\; \tfrac12\|w\|^2 + \sum_i c_i\max(0, 1-y_if_i)
    \quad\Longleftrightarrow\quad
    \max_{0\le\alpha_i\le c_i,\; y^\top\alpha=0}\; \textstyle\sum_i\alpha_i - \tfrac12\|Z^\top\alpha\|^2

(the equality only if there is b), with Z = diag(y) X and :math:`w = Z^\top\alpha`. With multipliers u and v of the two
bounds the steps solve

.. math:: \bigl(I + Z^\top D^{-1}Z\bigr)\Delta w + \dots = \dots,\qquad D = u/\alpha + v/(c-\alpha),

a system of d + 1 unknowns (Mehrotra's predictor and corrector share its factor), or of n unknowns when d > n.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from numpy.typing import NDArray

from margin.kernels.blocked_products import Table, times, transposed_times, weighted_gram

__all__ = ["Hinge", "hinge_objective"]

Floats = NDArray[np.float64]

ARRAYS = ("alpha", "room", "u", "v", "theta")
# Added to the diagonal, relative to its largest entry, where rounding took definiteness; ten times more each time.
FIRST_RIDGE = 1e-15
TO_BOUNDARY = 0.995  # fraction of the way to the nearest bound that a step may go


def hinge_objective(theta: Floats, X: Table, y: Floats, bounds: Floats, *, intercept: bool) -> float:
    """The primal objective; the last entry of ``theta`` is b if ``intercept``."""
    w = theta[:-1] if intercept else theta
    return 0.5 * float(w @ w) + float(bounds @ np.maximum(1 - y * times(X, theta, ones=intercept), 0))


class Hinge:
    """Where the interior-point method stands: alpha inside its bounds, their multipliers u and v, w and b."""

    names = ("objective", "gap")

    def __init__(self, X: Table, y: Floats, bounds: Floats, *, intercept: bool, tol: float, dual: bool | str = "auto"):
        self.X, self.y, self.c, self.intercept, self.tol = X, y, bounds, intercept, tol
        n = X.shape[0]
        self.alpha, self.u, self.v = 0.5 * bounds, np.ones(n), np.ones(n)
        self.room = bounds - self.alpha  # c - alpha as a number of its own: near the bound the difference has no digits
        self.theta = self._w(self.alpha)
        self.iteration, self.objective, self.gap = 0, float(bounds.sum()), np.inf
        by_rows = X.shape[1] > n if isinstance(dual, str) else dual
        self.gram = _dense(X @ X.T) if by_rows else None

    @property
    def solved(self) -> bool:
        return self.gap <= self.tol * (1 + abs(self.objective))

    @property
    def measure(self) -> float:
        return self.gap / (1 + abs(self.objective))

    def step(self) -> None:
        """Predictor, centering by how far it got, corrector."""
        self.iteration += 1
        mu = (self.alpha @ self.u + self.room @ self.v) / (2 * len(self.y))
        residual = 1 + self.u - self.v - self.y * times(self.X, self.theta, ones=self.intercept)
        D = self.u / self.alpha + self.v / self.room
        solve = self._factored(D)
        plain = self._direction(solve, D, residual, -self.u, -self.v)
        reach = self._longest(*plain[1:])
        after = self._complementarity(reach, plain) / (2 * len(self.y))
        target = (after / mu) ** 3 * mu
        to_u = (target - plain[1] * plain[2]) / self.alpha - self.u
        to_v = (target + plain[1] * plain[3]) / self.room - self.v
        theta, alpha, u, v = self._direction(solve, D, residual, to_u, to_v)
        t = min(1.0, TO_BOUNDARY * self._longest(alpha, u, v))
        self.theta = self.theta + t * theta
        self.alpha, self.room = self.alpha + t * alpha, self.room - t * alpha
        self.u, self.v = self.u + t * u, self.v + t * v
        self._measure()

    def state(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).copy() for name in ARRAYS}
        return arrays | {"iteration": self.iteration, "objective": self.objective, "gap": self.gap}

    def restore(self, state: dict[str, Any]) -> Hinge:
        for name in ARRAYS:
            setattr(self, name, np.array(state[name]))
        self.iteration, self.objective, self.gap = int(state["iteration"]), float(state["objective"]), state["gap"]
        return self

    def _w(self, alpha: Floats) -> Floats:
        w = transposed_times(self.X, alpha * self.y, ones=False)
        return np.append(w, 0.0) if self.intercept else w

    def _measure(self) -> None:
        w = self.theta[:-1] if self.intercept else self.theta
        self.objective = hinge_objective(self.theta, self.X, self.y, self.c, intercept=self.intercept)
        unbalanced = abs(float(self.y @ self.alpha)) if self.intercept else 0.0
        # The dual value counts only as far as its constraint holds; b times what is missing makes up for it.
        shift = abs(self.theta[-1]) * unbalanced if self.intercept else 0.0
        self.gap = max(self.objective - float(self.alpha.sum()) + 0.5 * float(w @ w), 0.0) + unbalanced + shift

    def _factored(self, D: Floats) -> Callable[[Floats], tuple[Floats, Floats]]:
        """A function from q to the solution (change of theta, change of alpha) of the reduced system."""
        missing = -float(self.y @ self.alpha)
        if self.gram is not None:
            return self._factored_by_rows(D, missing)
        inverse = 1 / D
        system = weighted_gram(self.X, inverse, ones=self.intercept)
        system[np.diag_indices(self.X.shape[1])] += 1.0
        factor = _cholesky(system)

        def solve(q: Floats) -> tuple[Floats, Floats]:
            right = transposed_times(self.X, self.y * q * inverse, ones=self.intercept)
            if self.intercept:
                right[-1] -= missing
            theta = sla.cho_solve(factor, right, check_finite=False)
            return theta, inverse * (q - self.y * times(self.X, theta, ones=self.intercept))

        return solve

    def _factored_by_rows(self, D: Floats, missing: float) -> Callable[[Floats], tuple[Floats, Floats]]:
        assert self.gram is not None
        factor = _cholesky(self.gram * np.outer(self.y, self.y) + np.diag(D))
        along_y = sla.cho_solve(factor, self.y, check_finite=False)

        def solve(q: Floats) -> tuple[Floats, Floats]:
            alpha = sla.cho_solve(factor, q, check_finite=False)
            shift = (float(self.y @ alpha) - missing) / float(self.y @ along_y) if self.intercept else 0.0
            alpha -= shift * along_y
            theta = self._w(alpha)
            if self.intercept:
                theta[-1] = shift
            return theta, alpha

        return solve

    def _direction(
        self, solve: Callable[[Floats], tuple[Floats, Floats]], D: Floats, residual: Floats, to_u: Floats, to_v: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        theta, alpha = solve(residual + to_u - to_v)
        return theta, alpha, to_u - self.u / self.alpha * alpha, to_v + self.v / self.room * alpha

    def _longest(self, alpha: Floats, u: Floats, v: Floats) -> float:
        """The largest step that leaves everything positive."""
        pairs = ((self.alpha, alpha), (self.room, -alpha), (self.u, u), (self.v, v))
        limits = [np.min(-value[change < 0] / change[change < 0], initial=np.inf) for value, change in pairs]
        return float(min(min(limits), 1 / TO_BOUNDARY))

    def _complementarity(self, t: float, direction: tuple[Floats, Floats, Floats, Floats]) -> float:
        _, alpha, u, v = direction
        t = min(t, 1.0)
        low = (self.alpha + t * alpha) @ (self.u + t * u)
        return float(low + (self.room - t * alpha) @ (self.v + t * v))


def _dense(matrix: Any) -> Floats:
    return matrix.toarray() if sp.issparse(matrix) else matrix


def _cholesky(system: Floats) -> Any:
    """The Cholesky factor, of a slightly larger matrix if need be: the next step takes the difference out."""
    largest = float(np.max(np.diag(system)))
    for ridge in (0.0, *(FIRST_RIDGE * 10.0**k for k in range(8))):
        try:
            return sla.cho_factor(system + ridge * largest * np.eye(len(system)), check_finite=False)
        except np.linalg.LinAlgError:
            continue
    raise FloatingPointError("LinearSVC: the numbers of X are too large or too uneven; scale the columns first.")
