"""A probabilistic circuit learned from a table, with exact log-densities and marginals in one pass."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from margin.core.domains import Integer, Number, Seed
from margin.core.invariants import ArrayOf, ListOf
from margin.core.parameters import attribute, parameter
from margin.core.randomness import RandomLike, as_generator
from margin.graphical.circuits import Circuit, learned_circuit
from margin.graphical.stored import children_come_first
from margin.neighbors.density.base import StateDensity
from margin.neighbors.density.stored import columns_are_states

__all__ = ["SumProductNetwork"]

MOST_COMPARED = 2_000  # columns, all pairs of which are tested: some minutes


class SumProductNetwork(StateDensity):
    r"""Sums over clusters of rows and products over independent columns, with histograms at the leaves.

    In training a missing entry (NaN) takes the most frequent state of its column.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.integers(2, size=400)
    >>> model = SumProductNetwork(random_state=0).fit(np.column_stack([a, a]))
    >>> seen, never = np.exp(model.score_samples([[0, 0], [0, 1]]))
    >>> bool(abs(seen - np.mean(a == 0)) < 0.05), bool(never < 0.01)
    (True, True)
    """

    _: KW_ONLY
    alpha: float = parameter(0.5, Number(low=0, search=(1e-2, 10.0), log=True), "Rows added to every state of a leaf.")
    min_rows: int = parameter(50, Integer(low=2, search=(10, 500), log=True), "Fewer rows than that are not split.")
    threshold: float = parameter(
        1e-3, Number(above=0, below=1, search=(1e-5, 0.1), log=True), "Columns with a p-value below it stay together."
    )
    random_state: RandomLike = parameter(None, Seed(), "Draws the rows from which clusters start.")

    kinds_: np.ndarray = attribute(
        ArrayOf("n_nodes", kind="int64", low=0, high=2),
        "0 for a leaf, 1 for a product, 2 for a sum; every child is before its parent.",
    )
    variables_: np.ndarray = attribute(
        ArrayOf("n_nodes", kind="int64", low=-1, below="n_features"), "The column of every leaf, -1 for other nodes."
    )
    children_: list[np.ndarray] = attribute(
        ListOf(ArrayOf(None, kind="int64"), "n_nodes"), "The positions of the children of every node."
    )
    log_parameters_: list[np.ndarray] = attribute(
        ListOf(ArrayOf(None, finite=False), "n_nodes"), "Log-weights of a sum, log-probabilities of a leaf."
    )

    _stored_rules = (
        columns_are_states,
        children_come_first,
    )

    def fit(self, X: Any, y: Any = None) -> SumProductNetwork:
        """Grow the circuit; ``y`` is ignored."""
        codes = self._learn_columns(X)
        for j, column in enumerate(codes.T):
            if (column < 0).any():
                codes[column < 0, j] = np.bincount(column[column >= 0]).argmax()
        if codes.shape[1] > MOST_COMPARED and len(codes) >= self.min_rows:
            raise ValueError(
                f"SumProductNetwork: all pairs of columns are tested for independence, so X must have at most "
                f"{MOST_COMPARED:,}; got {codes.shape[1]:,}."
            )
        rng = as_generator(self.random_state)
        circuit = learned_circuit(
            codes, self._sizes(), rng, alpha=self.alpha, min_rows=self.min_rows, threshold=self.threshold
        )
        self.kinds_, self.variables_ = np.array(circuit.kind), np.array(circuit.variable)
        self.children_, self.log_parameters_ = circuit.children, circuit.parameters
        return self

    @property
    def circuit_(self) -> Circuit:
        """The nodes of the circuit."""
        return Circuit(self.kinds_.tolist(), self.variables_.tolist(), self.children_, self.log_parameters_)

    def _log_prob(self, codes: np.ndarray) -> np.ndarray:
        return self.circuit_.log_prob(codes)

    def _draw_states(self, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        return self.circuit_.sample(n_samples, self.n_features_in_, rng)
