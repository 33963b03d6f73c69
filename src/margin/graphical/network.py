r"""A Bayesian network of discrete variables: a directed acyclic graph and one table per variable.

.. math:: p_\Theta(x) = \prod_i p_{\theta_i}(x_i \mid x_{pa(i)})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.randomness import RandomLike, as_generator
from margin.graphical.elimination import log_partition, marginal, most_probable
from margin.graphical.factors import Factor
from margin.graphical.graphs import Name, Parents, checked_graph, topological_order
from margin.graphical.junction_tree import calibrate

__all__ = ["DiscreteNetwork", "draw_states", "random_network", "row_index"]

SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False, init=False)
class DiscreteNetwork:
    """``tables[v]`` has one axis per parent of ``v``, in their order, and a last one for ``v``, which sums to 1.

    Rows of states are integer arrays (n, variables) with columns in the order of ``variables``.

    >>> net = DiscreteNetwork({"rain": [], "wet": ["rain"]}, {"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]})
    >>> net.query(["rain"], {"wet": 1}).values.round(3)
    array([0.333, 0.667])
    """

    parents: dict[Name, tuple[Name, ...]]
    tables: dict[Name, np.ndarray]

    def __init__(self, parents: Parents, tables: Mapping[Name, Any]) -> None:
        graph = checked_graph(parents)
        if set(tables) != set(graph):
            raise ValueError("DiscreteNetwork: tables must have one entry for every variable of the graph.")
        arrays = {name: np.asarray(tables[name], dtype=np.float64) for name in graph}
        for name, above in graph.items():
            _check_table(name, arrays, above)
        object.__setattr__(self, "parents", graph)
        object.__setattr__(self, "tables", arrays)

    @property
    def variables(self) -> tuple[Name, ...]:
        return tuple(self.parents)

    @property
    def sizes(self) -> dict[Name, int]:
        """Number of states of every variable."""
        return {name: table.shape[-1] for name, table in self.tables.items()}

    @property
    def n_parameters(self) -> int:
        """Free parameters: one less than the states for every combination of the parents' states."""
        return sum(table.size // table.shape[-1] * (table.shape[-1] - 1) for table in self.tables.values())

    def factors(self) -> list[Factor]:
        """The tables as factors, whose product is the joint distribution."""
        return [Factor.of_checked((*above, name), self.tables[name]) for name, above in self.parents.items()]

    def log_prob(self, states: Any) -> np.ndarray:
        """Log-probability of every row of ``states`` (n, variables)."""
        rows = self._check(states)
        total = np.zeros(len(rows))
        column = self._columns()
        with np.errstate(divide="ignore"):
            for name, above in self.parents.items():
                index, size = row_index(rows, [column[v] for v in (*above, name)], self._shape((*above, name)))
                total += np.log(self.tables[name].reshape(size)[index])
        return total

    def query(self, variables: Sequence[Name], evidence: Mapping[Name, int] | None = None) -> Factor:
        """The exact distribution of ``variables`` given ``evidence``."""
        return marginal(self.factors(), variables, evidence)

    def posteriors(self, evidence: Mapping[Name, int] | None = None) -> dict[Name, np.ndarray]:
        """The exact distribution of every variable that is not in ``evidence``, all from one junction tree.

        >>> net = DiscreteNetwork({"a": [], "b": ["a"]}, {"a": [0.5, 0.5], "b": [[0.9, 0.1], [0.4, 0.6]]})
        >>> net.posteriors()["b"].round(2)
        array([0.65, 0.35])
        """
        known = evidence or {}
        tree = calibrate(self.factors(), known)
        return {name: tree.marginal([name]).values for name in self.parents if name not in known}

    def log_evidence(self, evidence: Mapping[Name, int]) -> float:
        """The log-probability that the variables of ``evidence`` have these states."""
        return log_partition(self.factors(), evidence)

    def most_probable(self, evidence: Mapping[Name, int] | None = None) -> dict[Name, int]:
        """The most probable states of all variables given ``evidence``."""
        return most_probable(self.factors(), evidence)

    def sample(self, n_samples: int = 1, random_state: RandomLike = None) -> np.ndarray:
        """Ancestral sampling: every variable after its parents, from the row of its table that they select."""
        rng = as_generator(random_state)
        rows = np.zeros((n_samples, len(self.parents)), dtype=np.int64)
        column = self._columns()
        for name in topological_order(self.parents):
            above = self.parents[name]
            index, size = row_index(rows, [column[v] for v in above], self._shape(above))
            rows[:, column[name]] = draw_states(self.tables[name].reshape(size, -1), index, rng)
        return rows

    def joint(self) -> np.ndarray:
        """The table of all variables, one axis each: for small networks only."""
        total = np.ones([1] * len(self.parents))
        for factor in self.factors():
            total = total * factor.over(self.variables)
        return total

    def _columns(self) -> dict[Name, int]:
        return {name: i for i, name in enumerate(self.parents)}

    def _shape(self, names: Sequence[Name]) -> tuple[int, ...]:
        return tuple(self.tables[name].shape[-1] for name in names)

    def _check(self, states: Any) -> np.ndarray:
        rows = np.asarray(states)
        if rows.ndim != 2 or rows.shape[1] != len(self.parents) or rows.dtype.kind not in "iu":
            raise ValueError(
                f"DiscreteNetwork: states must be integers of shape (n, {len(self.parents)}); "
                f"got {rows.dtype} of shape {rows.shape}."
            )
        if rows.size and (rows.min() < 0 or (rows.max(axis=0) >= list(self.sizes.values())).any()):
            raise ValueError(f"DiscreteNetwork: states must be below {list(self.sizes.values())}, column by column.")
        return rows


def row_index(rows: np.ndarray, columns: Sequence[int], sizes: Sequence[int]) -> tuple[np.ndarray, int]:
    """The position of every row in a table over ``columns``, in C order, and the number of positions."""
    index, total = np.zeros(len(rows), dtype=np.int64), 1
    for column, size in zip(columns, sizes):
        index = index * size + rows[:, column]
        total *= size
    return index, total


def draw_states(table: np.ndarray, index: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One state for every row from the distribution ``table[index]``, by its cumulative sums."""
    edges = np.cumsum(table, axis=1)[:, :-1]
    return (rng.random(len(index))[:, None] >= edges[index]).sum(axis=1)


def random_network(
    parents: Parents, sizes: int | Mapping[Name, int], rng: np.random.Generator, concentration: float = 1.0
) -> DiscreteNetwork:
    """A network on a graph with tables drawn from Dirichlet distributions: for tests and simulations."""
    graph = checked_graph(parents)
    states = {name: sizes if isinstance(sizes, int) else sizes[name] for name in graph}
    return DiscreteNetwork(
        graph,
        {
            name: rng.dirichlet(np.full(states[name], concentration), size=tuple(states[v] for v in above))
            for name, above in graph.items()
        },
    )


def _check_table(name: Name, tables: Mapping[Name, np.ndarray], above: Sequence[Name]) -> None:
    table = tables[name]
    expected = tuple(tables[parent].shape[-1] if tables[parent].ndim else 0 for parent in above)
    if table.ndim != len(above) + 1 or table.shape[:-1] != expected:
        raise ValueError(
            f"DiscreteNetwork: the table of {name!r} must have shape {(*expected, 'states')}; got {table.shape}."
        )
    if not (table >= 0).all() or np.any(np.abs(table.sum(axis=-1) - 1) > SUM_TOLERANCE):
        raise ValueError(f"DiscreteNetwork: the table of {name!r} must sum to 1 on its last axis, without negatives.")
