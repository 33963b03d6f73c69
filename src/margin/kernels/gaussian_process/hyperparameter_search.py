"""Search for the hyperparameters: searches from several starts, on a part of the rows first if there are many.

Each evaluation of the likelihood costs n^3, and most of them are needed far from the optimum, where a quarter of the
rows (a sixty-fourth of the cost) shows the way as well. So all starts are searched on that part; the best one goes on
with all rows, and takes along the curvature it has learned, scaled by the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from margin.core.randomness import as_generator
from margin.core.records import Record
from margin.kernels.gaussian_process.function_search import restarts_for
from margin.kernels.gaussian_process.search_runs import EvaluationRequest, SearchPlan, plan_searches
from margin.kernels.kernel import Kernel

__all__ = ["HyperparameterSearch", "SearchObjective"]


class SearchObjective(Protocol):
    """What a search asks: values at a theta, and a model made of the best of them."""

    coarse_rows: NDArray[np.int64]

    def evaluate(self, request: EvaluationRequest, *, gradient: bool) -> Any:
        """An object with ``value`` (to be maximized) and ``gradient``."""

    def publish(self, model: Any, request: EvaluationRequest, evaluation: Any) -> None:
        """Make ``model`` the one of this evaluation."""

    def describe(self, request: EvaluationRequest, evaluation: Any) -> dict[str, float]:
        """Numbers for the record."""


class HyperparameterSearch:
    """The running fit of a regressor: its searches, and the problem that answers them.

    Besides the kernel's own theta, the searches begin at the rows of ``also``.
    """

    def __init__(
        self, model: Any, kernel: Kernel, n: int, problem: SearchObjective, warm_up: Any, state: Any, also: Any = ()
    ):
        self.problem, self.learns = problem, model.optimizer is not None
        theta, bounds = kernel.theta, kernel.bounds
        if state is None:
            rng = as_generator(model.random_state)
            restarts, warm_up = (model.n_restarts_optimizer, warm_up) if self.learns else (0, None)
            plan = plan_searches(theta, bounds, n, n_restarts=restarts, warm_up=warm_up, rng=rng, also=also)
        else:
            plan = SearchPlan(np.array(state["starts"]), np.array(state["rows"]))
        problem.coarse_rows = plan.rows
        self.runs = restarts_for(model, plan, bounds, n, lambda request: problem.evaluate(request, gradient=True))
        self.iteration = 0
        if state is not None:
            self._replay(model, state)

    def records(self, model: Any) -> Iterator[Record]:
        """One per evaluation; ``model`` is that of the best so far."""
        total = self.runs.count * self.runs.max_iter
        for request in self.runs.evaluations():
            evaluation = self.problem.evaluate(request, gradient=self.learns)
            if self.runs.tell(-evaluation.value, -evaluation.gradient):
                self.problem.publish(model, request, evaluation)
            elif self.iteration == 0:
                raise ValueError(
                    f"{type(model).__name__}: the kernel matrix is not positive definite, even with a jitter of one "
                    "millionth on its diagonal; more noise (alpha) helps."
                )
            self.iteration += 1
            model.n_iter_ = self.iteration
            values = self.problem.describe(request, evaluation) | {"run": request.run}
            yield Record(self.iteration, values, total=total)

    def state(self) -> dict[str, Any]:
        return self.runs.state()

    def warning(self, model: Any) -> str | None:
        """A sentence if a search had to be stopped."""
        if not self.learns or self.runs.converged:
            return None
        return f"{type(model).__name__}: a search was stopped after max_iter={model.max_iter} evaluations."

    def _replay(self, model: Any, state: dict[str, Any]) -> None:
        def publish(request: EvaluationRequest) -> None:
            self.problem.publish(model, request, self.problem.evaluate(request, gradient=False))

        self.runs.replay(state["told"], publish)
        self.iteration = sum(len(run["values"]) for run in state["told"])
        model.n_iter_ = self.iteration
