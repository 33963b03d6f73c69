"""The running fit of the lasso and the elastic net: target after target, each by rounds of coordinate descent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from margin.core.arguments import finite
from margin.core.notices import warn_user
from margin.core.randomness import as_generator
from margin.core.records import Record
from margin.linear.moments import RegressionMoments
from margin.linear.sparse_descent import SparseDescent
from margin.linear.sparse_problem import Columns, GramColumns, centered_gram, columns_of

if TYPE_CHECKING:
    from margin.linear.elastic_net import CoordinateDescent

__all__ = ["TargetsInTurn"]

INNER_FRACTION = 0.1  # of the gap that is wanted: a sweep that gains less ends a round of descent


class TargetSolution(NamedTuple):
    """What one target has been given so far."""

    w: np.ndarray
    constant: float
    objective: float
    gap: float
    iterations: int


class TargetsInTurn:
    """The running fit: target after target, each by rounds of descent at one penalty."""

    def __init__(
        self,
        model: CoordinateDescent,
        X: Any,
        Y: np.ndarray,
        weights: np.ndarray | None,
        summary: RegressionMoments | None = None,
    ):
        self.model, self.X, self.Y, self.weights, self.summary = model, X, Y, weights, summary
        self.rng = as_generator(model.random_state) if model.selection == "random" else None
        self.done: list[TargetSolution] = []
        self.iteration = 0
        self.start = self._start()
        self.now = self._begin()

    @classmethod
    def of_moments(cls, model: CoordinateDescent, summary: RegressionMoments) -> TargetsInTurn:
        """The fit of one target to rows that are known by their moments."""
        return cls(model, np.zeros((0, len(summary.mean_x))), np.zeros((0, 1)), None, summary)

    def iterations(self) -> Iterator[Record]:
        model, targets = self.model, self.Y.shape[1]
        while True:
            while not self.now.finished:
                self.now.step()
                self.iteration += 1
                yield Record(self.iteration, self.now.values(), total=targets * model.max_iter)
            if not self.now.converged:
                warn_user(
                    f"{type(model).__name__}: duality gap {self.now.gap:.3g} above {self.now.bound:.3g} after "
                    f"max_iter={model.max_iter}.",
                    ConvergenceWarning,
                )
            if len(self.done) + 1 == targets:
                return
            self.done.append(self._solution())
            self.now = self._begin()

    def solutions(self) -> list[TargetSolution]:
        """One per target; those still to come stand where they will start."""
        waiting = range(len(self.done) + 1, self.Y.shape[1])
        later = [TargetSolution(self.start[j], float("nan"), float("nan"), float("nan"), 0) for j in waiting]
        return [*self.done, self._solution(), *later]

    def state(self) -> dict[str, Any]:
        return {
            "done": [part._asdict() for part in self.done],
            "iteration": self.iteration,
            "start": self.start.copy(),
            "now": self.now.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.done = [TargetSolution(**part) for part in state["done"]]
        self.iteration, self.start = int(state["iteration"]), np.array(state["start"])
        self.now = self._begin()
        self.now.restore(state["now"])

    def _start(self) -> np.ndarray:
        shape = self.Y.shape[1], self.X.shape[1]
        before = getattr(self.model, "coef_", None) if self.model.warm_start else None
        if before is None or np.atleast_2d(before).shape != shape:
            return np.zeros(shape)
        w = finite(type(self.model).__name__, "coef_, from which warm_start goes on,", np.atleast_2d(before)).copy()
        return np.maximum(w, 0.0) if self.model.positive else w

    def _begin(self) -> CoordinateFit:
        model, j = self.model, len(self.done)
        intercept, y = bool(model.fit_intercept), np.ascontiguousarray(self.Y[:, j])
        columns: Columns
        if self.summary is not None:
            columns = GramColumns(self.summary)
        elif isinstance(model.precompute, bool | np.bool_):
            columns = columns_of(self.X, y, self.weights, intercept=intercept, precompute=bool(model.precompute))
        else:
            gram = np.asarray(model.precompute, dtype=np.float64)
            gram = centered_gram(type(model).__name__, gram, self.X, intercept=intercept)
            columns = GramColumns.from_gram(gram, self.X, y, intercept=intercept)
        descent = SparseDescent(columns, positive=bool(model.positive), rng=self.rng)
        if self.start[j].any():
            descent.begin_at(self.start[j])
        ratio = model._ratio()
        descent.aim(model.alpha * ratio, model.alpha * (1 - ratio))
        return CoordinateFit(descent, model.tol, model.max_iter)

    def _solution(self) -> TargetSolution:
        columns, w = self.now.descent.columns, self.now.descent.w
        objective, gap = self.now.descent.gap()
        constant = float(columns.mean_y - columns.mean_x @ w)
        return TargetSolution(w.copy(), constant, objective, gap, max(self.now.iteration, 1))


class CoordinateFit:
    """Rounds of descent for one target."""

    def __init__(self, descent: SparseDescent, tol: float, max_iter: int):
        self.descent = descent
        self.tol, self.bound = tol, tol * descent.columns.square
        self.inner = INNER_FRACTION * self.bound
        self.max_iter, self.iteration = max_iter, 0
        self.last = np.inf

    def step(self) -> None:
        gap = self.descent.step(self.inner).gap
        self.inner = self.inner / 10 if gap > self.last / 2 else self.inner
        self.last = gap
        self.iteration += 1

    @property
    def gap(self) -> float:
        return self.descent.gap().gap

    @property
    def converged(self) -> bool:
        # Where nothing moves any more, the gap that is left is rounding.
        settled = not self.descent.moved or self.descent.stationary(self.tol)
        return self.iteration > 0 and (settled or self.gap <= self.bound)

    @property
    def finished(self) -> bool:
        return self.converged or self.iteration >= self.max_iter

    def values(self) -> dict[str, float]:
        objective, gap = self.descent.gap()
        return {"objective": objective, "duality_gap": gap, "nonzero": float(np.count_nonzero(self.descent.w))}

    def state(self) -> dict[str, Any]:
        return {
            "descent": self.descent.state(),
            "iteration": self.iteration,
            "inner": self.inner,
            "last": float(min(self.last, np.finfo(float).max)),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.descent.restore(state["descent"])
        self.iteration, self.inner, self.last = int(state["iteration"]), float(state["inner"]), float(state["last"])
