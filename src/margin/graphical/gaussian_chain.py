r"""Baum-Welch for states that emit normal rows: EM of a Gaussian mixture whose components follow each other in time.

.. math:: p(x, z) = \pi_{z_1} \prod_t A_{z_{t-1} z_t} \prod_t \mathcal{N}(x_t \mid \mu_{z_t}, \Sigma_{z_t})

The E step takes the probabilities of the states from both directions of the chain instead of from the row alone; what
the M step does to means and covariances is that of a mixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logsumexp

from margin.graphical.chains import chain_posteriors, forward, viterbi
from margin.graphical.hidden_markov import normalized_counts
from margin.mixture.covariances import Components, Sums
from margin.mixture.em import MixtureParameters, log_joint, mixture_of, sums_of
from margin.mixture.restarts import EMRestarts, EMRun

__all__ = [
    "ChainParameters",
    "ChainRestarts",
    "StepSums",
    "best_states",
    "chain_expectation",
    "chain_maximization",
    "log_predictive",
    "named_refusals",
]


@dataclass(frozen=True)
class ChainParameters:
    """Probabilities of the first state (k,) and of the next one (k, k); components as in a mixture."""

    start: np.ndarray
    transition: np.ndarray
    components: Components
    offset: np.ndarray

    @cached_property
    def emissions(self) -> MixtureParameters:
        """The components without weights, so that their joint log-density is the emission's alone."""
        return MixtureParameters(np.ones(len(self.start)), self.components, self.offset)

    def log_potentials(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Emissions (n, k), transition and start, as logarithms."""
        with np.errstate(divide="ignore"):
            return log_joint(X, self.emissions), np.log(self.transition), np.log(self.start)

    def state(self) -> dict[str, np.ndarray]:
        return self.emissions.state() | {"start": self.start.copy(), "transition": self.transition.copy()}


@dataclass(frozen=True)
class StepSums(Sums):
    """Beside the sums of rows: how often a sequence is expected to start in a state (k,), and to step (k, k)."""

    starts: np.ndarray
    pairs: np.ndarray


def chain_expectation(X: np.ndarray, ends: np.ndarray, chain: ChainParameters) -> tuple[float, StepSums]:
    """E step: the mean log-likelihood of a row of the sequences that stop at ``ends``, and the sums of the M step."""
    emissions, transition, start = chain.log_potentials(X)
    log_z, states, pairs = chain_posteriors(emissions, ends, transition, start)
    begins = np.concatenate([[0], ends[:-1]])
    rows = sums_of(X, states, chain.emissions)
    sums = StepSums(rows.weight, rows.first, rows.second, states[begins].sum(axis=0), pairs)
    return float(log_z.sum()) / len(X), sums


def chain_maximization(chain: ChainParameters, sums: StepSums, reg_covar: float) -> ChainParameters:
    """M step: normalized expected counts, and the components of a mixture with these responsibilities.

    A state that no step leaves keeps the steps it had, so that those which were excluded stay so.
    """
    left = sums.pairs.sum(axis=1, keepdims=True) > 0
    transition = np.where(left, normalized_counts(sums.pairs), chain.transition)
    components = chain.components.maximize(sums, reg_covar)
    return ChainParameters(normalized_counts(sums.starts), transition, components, chain.offset)


def log_predictive(emissions: np.ndarray, transition: np.ndarray, start: np.ndarray, ends: np.ndarray) -> np.ndarray:
    r"""The log-density of every row given the rows of its sequence before it, :math:`\log p(x_t \mid x_{<t})`.

    Their sum over a sequence is its log-likelihood.
    """
    peak = emissions.max(axis=1)  # messages of rows far from everything keep their digits
    relative = emissions - peak[:, None]
    scores = np.empty(len(emissions))
    for begin, end in zip(np.concatenate([[0], ends[:-1]]), ends):
        messages = forward(relative[begin:end], transition, start)
        seen = np.exp(messages - logsumexp(messages, axis=1, keepdims=True))  # of the state, given all up to now
        with np.errstate(divide="ignore"):
            coming = np.vstack([start, np.log(seen[:-1] @ np.exp(transition))])
        scores[begin:end] = logsumexp(coming + relative[begin:end], axis=1)
    return scores + peak


def best_states(emissions: np.ndarray, transition: np.ndarray, start: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The most probable path of every sequence, by Viterbi's algorithm."""
    begins = np.concatenate([[0], ends[:-1]])
    return np.concatenate([viterbi(emissions[b:e], transition, start)[0] for b, e in zip(begins, ends)])


@contextmanager
def named_refusals() -> Iterator[None]:
    """What components refuse names the model that the user has."""
    try:
        yield
    except ValueError as error:
        raise ValueError(str(error).replace("GaussianMixture", "GaussianHMM")) from None


class ChainRestarts(EMRestarts):
    """``n_init`` runs of Baum-Welch on sequences that stand one after another and stop at ``ends``."""

    sums_of_step = StepSums

    def __init__(self, model: Any, X: np.ndarray, ends: np.ndarray):
        super().__init__(model, X)
        self.ends = ends

    def state(self) -> dict[str, Any]:
        return super().state() | {"ends": self.ends.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        if not np.array_equal(state["ends"], self.ends):
            raise ValueError(f"{type(self.model).__name__}: state belongs to a fit of sequences of other lengths.")
        super().restore(state)

    def _expectation(self, chain: Any) -> tuple[float, Sums]:
        return chain_expectation(self.X, self.ends, chain)

    def _maximization(self, run: EMRun) -> Any:
        assert isinstance(run.sums, StepSums)
        chain: Any = run.mixture
        with named_refusals():
            return chain_maximization(chain, run.sums, self.model.reg_covar)

    def _restore(self, state: dict[str, Any], components: Components) -> Any:
        return ChainParameters(np.array(state["start"]), np.array(state["transition"]), components, self.offset)

    def _first_mixture(self) -> Any:
        """Components as a mixture's; steps as often as the first responsibilities follow each other, one more each."""
        model, resp = self.model, self._first_responsibilities()
        k = model.n_components
        within = np.ones(len(resp), dtype=bool)
        within[self.ends - 1] = False  # no step leads from one sequence to the next
        follows = 1.0 + resp[:-1][within[:-1]].T @ resp[1:][within[:-1]]
        start, transition = model.startprob_init, model.transmat_init
        return ChainParameters(
            np.full(k, 1 / k) if start is None else np.asarray(start, dtype=float),
            normalized_counts(follows) if transition is None else np.asarray(transition, dtype=float),
            self._first_components(resp),
            self.offset,
        )

    def _first_components(self, resp: np.ndarray) -> Components:
        with named_refusals():
            found = mixture_of(self.X, resp, self.shape, self.model.reg_covar).components
        if self.model.means_init is None:
            return found
        return self.shape(np.asarray(self.model.means_init, dtype=float) - self.offset, found.covariances)
