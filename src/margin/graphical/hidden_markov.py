r"""Hidden Markov models: a Markov chain of hidden states, each of which emits a symbol.

.. math:: p(x, z) = \pi_{z_1} \prod_t A_{z_{t-1} z_t} \prod_t B_{z_t x_t}

Baum-Welch is EM on it: expected starts, transitions and emissions under the posterior of the states, normalized.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from margin.core.randomness import RandomLike, as_generator
from margin.graphical.chains import chain_posteriors, forward, posteriors, viterbi
from margin.graphical.factors import Factor
from margin.graphical.fields import chain_factors
from margin.graphical.network import draw_states

__all__ = ["BaumWelchStep", "HiddenMarkovModel", "baum_welch", "draw_path", "normalized_counts"]

SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False, init=False)
class HiddenMarkovModel:
    """Distributions of the first state (K,), of the next state (K, K) and of the symbol of a state (K, symbols).

    >>> model = HiddenMarkovModel([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]])
    >>> model.decode([0, 0, 1, 1, 1]).tolist()
    [0, 0, 1, 1, 1]
    """

    start: np.ndarray
    transition: np.ndarray
    emission: np.ndarray

    def __init__(self, start: Any, transition: Any, emission: Any) -> None:
        k = len(np.asarray(start))
        for name, value, rows in (("start", start, None), ("transition", transition, k), ("emission", emission, k)):
            table = np.asarray(value, dtype=np.float64)
            right = table.shape == (k,) if rows is None else table.ndim == 2 and len(table) == k
            if not right or (name == "transition" and table.shape[1] != k):
                raise ValueError(f"HiddenMarkovModel: {name} does not fit {k} states; got shape {table.shape}.")
            if not (table >= 0).all() or np.any(np.abs(table.sum(axis=-1) - 1) > SUM_TOLERANCE):
                raise ValueError(f"HiddenMarkovModel: {name} must be probabilities that sum to 1 on the last axis.")
            object.__setattr__(self, name, table)

    @classmethod
    def random(cls, n_states: int, n_symbols: int, random_state: RandomLike = None) -> HiddenMarkovModel:
        """Distributions drawn from flat Dirichlet laws: a start for Baum-Welch."""
        rng = as_generator(random_state)
        tables = (rng.dirichlet(np.ones(size), count) for size, count in ((n_states, n_states), (n_symbols, n_states)))
        return cls(rng.dirichlet(np.ones(n_states)), *tables)

    def log_prob(self, symbols: Any) -> float:
        """The log-probability of a sequence, by the forward pass."""
        return float(logsumexp(forward(*self.log_potentials(symbols))[-1]))

    def decode(self, symbols: Any) -> np.ndarray:
        """The most probable path of states, by Viterbi's algorithm."""
        return viterbi(*self.log_potentials(symbols))[0]

    def state_probabilities(self, symbols: Any) -> np.ndarray:
        """The distribution of the state at every time given the whole sequence, (T, K)."""
        return posteriors(*self.log_potentials(symbols)).states

    def sample(self, length: int, random_state: RandomLike = None) -> tuple[np.ndarray, np.ndarray]:
        """A sequence of symbols and the states behind it."""
        rng = as_generator(random_state)
        states = draw_path(self.start, self.transition, length, rng)
        return draw_states(self.emission, states, rng), states

    def factors(self, symbols: Any) -> list[Factor]:
        """The posterior of the states of one sequence as a product of factors over the times."""
        return chain_factors(*self.log_potentials(symbols))

    def log_potentials(self, symbols: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Emissions (T, K), transition and start, as logarithms."""
        x = np.asarray(symbols)
        allowed = self.emission.shape[1]
        if x.ndim != 1 or x.size == 0 or x.dtype.kind not in "iu" or x.min() < 0 or x.max() >= allowed:
            raise ValueError(f"HiddenMarkovModel: a sequence must be integers from 0 to {allowed - 1}, at least one.")
        with np.errstate(divide="ignore"):
            return np.log(self.emission.T[x]), np.log(self.transition), np.log(self.start)


def draw_path(start: np.ndarray, transition: np.ndarray, length: int, rng: np.random.Generator) -> np.ndarray:
    """The states of a chain at ``length`` times."""
    states = np.zeros(length, dtype=np.int64)
    for t in range(length):
        law = start if t == 0 else transition[states[t - 1]]
        states[t] = draw_states(law[None], np.zeros(1, dtype=np.int64), rng)[0]
    return states


class BaumWelchStep(NamedTuple):
    """A model and the log-likelihood of the sequences under the model before it."""

    model: HiddenMarkovModel
    log_likelihood: float


def baum_welch(sequences: Sequence[Any], model: HiddenMarkovModel, alpha: float = 0.0) -> Iterator[BaumWelchStep]:
    """EM without end from ``model``; ``alpha`` is added to every expected count."""
    lengths = [len(symbols) for symbols in sequences]
    if not lengths or not min(lengths):
        raise ValueError("baum_welch: sequences must be at least one, and none of them empty.")
    together, ends = np.concatenate([np.asarray(symbols) for symbols in sequences]), np.cumsum(lengths)
    n_symbols = model.emission.shape[1]
    while True:
        emissions, transition, first = model.log_potentials(together)
        log_z, states, pairs = chain_posteriors(emissions, ends, transition, first)
        start = alpha + states[ends - lengths].sum(axis=0)
        emitted = alpha + np.array([np.bincount(together, column, n_symbols) for column in states.T])
        model = HiddenMarkovModel(*(normalized_counts(counts) for counts in (start, pairs + alpha, emitted)))
        yield BaumWelchStep(model, float(log_z.sum()))


def normalized_counts(counts: np.ndarray) -> np.ndarray:
    """Probabilities along the last axis; where nothing was counted, equal ones."""
    total = counts.sum(axis=-1, keepdims=True)
    return np.divide(counts, total, out=np.full(counts.shape, 1.0 / counts.shape[-1]), where=total > 0)
