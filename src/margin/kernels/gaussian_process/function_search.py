"""Search for the hyperparameters by a function of the user's, called as scikit-learn calls it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin.kernels.gaussian_process.search_runs import EvaluationRequest, Floats, Restarts, SearchPlan

__all__ = ["FunctionRestarts", "restarts_for"]


class FunctionRestarts(Restarts):
    """``optimizer(objective, start, bounds=bounds)`` from every start; only the point where it ended is used.

    ``objective(theta, eval_gradient=True)`` is minus the log marginal likelihood, with its gradient or alone;
    ``evaluate`` gives both at an :class:`EvaluationRequest`.
    """

    def __init__(self, plan: SearchPlan, bounds: Floats, n: int, *, optimizer: Any, evaluate: Callable[..., Any]):
        self.plan, self.bounds, self.n, self.max_iter = plan, bounds, n, 1
        self.optimizer, self.evaluate, self.coarse = optimizer, evaluate, False
        self.ends: list[Floats] = []
        self.values: list[float] = []

    def next_request(self) -> EvaluationRequest | None:
        run = len(self.values)
        if run == len(self.plan.starts):
            return None
        if len(self.ends) == run:
            self.ends.append(self._search(run))
        return EvaluationRequest(run, False, self.ends[run])

    def tell(self, value: float, gradient: Floats) -> bool:
        del gradient
        best = value < min(self.values, default=np.inf)
        self.values.append(value)
        return best

    @property
    def converged(self) -> bool:
        return True  # whether it did is for the function to say

    def state(self) -> dict[str, Any]:
        finished_runs = [{"values": [value], "end": end.copy()} for value, end in zip(self.values, self.ends)]
        return {"starts": self.plan.starts.copy(), "rows": self.plan.rows.copy(), "told": finished_runs}

    def replay(self, finished_runs: list[dict[str, Any]], publish: Callable[[EvaluationRequest], None]) -> None:
        self.ends = [np.array(run["end"]) for run in finished_runs]
        self.values = [float(run["values"][0]) for run in finished_runs]
        if self.values:
            best = int(np.argmin(self.values))
            publish(EvaluationRequest(best, False, self.ends[best]))

    def _search(self, run: int) -> Floats:
        start = self.plan.starts[run]
        if not len(start):
            return start

        def objective(theta: Any, eval_gradient: bool = True) -> Any:
            evaluation = self.evaluate(EvaluationRequest(run, False, np.asarray(theta, dtype=np.float64)))
            return (-evaluation.value, -evaluation.gradient) if eval_gradient else -evaluation.value

        end = np.asarray(self.optimizer(objective, start.copy(), bounds=self.bounds)[0], dtype=np.float64)
        if end.shape != start.shape:
            raise ValueError(f"optimizer must give a theta of shape {start.shape} first; got {end.shape}.")
        return np.clip(end, *self.bounds.T)


def restarts_for(
    model: Any, plan: SearchPlan, bounds: Floats, n: int, evaluate: Callable[[EvaluationRequest], Any]
) -> Restarts:
    """The searches that ``model.optimizer`` asks for: by ours, by a function, or none but an evaluation."""
    if callable(model.optimizer):
        return FunctionRestarts(plan, bounds, n, optimizer=model.optimizer, evaluate=evaluate)
    return Restarts(plan, bounds, n, tol=model.tol, max_iter=1 if model.optimizer is None else model.max_iter)
