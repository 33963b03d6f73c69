r"""Directed acyclic graphs as mappings from every variable to its parents, and what they say about independence.

``{"rain": [], "sprinkler": ["rain"], "wet": ["rain", "sprinkler"]}`` is a graph. It encodes

.. math:: p(x) = \prod_i p(x_i \mid x_{pa(i)})

and thereby every independence that d-separation reads off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import combinations
from typing import Any

import numpy as np

__all__ = [
    "Name",
    "Parents",
    "checked_graph",
    "d_separated",
    "descendants",
    "edges",
    "is_acyclic",
    "markov_equivalent",
    "moral_graph",
    "random_graph",
    "skeleton",
    "topological_order",
    "v_structures",
]

# A variable is named by anything hashable. ``Hashable`` itself would refuse ``dict[str, ...]``: mappings do not vary
# in the type of their keys.
Name = Any
Parents = Mapping[Name, Sequence[Name]]


def checked_graph(parents: Parents) -> dict[Name, tuple[Name, ...]]:
    """The graph with parents as tuples; every parent is a variable, none is named twice, and there is no cycle."""
    graph = {child: tuple(above) for child, above in parents.items()}
    for child, above in graph.items():
        unknown = [parent for parent in above if parent not in graph]
        if unknown:
            raise ValueError(f"graph: the parent {unknown[0]!r} of {child!r} is not a variable of the graph.")
        if len(set(above)) < len(above):
            raise ValueError(f"graph: a parent of {child!r} is named twice; got {list(above)}.")
    topological_order(graph)
    return graph


def topological_order(parents: Parents) -> list[Name]:
    """The variables with every parent before its children; of those that may come next the first in the mapping.

    >>> topological_order({"wet": ["rain"], "rain": []})
    ['rain', 'wet']
    """
    children: dict[Name, list[Name]] = {variable: [] for variable in parents}
    waiting = {child: len(above) for child, above in parents.items()}
    for child, above in parents.items():
        for parent in above:
            children[parent].append(child)
    names = list(parents)
    rank = {variable: i for i, variable in enumerate(names)}
    ready = [rank[variable] for variable in names if waiting[variable] == 0]
    order: list[Name] = []
    while ready:
        order.append(names[heappop(ready)])
        for child in children[order[-1]]:
            waiting[child] -= 1
            if waiting[child] == 0:
                heappush(ready, rank[child])
    if len(order) < len(names):
        left = [variable for variable in names if waiting[variable] > 0]
        raise ValueError(f"graph: a cycle goes through {', '.join(map(str, left))}; parents must form no cycle.")
    return order


def is_acyclic(parents: Parents) -> bool:
    try:
        topological_order(parents)
    except ValueError:
        return False
    return True


def edges(parents: Parents) -> set[tuple[Name, Name]]:
    """Pairs (parent, child)."""
    return {(parent, child) for child, above in parents.items() for parent in above}


def skeleton(parents: Parents) -> set[frozenset[Name]]:
    """The edges without their direction."""
    return {frozenset(edge) for edge in edges(parents)}


def v_structures(parents: Parents) -> set[tuple[Name, frozenset[Name]]]:
    """Colliders: children with two parents that are not adjacent, as (child, pair of parents)."""
    joined = skeleton(parents)
    return {
        (child, frozenset(pair))
        for child, above in parents.items()
        for pair in combinations(above, 2)
        if frozenset(pair) not in joined
    }


def markov_equivalent(first: Parents, second: Parents) -> bool:
    """Whether two graphs encode the same independencies: the same skeleton and the same v-structures (Verma, Pearl).

    >>> markov_equivalent({"a": [], "b": ["a"]}, {"b": [], "a": ["b"]})
    True
    """
    same_variables = set(first) == set(second)
    return same_variables and skeleton(first) == skeleton(second) and v_structures(first) == v_structures(second)


def moral_graph(parents: Parents) -> dict[Name, set[Name]]:
    """Neighbors of every variable once directions are dropped and the parents of every child are joined."""
    neighbors: dict[Name, set[Name]] = {variable: set() for variable in parents}
    for child, above in parents.items():
        for a, b in combinations((child, *above), 2):
            neighbors[a].add(b)
            neighbors[b].add(a)
    return neighbors


def ancestors(parents: Parents, of: Iterable[Name]) -> set[Name]:
    """``of`` and everything above it."""
    reached: set[Name] = set()
    stack = list(of)
    while stack:
        variable = stack.pop()
        if variable not in reached:
            reached.add(variable)
            stack += parents[variable]
    return reached


def descendants(parents: Parents, of: Name) -> set[Name]:
    """Everything below ``of``, itself included."""
    reached = {of}
    for variable in topological_order(parents):
        if any(parent in reached for parent in parents[variable]):
            reached.add(variable)
    return reached


def d_separated(parents: Parents, first: Iterable[Name], second: Iterable[Name], given: Iterable[Name] = ()) -> bool:
    """Whether the graph alone makes ``first`` and ``second`` independent given ``given``.

    They are exactly if ``given`` separates them in the moral graph of their common ancestors.

    >>> collider = {"a": [], "b": [], "c": ["a", "b"]}
    >>> d_separated(collider, ["a"], ["b"]), d_separated(collider, ["a"], ["b"], ["c"])
    (True, False)
    """
    first, second, given = set(first), set(second), set(given)
    for variable in first | second | given:
        if variable not in parents:
            raise ValueError(f"d_separated: {variable!r} is not a variable of the graph.")
    if first & second or (first | second) & given:
        raise ValueError("d_separated: first, second and given must have no variable in common.")
    kept = ancestors(parents, first | second | given)
    neighbors = moral_graph({variable: parents[variable] for variable in parents if variable in kept})
    reached, stack = set(first), list(first)
    while stack:
        for neighbor in neighbors[stack.pop()] - given - reached:
            reached.add(neighbor)
            stack.append(neighbor)
    return not reached & second


def random_graph(n_variables: int, rng: np.random.Generator, density: float = 0.4) -> dict[Name, tuple[int, ...]]:
    """A graph on 0, 1, ... with edges of a random order, each present with probability ``density``."""
    order = rng.permutation(n_variables)
    above = {
        int(order[i]): tuple(int(order[j]) for j in range(i) if rng.random() < density) for i in range(n_variables)
    }
    return {i: above[i] for i in range(n_variables)}
