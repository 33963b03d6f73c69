"""Searches from several starts, one evaluation of the likelihood at a time, on a part of the rows first if asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margin.kernels.gaussian_process.box_search import BoxSearch

__all__ = ["SCREENED_ROWS", "EvaluationRequest", "Restarts", "SearchPlan", "best_start", "plan_searches"]

Floats = NDArray[np.float64]

COARSE_FROM, COARSE_SHARE = 1600, 4  # rows from which a part is searched first, and the part: a quarter
SCREENED_ROWS = 250  # beyond so many rows, two starts are compared on a part of them, and one search is run on all
WORTH = 1.0  # nats by which another start must end higher to be preferred to the user's
SPREAD = np.log(100.0)  # restarts begin within this factor of the first start


@dataclass(frozen=True)
class EvaluationRequest:
    """One evaluation that a run asked for: at ``theta``, on all rows or on the ``coarse`` ones."""

    run: int
    coarse: bool
    theta: Floats


@dataclass
class SearchPlan:
    """Starts (k, p), and the rows searched first (empty: all rows from the beginning)."""

    starts: Floats
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def plan_searches(
    theta: Floats, bounds: Floats, n: int, *, n_restarts: int, warm_up: Any, rng: np.random.Generator, also: Any = ()
) -> SearchPlan:
    """Starts: ``theta``, the rows of ``also``, and others drawn around ``theta`` inside the bounds."""
    count = n_restarts if len(theta) else 0  # nothing to learn, nothing to restart
    drawn = theta + rng.uniform(-SPREAD, SPREAD, size=(count, len(theta)))
    chosen = np.reshape(also, (-1, len(theta))) if len(theta) else drawn
    starts = np.concatenate([theta[None], chosen, np.clip(drawn, *bounds.T) if count else drawn])
    size = n // COARSE_SHARE if warm_up == "auto" and n >= COARSE_FROM else 0
    if isinstance(warm_up, int | np.integer):
        size = int(warm_up)
    coarse = 0 < size < n and len(theta) > 0
    rows = np.sort(rng.choice(n, size=size, replace=False)) if coarse else np.zeros(0, dtype=np.int64)
    return SearchPlan(starts, rows)


class Restarts:
    """The running searches: which one, the values each was given, and the best of them."""

    def __init__(self, plan: SearchPlan, bounds: Floats, n: int, *, tol: float, max_iter: int):
        self.plan, self.bounds, self.n, self.tol, self.max_iter = plan, bounds, n, tol, max_iter
        self.searches: list[BoxSearch] = []
        self.coarse = len(plan.rows) > 0
        self._begin(plan.starts[0])

    @property
    def count(self) -> int:
        """Searches in all."""
        return len(self.plan.starts) + self.coarse

    def next_request(self) -> EvaluationRequest | None:
        """What to evaluate next; None when all searches are over."""
        while self.searches[-1].point is None:
            done = len(self.searches)
            if done == self.count:
                return None
            if done < len(self.plan.starts):
                self._begin(self.plan.starts[done])
            else:
                best = min(self.searches, key=lambda search: search.best_value)
                scale = self.n / len(self.plan.rows)
                self._begin(best.best_point, None if best.curvature is None else scale * best.curvature)
        point = self.searches[-1].point
        assert point is not None
        run = len(self.searches) - 1
        return EvaluationRequest(run, self.coarse and run < len(self.plan.starts), point)

    def tell(self, value: float, gradient: Floats) -> bool:
        """What was found; returns whether it is the best yet of the searches on the same rows."""
        run = len(self.searches) - 1
        rivals = [] if self.coarse and run == len(self.plan.starts) else self.searches[:-1]
        least = min((search.best_value for search in rivals), default=np.inf)
        return self.searches[-1].tell(value, gradient) and value < least

    @property
    def converged(self) -> bool:
        return all(search.converged for search in self.searches)

    def state(self) -> dict[str, Any]:
        return {
            "starts": self.plan.starts.copy(),
            "rows": self.plan.rows.copy(),
            "told": [search.state() for search in self.searches],
        }

    def replay(self, finished_runs: list[dict[str, Any]], publish: Callable[[EvaluationRequest], None]) -> None:
        """Live through an earlier fit; ``publish`` is called once, with the evaluation that was its best."""
        best: EvaluationRequest | None = None
        for run in finished_runs:
            for value, gradient in zip(run["values"], run["gradients"]):
                request = self.next_request()
                assert request is not None
                if self.tell(float(value), gradient):
                    best = request
        if best is not None:
            publish(best)

    def evaluations(self) -> Iterator[EvaluationRequest]:
        """Questions, until there are none; each is to be answered by :meth:`tell` before the next."""
        while (request := self.next_request()) is not None:
            yield request

    def _begin(self, start: Floats, curvature: Floats | None = None) -> None:
        self.searches.append(
            BoxSearch(start, self.bounds, tol=self.tol, max_evaluations=self.max_iter, curvature=curvature)
        )


def best_start(
    starts: Floats, bounds: Floats, evaluate: Callable[[Floats], Any], *, tol: float, max_iter: int
) -> Floats:
    """Of ``starts`` (k, p) the one whose search ends highest by ``evaluate``; the first unless another is worth it."""
    runs = Restarts(SearchPlan(starts), bounds, 0, tol=tol, max_iter=max_iter)
    for request in runs.evaluations():
        evaluation = evaluate(request.theta)
        runs.tell(-evaluation.value, -evaluation.gradient)
    values = [search.best_value for search in runs.searches]
    best = int(np.argmin(values))
    return starts[best if values[best] < values[0] - WORTH else 0]
