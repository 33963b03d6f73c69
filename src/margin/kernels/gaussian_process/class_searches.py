"""The running fit of a classifying Gaussian process: a set of searches per latent function, taking turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.parallel import parallel_map
from margin.core.randomness import as_generator, spawn_seeds
from margin.core.records import Record
from margin.core.threads import available, blas_threads, threads_for
from margin.kernels.gaussian_process.function_search import restarts_for
from margin.kernels.gaussian_process.initial_kernel import start_at_spread
from margin.kernels.gaussian_process.laplace import LaplaceApproximation, Mode
from margin.kernels.gaussian_process.search_runs import SCREENED_ROWS, EvaluationRequest, SearchPlan, plan_searches
from margin.kernels.kernel import Kernel

if TYPE_CHECKING:
    from margin.kernels.gaussian_process.classifier import GaussianProcessClassifier

__all__ = ["ClassSearches"]


class ClassSearches:
    """The running fit: one set of searches per latent function, taking turns."""

    def __init__(
        self,
        model: GaussianProcessClassifier,
        kernel: Kernel,
        X: np.ndarray,
        functions: list[tuple[np.ndarray, np.ndarray]],
        state: dict[str, Any] | None,
    ):
        self.kernel, self.learns, self.iteration = kernel, model.optimizer is not None, 0
        settings: dict[str, Any] = {"newton_steps": model.max_iter_predict, "warm_start": model.warm_start}
        self.problems = [
            LaplaceApproximation(kernel, X if len(rows) == len(X) else X[rows], labels, **settings)
            for rows, labels in functions
        ]
        self.threads = self._threads(model.n_jobs, len(X))
        self.found: list[Mode | None] = [None] * len(functions)
        model.kernels_, model.train_rows_ = [kernel] * len(functions), [rows for rows, _ in functions]
        if state is None:
            seeds = spawn_seeds(as_generator(model.random_state), len(functions))
            plans = [self._plan(model, X, seed) for seed in seeds]
        else:
            plans = [SearchPlan(np.array(part["starts"])) for part in state["runs"]]
        self.runs = [
            restarts_for(model, plan, kernel.bounds, len(X), _value_at(problem))
            for plan, problem in zip(plans, self.problems)
        ]
        if state is not None:
            self._replay(model, state)

    def records(self, model: GaussianProcessClassifier) -> Iterator[Record]:
        total = max(runs.count for runs in self.runs) * self.runs[0].max_iter
        while any(requests := [runs.next_request() for runs in self.runs]):
            squares, running = 0.0, 0
            for c, mode in self._evaluate(requests):
                request = requests[c]
                assert request is not None
                squares, running = squares + float(mode.gradient @ mode.gradient), running + 1
                if self.runs[c].tell(-mode.value, -mode.gradient):
                    self._publish(model, c, request, mode)
            self.iteration += 1
            self._finish(model)
            values = {
                "log_marginal_likelihood": model.log_marginal_likelihood_value_,
                "gradient_norm": squares**0.5,
                "running": running,
            }
            yield Record(self.iteration, values, total=total)

    def _evaluate(self, requests: list[EvaluationRequest | None]) -> list[tuple[int, Mode]]:
        """The modes asked for, by several threads where that is worth it; LAPACK lets go of the interpreter lock."""
        wanted = [(c, request.theta) for c, request in enumerate(requests) if request is not None]

        def evaluate(job: tuple[int, np.ndarray]) -> tuple[int, Mode]:
            return job[0], self.problems[job[0]].at(job[1], gradient=self.learns)

        if self.threads == 1 or len(wanted) == 1:
            return [evaluate(job) for job in wanted]
        with blas_threads(1):
            return parallel_map(evaluate, wanted, self.threads)

    @staticmethod
    def _threads(n_jobs: int | None, n: int) -> int:
        if n_jobs is None:
            return threads_for(float(n) ** 3)
        return available() if n_jobs < 1 else n_jobs

    def state(self) -> dict[str, Any]:
        return {
            "runs": [runs.state() for runs in self.runs],
            "iteration": self.iteration,
            "last_duals": [None if p.last_dual is None else p.last_dual.copy() for p in self.problems],
        }

    def _plan(self, model: GaussianProcessClassifier, X: np.ndarray, seed: int) -> SearchPlan:
        restarts = model.n_restarts_optimizer if self.learns else 0
        theta, bounds, rng = self.kernel.theta, self.kernel.bounds, as_generator(seed)
        small = len(X) <= SCREENED_ROWS  # more rows are searched from the kernel's own theta alone
        also = start_at_spread(self.kernel, X) if small and isinstance(model.optimizer, str) else ()
        return plan_searches(theta, bounds, len(X), n_restarts=restarts, warm_up=None, rng=rng, also=also)

    def _replay(self, model: GaussianProcessClassifier, state: dict[str, Any]) -> None:
        self.iteration = int(state["iteration"])
        for c, part in enumerate(state["runs"]):

            def publish(request: EvaluationRequest, c: int = c) -> None:
                self._publish(model, c, request, self.problems[c].at(request.theta, gradient=False))

            self.runs[c].replay(part["told"], publish)
        for problem, dual in zip(self.problems, state["last_duals"]):
            problem.last_dual = None if dual is None else np.array(dual)
        self._finish(model)

    def _publish(self, model: GaussianProcessClassifier, c: int, request: EvaluationRequest, mode: Mode) -> None:
        self.problems[c].keep(mode)
        self.found[c] = mode
        model.kernels_[c] = self.kernel.clone_with_theta(request.theta)

    def _finish(self, model: GaussianProcessClassifier) -> None:
        modes = [mode for mode in self.found if mode is not None]
        model.dual_weights_ = [mode.pull for mode in modes]
        model.root_weights_ = [mode.root for mode in modes]
        model.factors_ = [mode.factor for mode in modes]
        model.log_marginal_likelihoods_ = [mode.value for mode in modes]
        model.log_marginal_likelihood_value_ = float(np.mean(model.log_marginal_likelihoods_))
        model.n_iter_ = self.iteration


def _value_at(problem: LaplaceApproximation) -> Callable[[EvaluationRequest], Mode]:
    return lambda request: problem.at(request.theta, gradient=True)
