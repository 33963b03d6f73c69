r"""Proximal Newton for a likelihood with an L1 or elastic-net penalty.

.. math:: \min_\theta \; F(\theta) + \lambda_1 \lVert W \rVert_1 + \tfrac{\lambda_2}2 \lVert W \rVert^2

One score at a time, F is replaced by its second-order expansion in the columns that matter (those with a coefficient,
and as many others whose gradient exceeds :math:`\lambda_1` most); coordinate descent minimizes it and a line search
makes it safe.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.linear.logistic_loss import LabeledRows, Likelihood

__all__ = ["ProximalNewton"]

INNER_SWEEPS = 1000
# New columns of a step at least: of thousands that ask for a coefficient at first, few still do once others have one.
NEW_COLUMNS = 100
HALVINGS = 40
ARMIJO = 1e-4  # fraction of the promised decrease that a step must deliver


class ProximalNewton:
    """The same interface as :class:`margin.linear.logistic_descent.Newton`; ``likelihood.ridge`` is zero here."""

    def __init__(self, likelihood: Likelihood, l1: float, l2: float):
        self.likelihood, self.l1, self.l2 = likelihood, l1, l2
        self.theta = np.zeros(likelihood.shape)
        self.stuck = False

    def begin_at(self, theta: np.ndarray) -> None:
        """Start from these parameters instead of zeros."""
        self.theta = theta

    def start(self) -> ProximalNewton:
        loss, self.gradient = self.likelihood.value_and_gradient(self.theta)
        self.value = loss + self._penalty(self.theta)
        return self

    @property
    def residual(self) -> float:
        """The largest entry of the smallest subgradient: zero exactly at the minimum."""
        coef, slope = self.theta[:-1], self.gradient[:-1] + self.l2 * self.theta[:-1]
        at_zero = np.maximum(np.abs(slope) - self.l1, 0.0)
        inside = np.where(coef != 0, np.abs(slope + self.l1 * np.sign(coef)), at_zero)
        return float(max(inside.max(initial=0.0), np.abs(self.gradient[-1]).max()))

    def step(self) -> None:
        """One expansion per score; ``stuck`` afterwards when none of them lowers the value."""
        moved = [self._improve(column) for column in range(self.likelihood.columns)]
        self.stuck = not any(moved)

    def state(self) -> dict[str, Any]:
        return {
            "theta": self.theta.copy(),
            "value": self.value,
            "gradient": self.gradient.copy(),
            "stuck": self.stuck,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.theta, self.gradient = np.array(state["theta"]), np.array(state["gradient"])
        self.value, self.stuck = float(state["value"]), bool(state["stuck"])

    def _improve(self, column: int) -> bool:
        from margin.compiled.linear import quadratic_descent

        coef, slope = self.theta[:-1, column], self.gradient[:-1, column]
        working = self._working(coef, slope)
        with_offset = np.append(working, len(coef))
        gradient, Q = self.gradient[with_offset, column], self._curvature(column, working)
        # The offset is free, so it is solved for: a descent that visits it like any other coefficient crawls where
        # columns are far from zero. What remains is the problem of columns centered by their curvature.
        offset = Q[-1, -1]
        follows = Q[:-1, -1] / offset if offset > 0 else np.zeros(len(working))
        centered, slack = Q[:-1, :-1] - np.outer(follows, Q[:-1, -1]), follows * gradient[-1] - gradient[:-1]
        start = self.theta[working, column]
        w, tol = start.copy(), 1e-3 * self.residual**2 / max(len(with_offset), 1)
        l1, l2 = np.full(len(w), self.l1), np.full(len(w), self.l2)
        quadratic_descent(centered, np.arange(len(w)), slack, w, l1, l2, max(tol, 1e-30), INNER_SWEEPS, False)
        move = w - start
        shift = -gradient[-1] / offset - follows @ move if offset > 0 else 0.0
        return self._search(column, with_offset, np.append(move, shift))

    def _working(self, coef: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """The columns with a coefficient, and at most as many others (or a few) that ask for one most."""
        asking = np.flatnonzero((coef == 0) & (np.abs(slope) > self.l1))
        most = max(NEW_COLUMNS, int(np.count_nonzero(coef)))
        if len(asking) > most:
            asking = asking[np.argsort(-np.abs(slope[asking]), kind="stable")[:most]]
        return np.sort(np.concatenate([np.flatnonzero(coef), asking]))

    def _curvature(self, column: int, working: np.ndarray) -> np.ndarray:
        X, y, weights = self.likelihood.rows
        p = self.likelihood.probabilities(self.theta)[:, column].astype(np.float64)
        curvature = p * (1.0 - p) * (1.0 if weights is None else weights)
        total = max(float(curvature.sum()), np.finfo(float).tiny)
        part = Likelihood(LabeledRows(X[:, working], y, curvature), 1, 0.0, self.likelihood.intercept)
        return part.second_moments() * (total / self.likelihood.rows.total)

    def _search(self, column: int, entries: np.ndarray, move: np.ndarray) -> bool:
        before, penalty = self.theta, self._penalty(self.theta)
        for halving in range(HALVINGS):
            step = 0.5**halving
            theta = before.copy()
            theta[entries, column] += step * move
            change = self._penalty(theta) - penalty
            promised = step * float(self.gradient[entries, column] @ move) + change
            if not promised < 0:
                return False
            loss, gradient = self.likelihood.value_and_gradient(theta)
            value = loss + penalty + change
            if value <= self.value + ARMIJO * promised and value < self.value:
                self.theta, self.value, self.gradient = theta, value, gradient
                return True
        return False

    def _penalty(self, theta: np.ndarray) -> float:
        coef = theta[:-1]
        return self.l1 * float(np.abs(coef).sum()) + self.l2 / 2 * float(np.vdot(coef, coef))
