r"""The dual of support vector machines, for classification and regression at once, solved by decomposition.

.. math::
    \min_\beta\; \tfrac12\beta^\top K\beta - t^\top\beta + \epsilon\|\beta\|_1
    \quad\text{s.t.}\quad \textstyle\sum_i\beta_i = 0,\;\; l_i \le \beta_i \le u_i .

Classification has :math:`\beta_i = y_i\alpha_i`, t = y, :math:`\epsilon = 0` and the box :math:`[0, C_i]` or
:math:`[-C_i, 0]` by the label; regression has t = y and the box :math:`[-C_i, C_i]`. With the score
:math:`s = t - K\beta` a variable below its upper bound wants to rise if :math:`s_i - \epsilon\,\mathrm{sgn}^+\beta_i`
is large, one above its lower bound to fall if :math:`s_j - \epsilon\,\mathrm{sgn}^-\beta_j` is small; the violation of
optimality is the largest of the first minus the smallest of the second, and the offset b of the machine lies between.

Large problems are solved on a working set at a time: some variables are the worst violators of now, the others are kept
from the times before. Their kernel columns stay in buffers that are allocated once, so nothing of the size of the
matrix is ever made or copied. A small problem is its own working set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margin.core.stripes import over_stripes
from margin.core.threads import blas_threads
from margin.kernels.functions import Kernel
from margin.kernels.panels import Panel, full_matrix, panel_of

__all__ = ["DualProblem", "column_dtype", "directions", "dual_objective", "duality_gap", "offset_between", "violation"]

Floats = NDArray[np.float64]

WHOLE_ROWS = 2000  # up to here the kernel matrix (32 MB) is kept and all variables are worked on at once
PART, PARTS = 256, 4  # variables that are new in a working set, and how many such generations it holds
INNER_TOLERANCE = 0.1  # of the violation before: solving a working set further is wasted, the others will change it
SAMPLED_ROWS = 64  # rows on which the rounding of float32 is measured, far ones and others each
STEPS_PER_VARIABLE = 20  # pair steps in one working set, at most, for each of its variables


def directions(score: Floats, beta: Floats, low: Floats, high: Floats, epsilon: float) -> tuple[Floats, Floats]:
    """How much each variable wants to rise (-inf if it cannot) and, negated, to fall (+inf if it cannot)."""
    up = score - epsilon * np.where(beta >= 0, 1.0, -1.0)
    down = score - epsilon * np.where(beta > 0, 1.0, -1.0)
    return np.where(beta < high, up, -np.inf), np.where(beta > low, down, np.inf)


def violation(up: Floats, down: Floats) -> float:
    """By how much the conditions of Karush, Kuhn and Tucker fail: zero or less at the optimum."""
    return float(up.max() - down.min())


def offset_between(score: Floats, beta: Floats, low: Floats, high: Floats, epsilon: float) -> float:
    """The offset b: the mean over variables strictly inside their box, on which it is exact, else the middle of
    the interval that optimality allows."""
    inside = (beta > low) & (beta < high) & ((beta != 0) | (epsilon == 0))
    if inside.any():
        return float(np.mean(score[inside] - epsilon * np.sign(beta[inside])))
    up, down = directions(score, beta, low, high, epsilon)
    ends = [end for end in (up.max(), down.min()) if np.isfinite(end)]
    return float(np.mean(ends)) if ends else 0.0


def dual_objective(score: Floats, beta: Floats, target: Floats, epsilon: float) -> float:
    r""":math:`t^\top\beta - \tfrac12\beta^\top K\beta - \epsilon\|\beta\|_1`, maximized; :math:`K\beta = t - s`."""
    return float(0.5 * beta @ (target + score) - epsilon * np.abs(beta).sum())


def duality_gap(problem: DualProblem) -> float:
    r"""Primal minus dual objective; the primal has the slacks :math:`u_i(s_i-b-\epsilon)_+ - l_i(b-s_i-\epsilon)_+`.

    Infinite bounds (a hard margin) give an infinite primal as long as a slack is positive.
    """
    beta, score, epsilon = problem.beta, problem.score, problem.epsilon
    b = offset_between(score, beta, problem.low, problem.high, epsilon)
    above, below = np.maximum(score - b - epsilon, 0), np.maximum(b - score - epsilon, 0)
    slack = sum(
        float(bound[excess > 0] @ excess[excess > 0])
        for bound, excess in ((problem.high, above), (-problem.low, below))
    )
    primal = 0.5 * float(beta @ (problem.target - score)) + slack
    return primal - dual_objective(score, beta, problem.target, epsilon)


class DualProblem:
    """Where the solution stands: ``beta``, ``score``, the violation, and the generations of the working set."""

    def __init__(self, panel: Panel, target: Floats, low: Floats, high: Floats, epsilon: float, tol: float):
        self.panel, self.target, self.low, self.high = panel, target, low, high
        self.epsilon, self.tol = epsilon, tol
        self.beta, self.score = np.zeros(panel.n), target.copy()
        self.violation = violation(*self._directions())
        self.iteration, self.steps = 0, 0
        self.generations: list[NDArray[np.int64]] = []  # oldest first; buffers[i] holds the columns of generations[i]
        self.buffers: list[NDArray[Any]] = []

    @property
    def solved(self) -> bool:
        return self.violation <= self.tol

    def step(self) -> None:
        """Choose a working set, solve it, and bring all scores up to date."""
        self.iteration += 1
        with blas_threads(1):
            if self.panel.n <= WHOLE_ROWS:
                self._solve_everything()
            else:
                self._renew()
                self._solve_working_set()
        self.violation = violation(*self._directions())

    def state(self) -> dict[str, Any]:
        return {
            "beta": self.beta.copy(),
            "score": self.score.copy(),
            "violation": self.violation,
            "iteration": self.iteration,
            "steps": self.steps,
            "generations": [chosen.copy() for chosen in self.generations],
        }

    def restore(self, state: dict[str, Any]) -> DualProblem:
        self.beta, self.score = np.array(state["beta"]), np.array(state["score"])
        self.violation = float(state["violation"])
        self.iteration, self.steps = int(state["iteration"]), int(state["steps"])
        self.generations, self.buffers = [], []
        with blas_threads(1):
            for chosen in state["generations"]:
                self._load(np.array(chosen))
        return self

    def release(self) -> None:
        """Give the memory of the columns back; the solution stays."""
        self.buffers = []

    def _directions(self) -> tuple[Floats, Floats]:
        return directions(self.score, self.beta, self.low, self.high, self.epsilon)

    def _solve_everything(self) -> None:
        from margin.kernels.smo_kernels import solve_pairs

        if not self.buffers:
            self.buffers = [full_matrix(self.panel)]
        K = self.buffers[0]
        limit = STEPS_PER_VARIABLE * max(len(self.beta), PART)
        self.steps += solve_pairs(K, self.score, self.beta, self.low, self.high, self.epsilon, self.tol, limit)
        # Rounding of many small updates is taken out before optimality is judged.
        self.score = self.target - K @ self.beta

    def _renew(self) -> None:
        """The oldest generation gives way to the worst violators outside the others."""
        up, down = self._directions()
        if len(self.generations) == PARTS:
            self.generations.pop(0)
            self.buffers.append(self.buffers.pop(0))
        for kept in self.generations:
            up[kept], down[kept] = -np.inf, np.inf
        rising = _largest(up, PART // 2)
        down[rising] = np.inf
        self._load(np.sort(np.concatenate([rising, _largest(-down, PART // 2)])))

    def _load(self, chosen: NDArray[np.int64]) -> None:
        if len(self.buffers) == len(self.generations):
            self.buffers.append(np.empty((self.panel.n, PART), dtype=self.panel.dtype))
        self.panel.columns(chosen, self.buffers[len(self.generations)][:, : len(chosen)])
        self.generations.append(chosen)

    def _solve_working_set(self) -> None:
        from margin.kernels.smo_kernels import solve_pairs

        members = np.concatenate(self.generations)
        columns = [buffer[:, : len(chosen)] for buffer, chosen in zip(self.buffers, self.generations)]
        K = np.concatenate([part[members] for part in columns], axis=1, dtype=np.float64)
        beta, score = self.beta[members], self.score[members]
        tol = max(0.5 * self.tol, INNER_TOLERANCE * self.violation)
        limit = STEPS_PER_VARIABLE * len(members)
        self.steps += solve_pairs(K, score, beta, self.low[members], self.high[members], self.epsilon, tol, limit)
        change = (beta - self.beta[members]).astype(self.panel.dtype)
        self.beta[members] = beta
        cuts = np.cumsum([len(chosen) for chosen in self.generations])[:-1]
        pairs = [(part, moved) for part, moved in zip(columns, np.split(change, cuts)) if moved.any()]

        def update(rows: slice) -> None:
            for part, moved in pairs:
                self.score[rows] -= part[rows] @ moved

        over_stripes(update, self.panel.n, work=self.panel.n * len(change))


def _largest(values: Floats, count: int) -> NDArray[np.int64]:
    """Indices of at most ``count`` largest finite values."""
    count = min(count, int(np.isfinite(values).sum()))
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    return np.argpartition(-values, count - 1)[:count].astype(np.int64)


def column_dtype(kernel: Kernel, X: NDArray[Any], largest_bound: float, tol: float) -> Any:
    """float32 where its rounding cannot be felt at ``tol``, else float64.

    The error of a score is that of kernel values times coefficients up to ``largest_bound``, growing with the root of
    their number; the error of kernel values is measured on the rows farthest out and on some of the others.
    """
    if len(X) <= WHOLE_ROWS or not np.isfinite(largest_bound):
        return np.float64
    far = np.argsort(-np.einsum("ij,ij->i", X, X))[:SAMPLED_ROWS]
    sample = X[np.concatenate([far, np.linspace(0, len(X) - 1, SAMPLED_ROWS).astype(int)])]
    exact = full_matrix(panel_of(kernel, sample.astype(np.float64), np.float64))
    error = np.max(np.abs(full_matrix(panel_of(kernel, sample, np.float32)) - exact))
    return np.float32 if error * largest_bound * np.sqrt(len(X)) <= 0.5 * tol else np.float64
