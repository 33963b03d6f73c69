r"""The linear machine with hinge loss, by a primal-dual interior-point method in the number of columns.

.. math::
    \min_{w,b}\; \tfrac12\|w\|^2 + \sum_i c_i\max(0, 1-y_if_i)
    \quad\Longleftrightarrow\quad
    \max_{0\le\alpha_i\le c_i,\; y^\top\alpha=0}\; \textstyle\sum_i\alpha_i - \tfrac12\|Z^\top\alpha\|^2

(the equality only if there is b), with Z = diag(y) X and :math:`w = Z^\top\alpha`. With multipliers u and v of the two
bounds the steps solve

.. math:: \bigl(I + Z^\top D^{-1}Z\bigr)\Delta w + \dots = \dots,\qquad D = u/\alpha + v/(c-\alpha),

a system of d + 1 unknowns (Mehrotra's predictor and corrector share its factor), or of n unknowns when d > n.

The method begins in the middle of the bounds, which suits classes that overlap. Where c is so large that a separating
w is a small difference of huge alphas, rounding ends its progress; it then begins again at alphas of the size that such
a w needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from numpy.typing import NDArray

from margin.core.restoring import restore
from margin.kernels.blocked_products import Table, times, transposed_times, weighted_gram

__all__ = ["Hinge", "hinge_objective"]

Floats = NDArray[np.float64]

ARRAYS = ("alpha", "room", "u", "v", "at", "theta")
NUMBERS = ("objective", "dual_value", "closest")
COUNTS = ("iteration", "start", "without_gain")
LEAST_GAIN = 0.99  # of the distance between primal and dual value, which a step must bring below this
PATIENCE = 15  # steps that bring primal and dual value no closer: rounding is in the way
# Added to the diagonal, relative to its largest entry, where rounding took definiteness; ten times more each time.
FIRST_RIDGE = 1e-15
TO_BOUNDARY = 0.995  # fraction of the way to the nearest bound that a step may go


def hinge_objective(theta: Floats, X: Table, y: Floats, bounds: Floats, *, intercept: bool) -> float:
    """The primal objective; the last entry of ``theta`` is b if ``intercept``."""
    w = theta[:-1] if intercept else theta
    return 0.5 * float(w @ w) + float(bounds @ np.maximum(1 - y * times(X, theta, ones=intercept), 0))


class Hinge:
    """Where the interior-point method stands: alpha inside its bounds, their multipliers u and v, w and b in ``at``.

    ``theta`` is the best w and b so far and ``objective`` its primal value; ``dual_value`` is the highest.
    """

    names = ("objective", "gap")

    def __init__(self, X: Table, y: Floats, bounds: Floats, *, intercept: bool, tol: float, dual: bool | str = "auto"):
        self.X, self.y, self.c, self.intercept, self.tol = X, y, bounds, intercept, tol
        self.theta = np.zeros(X.shape[1] + intercept)
        self.iteration, self.objective, self.dual_value = 0, float(bounds.sum()), 0.0
        by_rows = X.shape[1] > X.shape[0] if isinstance(dual, str) else dual
        self.gram = _dense(X @ X.T) if by_rows else None
        self.start = 0
        self._begin(0.5 * bounds, np.ones(X.shape[0]))

    def _begin(self, alpha: Floats, v: Floats) -> None:
        self.alpha, self.u, self.v = alpha, np.ones(len(alpha)), v
        self.room = self.c - alpha  # c - alpha as a number of its own: near the bound the difference has no digits
        self.at, self.without_gain = self._w(alpha), 0
        self.closest = np.inf  # that primal and dual value of one step have been since this start

    @property
    def gap(self) -> float:
        return self.objective - self.dual_value

    @property
    def solved(self) -> bool:
        return self.gap <= self.tol * (1 + abs(self.objective))

    @property
    def stalled(self) -> bool:
        """Whether neither start gets any further: rounding is larger than what is left of the gap."""
        return self.start == 1 and self.without_gain >= PATIENCE

    @property
    def measure(self) -> float:
        return self.gap / (1 + abs(self.objective))

    def step(self) -> None:
        """Predictor, centering by how far it got, corrector; from the second start where the first leads no further."""
        self.iteration += 1
        with np.errstate(all="ignore"):  # what is not finite is no gain
            try:
                self._move()
                gained = self._measure()
            except np.linalg.LinAlgError:
                gained = False
        finite = bool(np.isfinite(self.at).all())
        self.without_gain = 0 if gained else self.without_gain + 1 if finite else PATIENCE
        if not finite and self.start == 1 and not self.theta.any():
            self.theta = self.at  # numbers overflow from the first step on
        if self.without_gain >= PATIENCE and self.start == 0:
            self.start = 1
            alpha = np.minimum(0.5 * self.c, 1 / max(self._mean_square(), np.finfo(float).tiny))
            self._begin(alpha, alpha / (self.c - alpha))

    def _mean_square(self) -> float:
        """Mean of the squared norms of the rows."""
        values = self.X.data if sp.issparse(self.X) else self.X
        return float(np.vdot(values, values)) / self.X.shape[0]

    def _move(self) -> None:
        mu = (self.alpha @ self.u + self.room @ self.v) / (2 * len(self.y))
        residual = 1 + self.u - self.v - self.y * times(self.X, self.at, ones=self.intercept)
        D = self.u / self.alpha + self.v / self.room
        solve = self._factor_system(D)
        plain = self._direction(solve, D, residual, -self.u, -self.v)
        reach = self._longest(*plain[1:])
        after = self._complementarity(reach, plain) / (2 * len(self.y))
        target = (after / mu) ** 3 * mu
        to_u = (target - plain[1] * plain[2]) / self.alpha - self.u
        to_v = (target + plain[1] * plain[3]) / self.room - self.v
        theta, alpha, u, v = self._direction(solve, D, residual, to_u, to_v)
        t = min(1.0, TO_BOUNDARY * self._longest(alpha, u, v))
        self.at = self.at + t * theta
        self.alpha, self.room = self.alpha + t * alpha, self.room - t * alpha
        self.u, self.v = self.u + t * u, self.v + t * v

    def state(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).copy() for name in ARRAYS}
        return arrays | {name: getattr(self, name) for name in (*NUMBERS, *COUNTS)}

    def restore(self, state: dict[str, Any]) -> Hinge:
        for name in ARRAYS:
            setattr(self, name, restore(state, name, getattr(self, name)))
        kinds: tuple[tuple[tuple[str, ...], type], ...] = ((NUMBERS, float), (COUNTS, int))
        for names, kind in kinds:
            for name in names:
                setattr(self, name, kind(state[name]))
        return self

    def _w(self, alpha: Floats) -> Floats:
        w = transposed_times(self.X, alpha * self.y, ones=False)
        return np.append(w, 0.0) if self.intercept else w

    def _measure(self) -> bool:
        """Take the step into account; whether its primal and dual value are closer than those of all before."""
        value = hinge_objective(self.at, self.X, self.y, self.c, intercept=self.intercept)
        if value < self.objective:
            self.theta, self.objective = self.at, value
        unbalanced = abs(float(self.y @ self.alpha)) if self.intercept else 0.0
        # The dual value counts only as far as its constraint holds; b times what is missing makes up for it. Its w is
        # that of alpha: the one of the steps drifts away by rounding.
        missing = (1 + abs(float(self.at[-1]))) * unbalanced if self.intercept else 0.0
        w = transposed_times(self.X, self.alpha * self.y, ones=False)
        dual_value = float(self.alpha.sum()) - 0.5 * float(w @ w) - missing
        if dual_value > self.dual_value:
            self.dual_value = dual_value
        gained = value - dual_value < LEAST_GAIN * self.closest
        self.closest = value - dual_value if gained else self.closest
        return gained

    def _factor_system(self, D: Floats) -> Callable[[Floats], tuple[Floats, Floats]]:
        """A function from q to the solution (change of theta, change of alpha) of the reduced system."""
        missing = -float(self.y @ self.alpha)
        if self.gram is not None:
            return self._factor_by_rows(D, missing)
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

    def _factor_by_rows(self, D: Floats, missing: float) -> Callable[[Floats], tuple[Floats, Floats]]:
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
    raise np.linalg.LinAlgError("the system of a step is not positive definite")
