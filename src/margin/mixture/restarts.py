"""The running fit of a Gaussian mixture: which run of EM, where it stands, and the best run before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.cluster import KMeans
from margin.cluster.lloyd import labels_for
from margin.cluster.plusplus import plusplus, random_rows
from margin.core.randomness import as_generator, generator_from_state, generator_state
from margin.core.records import Record
from margin.mixture.covariances import SHAPES, Components, Sums
from margin.mixture.em import MixtureParameters, expectation, maximization, mixture_of

__all__ = ["EMRestarts", "EMRun"]


@dataclass(frozen=True)
class EMRun:
    """One run after ``iteration`` EM steps: parameters, their log-likelihood, and the sums for the next M step."""

    mixture: MixtureParameters
    log_likelihood: float
    sums: Sums
    iteration: int = 0
    converged: bool = False
    bounds: tuple[float, ...] = ()  # the log-likelihood after each step

    def state(self) -> dict[str, Any]:
        return {
            **self.mixture.state(),
            "log_likelihood": self.log_likelihood,
            "sums": {name: value.copy() for name, value in vars(self.sums).items()},
            "iteration": self.iteration,
            "converged": self.converged,
            "bounds": np.array(self.bounds),
        }


class EMRestarts:
    """``n_init`` runs of EM on ``X``, one record per step; ``model`` gives the parameters."""

    sums_of_step: type[Sums] = Sums

    def __init__(self, model: Any, X: np.ndarray, last: MixtureParameters | None = None):
        self.model, self.X = model, X
        self.last = last  # where a warm start begins
        self.runs = model.n_init if last is None else 1
        self.shape = SHAPES[model.covariance_type]
        self.offset = X.mean(axis=0, dtype=np.float64)
        self.rng = as_generator(model.random_state)
        self.run, self.iteration = 0, 0
        self.now: EMRun | None = None
        self.best: EMRun | None = None

    def iterations(self) -> Iterator[Record]:
        model = self.model
        while self.run < self.runs:
            if self.now is None:
                self.now = self._expect(self._first_mixture())
            while self.now.iteration < model.max_iter and not self.now.converged:
                before = self.now
                self.now = self._expect(self._maximization(before), before)
                self.iteration += 1
                change = self.now.log_likelihood - before.log_likelihood
                values = {"log_likelihood": self.now.log_likelihood, "change": change, "run": self.run}
                yield Record(self.iteration, values, total=self.runs * model.max_iter)
            self.best = self.shown()
            self.now = None
            self.run += 1

    def shown(self) -> EMRun:
        """The best run so far, the present one included."""
        runs = [run for run in (self.best, self.now) if run is not None]
        return max(runs, key=lambda run: run.log_likelihood)  # the earlier of equals

    def state(self) -> dict[str, Any]:
        return {
            "rng": generator_state(self.rng),
            "runs": self.runs,
            "run": self.run,
            "iteration": self.iteration,
            "now": None if self.now is None else self.now.state(),
            "best": None if self.best is None else self.best.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        columns = {state[name]["means"].shape[1] for name in ("now", "best") if state[name] is not None}
        if columns - {self.X.shape[1]}:
            raise ValueError(
                f"{type(self.model).__name__}: state belongs to X with {columns.pop()} columns; got {self.X.shape[1]}."
            )
        self.rng = generator_from_state(state["rng"])
        self.runs, self.run, self.iteration = (int(state[name]) for name in ("runs", "run", "iteration"))
        self.now, self.best = (None if state[name] is None else self._run(state[name]) for name in ("now", "best"))

    def _run(self, state: dict[str, Any]) -> EMRun:
        components = self.shape(np.array(state["means"]), np.array(state["covariances"]))
        sums = {name: np.array(value) for name, value in state["sums"].items()}
        return EMRun(
            self._restore(state, components),
            float(state["log_likelihood"]),
            self.sums_of_step(**sums),
            int(state["iteration"]),
            bool(state["converged"]),
            tuple(np.asarray(state["bounds"]).tolist()),
        )

    def _restore(self, state: dict[str, Any], components: Components) -> MixtureParameters:
        return MixtureParameters(np.array(state["weights"]), components, self.offset)

    def _expect(self, mixture: MixtureParameters, before: EMRun | None = None) -> EMRun:
        log_likelihood, sums = self._expectation(mixture)
        if before is None:
            return EMRun(mixture, log_likelihood, sums)
        converged = abs(log_likelihood - before.log_likelihood) < self.model.tol
        bounds = (*before.bounds, log_likelihood)
        return EMRun(mixture, log_likelihood, sums, before.iteration + 1, converged, bounds)

    def _expectation(self, mixture: MixtureParameters) -> tuple[float, Sums]:
        return expectation(self.X, mixture)

    def _maximization(self, run: EMRun) -> MixtureParameters:
        return maximization(run.mixture, run.sums, self.model.reg_covar)

    def _first_mixture(self) -> MixtureParameters:
        """The M step of the first responsibilities, with what the user gave in its place."""
        model, (k, d) = self.model, (self.model.n_components, self.X.shape[1])
        if self.last is not None:
            means = self.last.components.means + self.last.offset - self.offset
            return MixtureParameters(
                self.last.weights, self.shape(means, self.last.components.covariances), self.offset
            )
        means, precisions, weights = model.means_init, model.precisions_init, model.weights_init
        covariances = None if precisions is None else self.shape.covariances_of(np.asarray(precisions, dtype=float))
        if means is None or covariances is None or weights is None:
            mixture = mixture_of(self.X, self._first_responsibilities(), self.shape, model.reg_covar)
        else:
            mixture = MixtureParameters(np.asarray(weights, dtype=float), self.shape.standard(k, d), self.offset)
        components = self.shape(
            mixture.components.means if means is None else np.asarray(means, dtype=float) - self.offset,
            mixture.components.covariances if covariances is None else covariances,
        )
        return MixtureParameters(
            mixture.weights if weights is None else np.asarray(weights, float), components, self.offset
        )

    def _first_responsibilities(self) -> np.ndarray:
        X, how = np.asarray(self.X, dtype=np.float64), self.model.init_params
        n, k = len(X), self.model.n_components
        resp = np.zeros((n, k))
        if self.model.means_init is not None:
            resp[np.arange(n), labels_for(X, np.asarray(self.model.means_init, dtype=float))] = 1
            return resp
        if how == "random":
            resp = self.rng.random((n, k))
            return resp / resp.sum(axis=1, keepdims=True)
        if how == "kmeans":
            start = KMeans(k, n_init=1, random_state=self.rng)
            for _ in start.iterate(X):  # not fit: whoever watches the mixture did not ask to see its start
                pass
            resp[np.arange(n), start.labels_] = 1
            return resp
        # As in scikit-learn, only the drawn rows have a component; the first covariances are reg_covar alone.
        rows = plusplus(X, np.ones(n), k, self.rng) if how == "k-means++" else random_rows(np.ones(n), k, self.rng)
        if self.model.reg_covar == 0:
            # Without reg_covar they would be singular: in the limit of a small one every row belongs to the nearest.
            resp[np.arange(n), labels_for(X, X[rows])] = 1
            return resp
        resp[rows, np.arange(k)] = 1
        return resp
