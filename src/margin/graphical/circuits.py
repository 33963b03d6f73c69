r"""Probabilistic circuits: sums and products of distributions of single variables.

A sum node mixes children over the same variables, a product node multiplies children over disjoint ones; so every
marginal is one pass over the nodes: a variable that is summed out has the value 1 at its leaves. Learning follows
Gens and Domingos (2013): columns that tests find independent are split by a product, otherwise rows are split into two
clusters by a sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import logsumexp

from margin.graphical.independence import ci_test
from margin.graphical.network import draw_states
from margin.graphical.parameters import smooth

__all__ = ["LEAF", "PRODUCT", "SUM", "Circuit", "learned_circuit"]

LEAF, PRODUCT, SUM = 0, 1, 2


@dataclass(eq=False)
class Circuit:
    """Nodes with every child before its parent, the root last.

    ``children[i]`` are positions of nodes; ``parameters[i]`` the log-weights of a sum, the log-probabilities of the
    states of a leaf, or nothing; ``variable[i]`` the variable of a leaf, else -1.
    """

    kind: list[int] = field(default_factory=list)
    variable: list[int] = field(default_factory=list)
    children: list[np.ndarray] = field(default_factory=list)
    parameters: list[np.ndarray] = field(default_factory=list)

    def add(self, kind: int, variable: int, children: list[int], parameters: np.ndarray) -> int:
        """Append a node and return its position."""
        self.kind.append(kind)
        self.variable.append(variable)
        self.children.append(np.array(children, dtype=np.int64))
        self.parameters.append(parameters)
        return len(self.kind) - 1

    def log_prob(self, states: np.ndarray) -> np.ndarray:
        """Log-probability of rows of states, in one pass over the nodes; -1 is summed out."""
        values = np.empty((len(self.kind), len(states)))
        for i, kind in enumerate(self.kind):
            if kind == LEAF:
                column = states[:, self.variable[i]]
                values[i] = np.where(column < 0, 0.0, self.parameters[i][column])
            elif kind == PRODUCT:
                values[i] = values[self.children[i]].sum(axis=0)
            else:
                values[i] = logsumexp(values[self.children[i]] + self.parameters[i][:, None], axis=0)
        return values[-1]

    def sample(self, n_samples: int, n_variables: int, rng: np.random.Generator) -> np.ndarray:
        """Rows drawn from the root down: a sum sends every row to one child, a product to all."""
        rows = np.zeros((n_samples, n_variables), dtype=np.int64)
        waiting: list[list[np.ndarray]] = [[] for _ in self.kind]
        waiting[-1].append(np.arange(n_samples))
        for i in range(len(self.kind) - 1, -1, -1):
            here = np.concatenate(waiting[i]) if waiting[i] else np.zeros(0, dtype=np.int64)
            if len(here) == 0:
                continue
            if self.kind[i] == PRODUCT:
                for child in self.children[i]:
                    waiting[child].append(here)
                continue
            law = np.exp(self.parameters[i])[None]
            drawn = draw_states(law / law.sum(), np.zeros(len(here), dtype=np.int64), rng)
            if self.kind[i] == LEAF:
                rows[here, self.variable[i]] = drawn
            else:
                for k, child in enumerate(self.children[i]):
                    waiting[child].append(here[drawn == k])
        return rows


def learned_circuit(
    rows: np.ndarray,
    sizes: list[int],
    rng: np.random.Generator,
    *,
    alpha: float = 0.5,
    min_rows: int = 50,
    threshold: float = 1e-3,
) -> Circuit:
    """A circuit of rows of states without gaps.

    Columns with a p-value below ``threshold`` stay together; fewer than ``min_rows`` rows are not split any more.
    """
    circuit = Circuit()
    _grow(circuit, rows, list(range(len(sizes))), sizes, rng, alpha, min_rows, threshold)
    return circuit


def _grow(
    circuit: Circuit,
    rows: np.ndarray,
    columns: list[int],
    sizes: list[int],
    rng: np.random.Generator,
    alpha: float,
    min_rows: int,
    threshold: float,
) -> int:
    """Adds the circuit of some rows and columns; returns the position of its root."""
    settings = (sizes, rng, alpha, min_rows, threshold)
    if len(columns) == 1:
        counts = np.bincount(rows[:, columns[0]], minlength=sizes[columns[0]]).astype(np.float64)
        with np.errstate(divide="ignore"):
            return circuit.add(LEAF, columns[0], [], np.log(smooth(counts, alpha)))
    groups = [[c] for c in columns] if len(rows) < min_rows else _dependent_groups(rows, columns, threshold)
    if len(groups) == 1:
        parts = _two_clusters(rows[:, columns], [sizes[c] for c in columns], rng)
        if parts is not None:
            nodes = [_grow(circuit, rows[part], columns, *settings) for part in parts]
            weights = np.array([part.sum() for part in parts]) / len(rows)
            return circuit.add(SUM, -1, nodes, np.log(weights))
        groups = [[c] for c in columns]
    nodes = [_grow(circuit, rows, group, *settings) for group in groups]
    return circuit.add(PRODUCT, -1, nodes, np.zeros(0))


def _dependent_groups(rows: np.ndarray, columns: list[int], threshold: float) -> list[list[int]]:
    """Columns joined by chains of pairs that a test finds dependent."""
    n = len(columns)
    joined = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(i):
            joined[i, j] = ci_test(rows, columns[i], columns[j]).p_value < threshold
    count, label = connected_components(joined, directed=False)
    return [[columns[i] for i in np.flatnonzero(label == g)] for g in range(count)]


def _two_clusters(rows: np.ndarray, sizes: list[int], rng: np.random.Generator) -> list[np.ndarray] | None:
    """Masks of two clusters of rows, from the first start that does not collapse; None if none of five does."""
    for _ in range(5):
        first = rows[rng.integers(len(rows))]
        others = np.flatnonzero((rows != first).any(axis=1))
        if len(others) == 0:
            return None
        second = rows[others[rng.integers(len(others))]]
        # The rows nearer to either of two different ones, ties by chance.
        label = (rows == second).sum(axis=1) + 0.5 * rng.random(len(rows)) > (rows == first).sum(axis=1) + 0.25
        label = _hard_em(rows, sizes, label)
        if 0 < label.sum() < len(label):
            return [~label, label]
    return None


def _hard_em(rows: np.ndarray, sizes: list[int], label: np.ndarray) -> np.ndarray:
    """Every row in the more probable of two products of columns, which are refitted in turn."""
    index = rows + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    for _ in range(20):
        if not 0 < label.sum() < len(label):
            break
        scores = []
        for part in (~label, label):
            counts = np.bincount(index[part].ravel(), minlength=sum(sizes)) + 0.1
            log_p = np.log(counts) - np.log(part.sum() + 0.1 * np.repeat(sizes, sizes))
            scores.append(log_p[index].sum(axis=1) + np.log(part.mean()))
        new = scores[1] > scores[0]
        if (new == label).all():
            break
        label = new
    return label
