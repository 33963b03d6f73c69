"""Coordinate descent for the elastic net with screening, an exact optimality check and a duality gap."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack

from margin.core.randomness import generator_from_state, generator_state
from margin.core.restoring import restore, restored_indices
from margin.linear.sparse_problem import Columns, Gap, duality_gap

__all__ = ["SparseDescent", "jump_to_face_minimum", "steepest"]

SWEEPS = 8  # sweeps after which slow progress is cut short by solving for the columns that have a coefficient
ROUNDS = 25  # of both, between two looks at all columns
SMALLEST_GROWTH = 64  # columns that may always be added at once
# A slack above l1 by less than this fraction of the first slack is rounding, and no reason to look at a column.
SLACK_ROUNDING = 1e-14


class SparseDescent:
    """The coefficients ``w`` (p,) on their way to the minimum; ``aim`` sets the penalties, ``step`` moves.

    Only *working* columns are visited: those with a coefficient, those that the sequential strong rule keeps
    (Tibshirani et al. 2012), and those that turn out to violate the optimality conditions. With ``positive`` no
    coefficient goes below zero; with ``rng`` every sweep visits the columns in a new random order.
    """

    def __init__(self, columns: Columns, *, positive: bool = False, rng: np.random.Generator | None = None):
        self.columns, self.positive, self.rng = columns, positive, rng
        self.slack = columns.q.copy()
        self.w = np.zeros(len(self.slack))
        self.residual_square = columns.square
        self.size = float(np.abs(self.slack).max(initial=0.0))
        self.l1 = self.size
        self.l2 = 0.0
        self.working = np.zeros(len(self.w), dtype=bool)
        self.sweeps = 0
        self.moved = True
        self._gap: Gap | None = None  # once it has been asked for; a fit looks at it several times between two steps

    def aim(self, l1: float, l2: float) -> SparseDescent:
        """New penalties; columns whose slack cannot reach ``l1`` (by the strong rule) are left out at first."""
        self.working = self.w != 0
        self._admit(self._pull() >= 2 * l1 - max(self.l1, l1))
        self.l1, self.l2, self.moved, self._gap = l1, l2, True, None
        return self

    def begin_at(self, w: np.ndarray) -> SparseDescent:
        """Start from these coefficients instead of zeros."""
        self.w = w.copy()
        self.columns.gram(np.flatnonzero(self.w))
        slacks, squares = self.columns.slacks(self.w[None])
        self.slack, self.residual_square, self._gap = slacks[0], float(squares[0]), None
        return self

    def _pull(self) -> np.ndarray:
        """How strongly the residual calls for each column."""
        return self.slack if self.positive else np.abs(self.slack)

    def _admit(self, wanted: np.ndarray) -> bool:
        """Work on these columns too, but at most double their number at a time: the steepest come first."""
        new = steepest(wanted & ~self.working, self.slack, int(self.working.sum()))
        self.working[new] = True
        return len(new) > 0

    def step(self, tol: float) -> Gap:
        """Descend on the working columns until a sweep gains less than ``tol``, then look at all columns."""
        before = self.w.copy()
        chosen = np.flatnonzero(self.working)
        if len(chosen):
            self._descend(chosen, tol / len(chosen))
        slacks, squares = self.columns.slacks(self.w[None])
        self.slack, self.residual_square, self._gap = slacks[0], float(squares[0]), None
        violated = self._admit(self._pull() > self.l1 + SLACK_ROUNDING * self.size)
        self.moved = bool(violated or not np.array_equal(before, self.w))
        return self.gap()

    def _descend(self, chosen: np.ndarray, tol: float) -> None:
        Q, names = self.columns.gram(chosen)
        slack, w = self.slack[names], self.w[names]
        order = np.flatnonzero(self.working[names])
        l1, l2 = np.full(len(w), self.l1), np.full(len(w), self.l2)
        for _ in range(ROUNDS):
            done = self._sweeps(Q, order, slack, w, l1, l2, tol)
            self.sweeps += done
            if done < SWEEPS:
                break
            jump_to_face_minimum(Q, slack, w, self.l1, self.l2)
        self.w[names] = w

    def _sweeps(
        self,
        Q: np.ndarray,
        order: np.ndarray,
        slack: np.ndarray,
        w: np.ndarray,
        l1: np.ndarray,
        l2: np.ndarray,
        tol: float,
    ) -> int:
        """At most ``SWEEPS`` over the columns in ``order``; how many it took until none gained more than ``tol``."""
        from margin.compiled.linear import quadratic_descent, sweep

        if self.rng is None:
            return int(quadratic_descent(Q, order, slack, w, l1, l2, tol, SWEEPS, self.positive))
        for done in range(1, SWEEPS + 1):
            if sweep(Q, self.rng.permutation(order), slack, w, l1, l2, self.positive) <= tol:
                return done
        return SWEEPS

    def gap(self) -> Gap:
        """How far above the minimum the coefficients may be at most."""
        if self._gap is None:
            # y'r = r'r + w'X'r, which keeps its digits where y'y - q'w would cancel.
            product = self.residual_square + float(self.w @ self.slack)
            penalties = self.l1, self.l2, self.positive
            self._gap = duality_gap(self.w, self.slack, self.residual_square, product, *penalties)
        return self._gap

    def stationary(self, tol: float) -> bool:
        """Whether the gradient is gone (below ``tol`` times the first one) of an objective without a penalty.

        Without a penalty only residuals orthogonal to all columns give a dual point, so the gap says nothing.
        """
        if self.l1 or self.l2:
            return False
        slope = np.where(self.w != 0, np.abs(self.slack), self._pull())
        return float(slope.max(initial=0.0)) <= tol * self.size

    def state(self) -> dict[str, Any]:
        return {
            "w": self.w.copy(),
            "slack": self.slack.copy(),
            "residual_square": self.residual_square,
            "penalties": [self.l1, self.l2],
            "working": self.working.copy(),
            "sweeps": self.sweeps,
            "moved": self.moved,
            "rng": None if self.rng is None else generator_state(self.rng),
            "history": self.columns.history(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.columns.repeat([restored_indices(part, "history", len(self.w)) for part in state["history"]])
        for name in ("w", "slack", "working"):
            setattr(self, name, restore(state, name, getattr(self, name)))
        self.residual_square, self.sweeps = float(state["residual_square"]), int(state["sweeps"])
        self.l1, self.l2 = map(float, state["penalties"])
        self.moved, self._gap = bool(state["moved"]), None
        self.rng = None if state["rng"] is None else generator_from_state(state["rng"])


def steepest(wanted: np.ndarray, slack: np.ndarray, most: int) -> np.ndarray:
    """The columns in the mask ``wanted``; of more than ``most`` those with the largest slack."""
    new = np.flatnonzero(wanted)
    most = max(SMALLEST_GROWTH, most)
    return new if len(new) <= most else new[np.argsort(-np.abs(slack[new]), kind="stable")[:most]]


def jump_to_face_minimum(Q: np.ndarray, slack: np.ndarray, w: np.ndarray, l1: float, l2: float) -> None:
    r"""Move the non-zero part of ``w`` (m,), and ``slack`` with it, in place towards the minimum for its present signs.

    .. math:: (Q_{AA} + \lambda_2 I)\, d = (q - Qw)_A - \lambda_1 s_A - \lambda_2 w_A

    The whole way if no sign s changes, else to where the first coefficient reaches zero: the value falls all along.
    ``Q`` may be larger than m x m; its first m rows and columns count.
    """
    used = np.flatnonzero(w)
    signs, start = np.sign(w[used]), w.copy()
    matrix = Q[np.ix_(used, used)]
    matrix.flat[:: len(used) + 1] += l2
    factor, failed = lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)  # symmetric; LAPACK reads columns
    if failed:
        return  # dependent columns: the minimum is not unique, coordinate descent finds one
    move, _ = lapack.dpotrs(factor, slack[used] - l1 * signs - l2 * w[used], lower=1)
    crossing = np.where(move * signs < 0, -w[used] / np.where(move == 0, 1.0, move), np.inf)
    fraction = min(1.0, float(crossing.min(initial=np.inf)))
    w[used] = np.where(crossing <= fraction, 0.0, w[used] + fraction * move)
    slack -= (w - start) @ Q[: len(w), : len(w)]
