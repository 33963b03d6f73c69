r"""The dual of support vector machines, for classification and regression at once, solved by decomposition.

.. math::
    \min_\beta\; \tfrac12\beta^\top K\beta - t^\top\beta + \epsilon\|\beta\|_1
    \quad\text{s.t.}\quad \textstyle\sum_i\beta_i = 0,\;\; l_i \le \beta_i \le u_i .

Classification has :math:`\beta_i = y_i\alpha_i`, t = y, :math:`\epsilon = 0` and the box :math:`[0, C_i]` or
:math:`[-C_i, 0]` by the label; regression has t = y and the box :math:`[-C_i, C_i]`. What optimality means for the
score :math:`s = t - K\beta` is in :mod:`margin.kernels.optimality`.

Large problems are solved on a working set at a time: some variables are the worst violators of now, the others are kept
from the times before. Columns of K stay in a store of limited size (:mod:`margin.kernels.column_cache`), so nothing of
the size of the matrix is ever made. A small problem is its own working set.

Shrinking: variables that rest on a bound and have wanted to stay there for several working sets leave the problem, and
with them their rows of every column. When the rest is solved, the scores of those that left are brought up to date by
the coefficients that changed since, all are judged, and those that no longer want to stay come back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margin.core.restoring import restore, restored_indices
from margin.core.threads import blas_threads
from margin.kernels.column_cache import ColumnCache
from margin.kernels.kernel_columns import KernelColumns, full_matrix
from margin.kernels.optimality import directions, dual_objective, idle, offset_between, slack_cost, violation
from margin.kernels.working_set import WorkingSet

__all__ = ["DualProblem", "duality_gap", "objectives"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

WHOLE_ROWS = 2000  # up to here the kernel matrix (32 MB) is kept and all variables are worked on at once
PART, PARTS = 256, 4  # variables that are new in a working set, and how many such generations it holds
INNER_TOLERANCE = 0.1  # of the violation before: solving a working set further is wasted, the others will change it
STEPS_PER_VARIABLE = 20  # pair steps in one working set, at most, for each of its variables
LEAST_GAIN = 1e-14  # of the objective: what rounding of its terms may pretend
STALLED = 20  # working sets without any gain of the objective: rounding is larger than what is left of the violation
PATIENCE = 3  # working sets for which a variable must have been idle before it may leave
COST_OF_LEAVING = 2.0  # working sets: about what compacting the columns takes


class DualProblem:
    """Where the solution stands: ``beta``, ``score``, the violation, the working set, and who is active.

    The ``score`` of a variable that left is that of the time it left; ``removed`` holds who left and beta then.
    """

    def __init__(
        self,
        columns: KernelColumns,
        target: Floats,
        low: Floats,
        high: Floats,
        epsilon: float,
        tol: float,
        shrinking: bool = True,
        cache_size: float = 200.0,
    ):
        self.columns, self.target, self.low, self.high = columns, target, low, high
        self.epsilon, self.shrinking, self.cache_size = epsilon, shrinking, cache_size
        # Below the rounding of scores steps only wander, and never end.
        self.tol = max(tol, 2 * np.finfo(float).eps * float(np.abs(target).max(initial=0.0)))
        self.beta, self.score = np.zeros(columns.n), target.copy()
        self.iteration, self.steps = 0, 0
        self.climbed = self.highest = 0.0  # what the objective has gained so far, and the most it ever had
        self.without_gain = 0  # working sets in a row that did not raise the highest
        self.working_set = WorkingSet(columns)
        self.active = np.arange(columns.n)
        self.patience = np.zeros(columns.n, dtype=np.int64)  # working sets for which a variable has been idle
        self.removed: list[tuple[Indices, Floats]] = []
        self.wasted = 0.0  # working sets' worth of work on variables that may leave, since some last left
        self.gained = 0.0  # of the objective, since the first of them left
        self.cache: ColumnCache | None = None
        self.matrix: Floats | None = None  # of a small problem
        self.violation = violation(*self._directions())
        self._offset: float | None = None  # once it has been asked for since the last step

    @property
    def solved(self) -> bool:
        return self.violation <= self.tol and not self.removed

    def over(self, max_iter: int) -> bool:
        """Whether there is nothing more to do: solved, ``max_iter`` working sets (-1: no limit), or stalled."""
        return self.solved or 0 <= max_iter <= self.iteration or self.without_gain >= STALLED

    @property
    def objective(self) -> float:
        """The dual objective, exact also while scores of departed variables are old."""
        if not self.removed:
            return dual_objective(self.score, self.beta, self.target, self.epsilon)
        return self.gained

    @property
    def offset(self) -> float:
        """The constant b of the machine; scores of departed variables are those of the time they left."""
        if self._offset is None:
            self._offset = offset_between(self.score, self.beta, self.low, self.high, self.epsilon)
        return self._offset

    def step(self) -> None:
        """Choose a working set, solve it, and bring the scores of all active variables up to date."""
        with blas_threads(1):
            self.step_on_one_thread()

    def step_on_one_thread(self) -> None:
        """The same where BLAS is held at one thread already: limiting it costs more than a step of a small problem."""
        self.iteration += 1
        self._offset = None
        if self.columns.n <= WHOLE_ROWS:
            self._solve_everything()
            self._judge_gain(self.objective - self.climbed)
            self.violation = violation(*self._directions())
            return
        self._renew()
        before = self.gained
        self._solve_working_set()
        self._judge_gain(self.gained - before)
        up, down = self._directions()
        self.violation = violation(up, down)
        if self.violation <= self.tol and self.removed:
            self.complete()
            self._judge_everyone()
        elif self.shrinking and self.violation > self.tol:
            self._shrink(idle(up, down))

    def complete(self) -> None:
        """Bring the scores of those that left up to date: everyone is active again."""
        if self.removed:
            self._offset = None
            with blas_threads(1):
                for rows, then in self.removed:
                    changed = np.flatnonzero(self.beta != then)
                    self.score[rows] -= self.columns.of_rows(rows).combine(changed, (self.beta - then)[changed])
            self.removed, self.active = [], np.arange(self.columns.n)
            self.violation = violation(*self._directions())
            # Stored columns do not reach over those that came back.
            self.cache = None

    def release(self) -> None:
        """Give the memory of the columns back; the solution stays."""
        self.cache, self.matrix = None, None

    def state(self) -> dict[str, Any]:
        return {
            "beta": self.beta.copy(),
            "score": self.score.copy(),
            "violation": self.violation,
            "iteration": self.iteration,
            "steps": self.steps,
            "generations": [chosen.copy() for chosen in self.working_set.generations],
            "active": self.active.copy(),
            "patience": self.patience.copy(),
            "removed": [{"rows": rows.copy(), "beta": then.copy()} for rows, then in self.removed],
            "gained": self.gained,
            "climbed": self.climbed,
            "highest": self.highest,
            "without_gain": self.without_gain,
            "wasted": self.wasted,
            "cache": None if self.cache is None else self.cache.state(),
        }

    def restore(self, state: dict[str, Any]) -> DualProblem:
        n = self.columns.n
        for name in ("beta", "score", "patience"):
            setattr(self, name, restore(state, name, getattr(self, name)))
        self.active = restored_indices(state["active"], "active", n)
        self.violation, self.gained, self.wasted = (float(state[name]) for name in ("violation", "gained", "wasted"))
        self.iteration, self.steps = int(state["iteration"]), int(state["steps"])
        self.climbed, self.highest = float(state["climbed"]), float(state["highest"])
        self.without_gain = int(state["without_gain"])
        self.removed = [
            (restored_indices(left["rows"], "removed", n), restore(left, "beta", self.beta))
            for left in state["removed"]
        ]
        self.cache, self._offset = None, None
        with blas_threads(1):
            if state["cache"] is not None:
                self._open_cache().restore(state["cache"])
            self.working_set.restart([restored_indices(chosen, "generations", n) for chosen in state["generations"]])
        return self

    def _directions(self) -> tuple[Floats, Floats]:
        """Of the active variables."""
        rows = self._active_rows()
        return directions(self.score[rows], self.beta[rows], self.low[rows], self.high[rows], self.epsilon)

    def _active_rows(self) -> Indices | slice:
        # A slice looks at the arrays themselves; indices would copy them.
        return self.active if self.removed else slice(None)

    def _solve_everything(self) -> None:
        from margin.compiled.svm import solve_pairs

        if self.matrix is None:
            self.matrix = full_matrix(self.columns)
        K = self.matrix
        limit = STEPS_PER_VARIABLE * max(len(self.beta), PART)
        memory, box = np.empty((4, len(self.beta))), (self.low, self.high)
        self.steps += solve_pairs(K, self.score, self.beta, *box, self.epsilon, self.tol, limit, memory)
        # Rounding of many small updates is taken out before optimality is judged.
        self.score = self.target - K @ self.beta

    def _judge_gain(self, gain: float) -> None:
        """Whether the objective has risen above all it was before, by more than rounding makes it go up and down."""
        self.climbed += gain
        rounding = LEAST_GAIN * max(abs(float(self.target @ self.beta)), abs(self.highest))
        if self.climbed > self.highest + rounding:
            self.highest, self.without_gain = self.climbed, 0
        else:
            self.without_gain += 1

    def _renew(self) -> None:
        """The oldest generation gives way to the worst violators outside the others."""
        up, down = self._directions()
        if len(self.working_set.generations) == PARTS:
            self.working_set.drop_oldest()
        for kept in self.working_set.generations:
            at = self._position(kept)
            up[at], down[at] = -np.inf, np.inf
        rising = _largest(up, PART // 2)
        down[rising] = np.inf
        chosen = np.sort(np.concatenate([rising, _largest(-down, PART // 2)]))
        self.working_set.join(self.active[chosen])

    def _open_cache(self) -> ColumnCache:
        self.cache = ColumnCache(self.columns, self.cache_size, PART * PARTS)
        if self.removed:
            self.cache.reset(self.active)
        return self.cache

    def _position(self, variables: Indices) -> Indices:
        """Where variables are among the active ones."""
        return np.searchsorted(self.active, variables) if self.removed else variables

    def _solve_working_set(self) -> None:
        from margin.compiled.svm import solve_pairs

        members = self.working_set.members
        store = self._open_cache() if self.cache is None else self.cache
        slots = store.fetch(members)
        beta, score = self.beta[members], self.score[members]
        tol = max(0.5 * self.tol, INNER_TOLERANCE * self.violation)
        limit = STEPS_PER_VARIABLE * len(members)
        memory, box = np.empty((4, len(members))), (self.low[members], self.high[members])
        self.steps += solve_pairs(self.working_set.matrix, score, beta, *box, self.epsilon, tol, limit, memory)
        moved = beta != self.beta[members]
        who, change = members[moved], (beta - self.beta[members])[moved]
        before = self.score[who]
        self.gained -= self.epsilon * (np.abs(beta).sum() - np.abs(self.beta[members]).sum())
        self.beta[members] = beta
        self.score[self._active_rows()] -= store.combine(slots[moved], change)
        self.gained += 0.5 * float(change @ (before + self.score[who]))

    def _shrink(self, resting: NDArray[np.bool_]) -> None:
        """Variables that have been idle for long leave, once keeping them has cost as much as letting them go."""
        rows = self._active_rows()
        self.patience[rows] = np.where(resting, self.patience[rows] + 1, 0)
        leaving = self.patience[rows] >= PATIENCE
        self.wasted += float(np.mean(leaving))
        if self.wasted >= COST_OF_LEAVING:
            self._leave(leaving)

    def _leave(self, leaving: NDArray[np.bool_]) -> None:
        if not self.removed:
            self.gained = self.objective
        self.removed.append((self.active[leaving], self.beta.copy()))
        self.active, self.wasted = self.active[~leaving], 0.0
        if self.cache is not None:
            self.cache.shrink(~leaving)
        stays = np.zeros(self.columns.n, dtype=bool)
        stays[self.active] = True
        self.working_set.restart([chosen[stays[chosen]] for chosen in self.working_set.generations])

    def _judge_everyone(self) -> None:
        """After scores are up to date: variables that are still idle leave again at once if others are not solved."""
        if not self.solved:
            resting = idle(*self._directions())
            if resting.any():
                self._leave(resting)


def duality_gap(problem: DualProblem) -> float:
    """Primal minus dual objective, zero at the optimum."""
    primal, dual = objectives(problem)
    return primal - dual


def objectives(problem: DualProblem) -> tuple[float, float]:
    r"""Primal and dual objective; the primal is :math:`\tfrac12\beta^\top K\beta` and the cost of the slacks.

    While variables have left, their slacks are those of the time they left; a solved problem has no such ones.
    """
    beta, epsilon = problem.beta, problem.epsilon
    dual = problem.objective
    quadratic = float(problem.target @ beta) - dual - (epsilon * float(np.abs(beta).sum()) if epsilon > 0 else 0.0)
    return quadratic + slack_cost(problem.score, problem.offset, problem.low, problem.high, epsilon), dual


def _largest(values: Floats, count: int) -> Indices:
    """Indices of at most ``count`` largest finite values."""
    count = min(count, int(np.isfinite(values).sum()))
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    return np.argpartition(-values, count - 1)[:count].astype(np.int64)
