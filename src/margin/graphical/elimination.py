r"""Variable elimination: exact marginals by summing one variable after the other out of a product of factors.

The order decides the cost: summing out a variable makes a table over all its neighbors at that time, of
:math:`2^{w+1}` entries for binary variables if :math:`w` is the width of the order. The smallest width over all
orders is the tree-width of the graph, the size of the largest clique of the best triangulation minus one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import combinations
from math import prod

import numpy as np

from margin.graphical.factors import Factor, cardinalities, product, restrict
from margin.graphical.graphs import Name

__all__ = [
    "Elimination",
    "elimination_order",
    "interaction_graph",
    "log_partition",
    "marginal",
    "most_probable",
    "refuse_large",
    "treewidth",
]

LARGEST_TABLE = 2**26  # entries, half a gigabyte: what a query may ask for before it is refused

Neighbors = Mapping[Name, set[Name]]


@dataclass(frozen=True)
class Elimination:
    """An order, the clique that each variable makes when it is summed out, and what that costs."""

    order: tuple[Name, ...]
    cliques: tuple[frozenset[Name], ...]

    @property
    def width(self) -> int:
        """Size of the largest clique minus one: an upper bound of the tree-width."""
        return max((len(clique) for clique in self.cliques), default=1) - 1

    def cost(self, sizes: Mapping[Name, int]) -> int:
        """Entries of all tables that the elimination makes."""
        return sum(prod(sizes[name] for name in clique) for clique in self.cliques)


def interaction_graph(factors: Iterable[Factor]) -> dict[Name, set[Name]]:
    """Neighbors of every variable: those that share a factor with it."""
    neighbors: dict[Name, set[Name]] = {}
    for factor in factors:
        for name in factor.variables:
            neighbors.setdefault(name, set())
        for a, b in combinations(factor.variables, 2):
            neighbors[a].add(b)
            neighbors[b].add(a)
    return neighbors


def elimination_order(neighbors: Neighbors, keep: Iterable[Name] = ()) -> Elimination:
    """The greedy order that joins the fewest pairs of neighbors at every step (min-fill), leaving ``keep`` out."""
    graph = {name: set(near) for name, near in neighbors.items()}
    rank = {name: i for i, name in enumerate(graph)}
    kept = set(keep)

    def key(name: Name) -> tuple[int, int, int]:
        return _missing(graph, name), len(graph[name]), rank[name]

    current = {name: key(name) for name in graph if name not in kept}
    names = list(graph)
    heap = sorted(current.values())
    order, cliques = [], []
    while current:
        entry = heappop(heap)
        best = names[entry[2]]
        if current.get(best) != entry:  # an older key of a variable that has another one now, or is gone
            continue
        near = graph.pop(best)
        del current[best]
        order.append(best)
        cliques.append(frozenset({best, *near}))
        for name in near:
            graph[name] = (graph[name] | near) - {best, name}
        # Where no pair had to be joined, only the neighbors' own keys change.
        touched = near.union(*(graph[name] for name in near)) if entry[0] else near
        for name in touched & current.keys():
            current[name] = key(name)
            heappush(heap, current[name])
    return Elimination(tuple(order), tuple(cliques))


def treewidth(neighbors: Neighbors) -> int:
    """The width of the min-fill order: an upper bound of the tree-width, exact for chordal graphs.

    >>> treewidth({0: {1}, 1: {0, 2}, 2: {1}})
    1
    """
    return elimination_order(neighbors).width


def marginal(factors: Sequence[Factor], query: Sequence[Name], evidence: Mapping[Name, int] | None = None) -> Factor:
    """The normalized table of the ``query`` variables given ``evidence``, by variable elimination."""
    evidence = evidence or {}
    left = restrict(factors, evidence, "marginal")
    sizes = cardinalities(left)
    for name in query:
        if name not in sizes:
            problem = "is part of the evidence" if name in evidence else "is not a variable of the model"
            raise ValueError(f"marginal: the query variable {name!r} {problem}.")
    return product(_eliminate(left, tuple(query))).normalize().reorder(tuple(query))


def log_partition(factors: Sequence[Factor], evidence: Mapping[Name, int] | None = None) -> float:
    r"""Logarithm of the sum of the product over all states: :math:`\log Z`, or that of the evidence."""
    left = restrict(factors, evidence or {}, "log_partition")
    logs: list[float] = []
    last = product(_eliminate(left, (), logs))
    with np.errstate(divide="ignore"):
        return sum(logs) + float(np.log(last.values))


def most_probable(factors: Sequence[Factor], evidence: Mapping[Name, int] | None = None) -> dict[Name, int]:
    """The most probable states of all variables given ``evidence``, by max-product elimination and a walk back."""
    evidence = dict(evidence or {})
    left = restrict(factors, evidence, "most_probable")
    plan = elimination_order(interaction_graph(left))
    refuse_large(plan, cardinalities(left))
    seen: list[tuple[Name, Factor]] = []
    buckets = _Buckets(left)
    for name in plan.order:
        together = product(buckets.take(name))
        seen.append((name, together))
        peak = float(together.values.max())
        if peak == 0:
            raise ValueError("most_probable: the evidence has probability 0.")
        smaller = together.maximize([name])
        buckets.put(Factor.of_checked(smaller.variables, smaller.values / peak))
    if any(factor.values == 0 for factor in left if not factor.variables):
        raise ValueError("most_probable: the evidence has probability 0.")
    states: dict[Name, int] = {}
    for name, together in reversed(seen):
        states[name] = int(together.condition({v: states[v] for v in together.variables if v != name}).values.argmax())
    return {**evidence, **states}


def _eliminate(left: list[Factor], keep: tuple[Name, ...], logs: list[float] | None = None) -> list[Factor]:
    """What is left of the factors when all variables but ``keep`` are summed out; scales go to ``logs``."""
    plan = elimination_order(interaction_graph(left), keep)
    refuse_large(plan, cardinalities(left))
    buckets = _Buckets(left)
    for name in plan.order:
        together = product(buckets.take(name)).sum_out([name])
        peak = float(together.values.max())
        # Scaling keeps long products away from underflow; a zero table stays what it is.
        if peak > 0:
            together = Factor.of_checked(together.variables, together.values / peak)
            if logs is not None:
                logs.append(float(np.log(peak)))
        buckets.put(together)
    return _without_constants(buckets.left(), logs)


class _Buckets:
    """Factors by variable, so that those of one variable are found without a look at the others."""

    def __init__(self, factors: Iterable[Factor]) -> None:
        self._factors: dict[int, Factor] = {}
        self._of: dict[Name, dict[int, None]] = {}
        self._count = 0
        for factor in factors:
            self.put(factor)

    def put(self, factor: Factor) -> None:
        self._factors[self._count] = factor
        for name in factor.variables:
            self._of.setdefault(name, {})[self._count] = None
        self._count += 1

    def take(self, name: Name) -> list[Factor]:
        """The factors that hold ``name``, which leave."""
        taken = [(i, self._factors.pop(i)) for i in list(self._of.get(name, ()))]
        for i, factor in taken:
            for member in factor.variables:
                del self._of[member][i]
        return [factor for _, factor in taken]

    def left(self) -> list[Factor]:
        return list(self._factors.values())


def _without_constants(factors: list[Factor], logs: list[float] | None) -> list[Factor]:
    """The factors without positive constants, of which evidence leaves so many that their product may underflow."""
    constants = [float(factor.values) for factor in factors if not factor.variables and factor.values > 0]
    if logs is not None:
        logs.extend(np.log(constants))
    return [factor for factor in factors if factor.variables or factor.values == 0]


def _missing(graph: Mapping[Name, set[Name]], name: Name) -> int:
    """Pairs of neighbors of ``name`` that are not joined."""
    near = graph[name]
    return sum(len(near - graph[other]) - 1 for other in near) // 2


def refuse_large(plan: Elimination, sizes: Mapping[Name, int]) -> None:
    """A table that would not fit into memory is an error that says why."""
    largest = max((prod(sizes[name] for name in clique) for clique in plan.cliques), default=1)
    if largest > LARGEST_TABLE:
        raise ValueError(
            f"elimination: a table of {largest:.3g} entries is needed (width {plan.width}); at most {LARGEST_TABLE:.3g}"
            " are made. Sample instead, or learn a graph with fewer parents."
        )
