r"""Histograms: the simplest generative models, frequencies of events.

.. math:: \hat p(v) = \frac{N_v + \alpha}{n + \alpha K}
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Number
from margin.core.invariants import ArrayOf, ListOf
from margin.core.parameters import attribute, parameter
from margin.core.randomness import RandomLike, as_generator
from margin.neighbors.density.base import StateDensity
from margin.neighbors.density.stored import columns_are_states, one_probability_per_state

__all__ = ["CategoryHistogram", "HistogramDensity"]


@dataclass(frozen=True, eq=False)
class CategoryHistogram:
    """Counts of categories of any kind.

    >>> weather = CategoryHistogram.fit(["sun", "rain", "sun", "snow"])
    >>> weather.mode, weather.prob(lambda state: state != "sun")
    ('sun', 0.5)
    """

    values: tuple[Hashable, ...]
    counts: np.ndarray

    @classmethod
    def fit(cls, categories: Any) -> CategoryHistogram:
        counts: dict[Hashable, int] = {}
        for value in categories:
            counts[value] = counts.get(value, 0) + 1
        if not counts:
            raise ValueError("CategoryHistogram: categories must not be empty.")
        return cls(tuple(counts), np.array(list(counts.values())))

    @property
    def probabilities(self) -> np.ndarray:
        return self.counts / self.counts.sum()

    @property
    def mode(self) -> Hashable:
        """The most frequent category."""
        return self.values[int(self.counts.argmax())]

    def prob(self, condition: Callable[[Hashable], bool]) -> float:
        """The probability of the event that ``condition`` is true."""
        return float(sum(p for value, p in zip(self.values, self.probabilities) if condition(value)))

    def log_prob(self, categories: Any) -> np.ndarray:
        """Log-probability of every category; minus infinity for one that was never seen."""
        known = dict(zip(self.values, np.log(self.probabilities)))
        return np.array([known.get(value, -np.inf) for value in categories])

    def sample(self, n_samples: int, random_state: RandomLike = None) -> list[Hashable]:
        """Categories drawn with their frequencies."""
        drawn = as_generator(random_state).choice(len(self.values), size=n_samples, p=self.probabilities)
        return [self.values[i] for i in drawn]

    def labels(self) -> list[str]:
        """What stands on the bars: count, and probability in parentheses."""
        return [f"{n} ({p:.2f})" for n, p in zip(self.counts, self.probabilities)]


class HistogramDensity(StateDensity):
    r"""A histogram of every column, as if columns were independent.

    Examples
    --------
    >>> model = HistogramDensity(alpha=0.0).fit([[0.0], [0.0], [1.0], [0.0]])
    >>> np.exp(model.score_samples([[0.0], [1.0]])).round(2)
    array([0.75, 0.25])
    """

    alpha: float = parameter(1.0, Number(low=0, search=(1e-2, 10.0), log=True), "Rows added to every state.")
    _: KW_ONLY

    probabilities_: list[np.ndarray] = attribute(
        ListOf(ArrayOf(None, low=0, high=1), "n_features"), "The probability of every state of every column."
    )

    _stored_rules = (
        columns_are_states,
        one_probability_per_state,
    )

    def fit(self, X: MatrixLike, y: ArrayLike | None = None) -> HistogramDensity:
        """Count the states of every column; ``y`` is ignored."""
        codes = self._learn_columns(X)
        counts = [np.bincount(c[c >= 0], minlength=size) for c, size in zip(codes.T, self._sizes())]
        self.probabilities_ = [(n + self.alpha) / (n + self.alpha).sum() for n in counts]
        return self

    def _log_prob(self, codes: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            logs = [np.append(np.log(p), 0.0) for p in self.probabilities_]  # the last for missing entries, code -1
        return np.sum([log[c] for log, c in zip(logs, codes.T)], axis=0)

    def _draw_states(self, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        return np.stack([rng.choice(len(p), size=n_samples, p=p) for p in self.probabilities_], axis=1)
