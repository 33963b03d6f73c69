r"""Search for the graph with the best score: greedily, or exactly for few variables.

Greedy search starts from the empty graph, tries all additions, removals and reversals of one edge, takes the best and
stops when nothing improves. Exact search is dynamic programming over subsets (Silander and Myllymaki, 2006),

.. math:: S(V) = \max_{i \in V}\; S(V \setminus \{i\}) + \max_{pa \subseteq V \setminus \{i\}} \mathrm{score}(i, pa),

whose time and memory double with every variable.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

__all__ = ["Constraints", "Move", "exact_search", "greedy_search", "greedy_steps"]

LocalScore = Callable[[int, frozenset[int]], float]
Graph = dict[int, tuple[int, ...]]

MOST_EXACT = 16  # variables: 2^16 subsets of each, a few seconds
IMPROVEMENT = 1e-9  # relative: smaller gains are rounding, and following them could go around in circles


@dataclass(frozen=True)
class Constraints:
    """Edges (parent, child) that a graph must have or must not have, and the most parents of a variable."""

    required: Collection[tuple[int, int]] = ()
    forbidden: Collection[tuple[int, int]] = ()
    max_parents: int | None = None

    def allows(self, child: int, parents: frozenset[int]) -> bool:
        """Whether a variable may have exactly these parents."""
        if self.max_parents is not None and len(parents) > self.max_parents:
            return False
        if any((parent, child) in self.forbidden for parent in parents):
            return False
        return all(parent in parents for parent, end in self.required if end == child)


class Move(NamedTuple):
    """One step of the greedy search: "start", "add", "remove" or "reverse", the edge, and the score after it."""

    action: str
    edge: tuple[int, int] | None
    score: float
    parents: Graph


def greedy_search(n_variables: int, score: LocalScore, constraints: Constraints | None = None) -> Graph:
    """The graph at which greedy search ends."""
    *_, last = greedy_steps(n_variables, score, constraints)
    return last.parents


def greedy_steps(n_variables: int, score: LocalScore, constraints: Constraints | None = None) -> Iterator[Move]:
    """Greedy search, move by move; it begins with the required edges."""
    rules = constraints or Constraints()
    parents = [frozenset(p for p, child in rules.required if child == i) for i in range(n_variables)]
    _refuse_impossible(parents, rules)
    local = [score(i, parents[i]) for i in range(n_variables)]
    yield Move("start", None, sum(local), _graph(parents))
    while True:
        below = _reachable(parents)
        best_gain, best = IMPROVEMENT * (1.0 + abs(sum(local))), None
        for action, edge, changed in _moves(parents, below, rules):
            gain = sum(score(i, above) - local[i] for i, above in changed.items())
            if gain > best_gain:
                best_gain, best = gain, (action, edge, changed)
        if best is None:
            return
        action, edge, changed = best
        for i, above in changed.items():
            parents[i], local[i] = above, score(i, above)
        yield Move(action, edge, sum(local), _graph(parents))


def exact_search(n_variables: int, score: LocalScore, constraints: Constraints | None = None) -> Graph:
    """A graph with the best score of all acyclic graphs."""
    if n_variables > MOST_EXACT:
        raise ValueError(f"exact_search: at most {MOST_EXACT} variables can be searched exactly; got {n_variables}.")
    rules = constraints or Constraints()
    _refuse_impossible([frozenset(p for p, c in rules.required if c == i) for i in range(n_variables)], rules)
    families = [_best_families(i, n_variables, score, rules) for i in range(n_variables)]
    full = 1 << n_variables
    total, sink = np.full(full, -np.inf), np.full(full, -1)
    total[0] = 0.0
    for subset in range(1, full):
        for i in range(n_variables):
            if subset >> i & 1:
                rest = subset ^ (1 << i)
                reached = total[rest] + families[i][0][rest]
                if reached > total[subset]:
                    total[subset], sink[subset] = reached, i
    if sink[full - 1] < 0:
        raise ValueError("exact_search: no acyclic graph satisfies the constraints.")
    graph: Graph = {}
    subset = full - 1
    while subset:
        i = int(sink[subset])
        subset ^= 1 << i
        chosen = int(families[i][1][subset])
        graph[i] = tuple(j for j in range(n_variables) if chosen >> j & 1)
    return {i: graph[i] for i in range(n_variables)}


def _best_families(child: int, n: int, score: LocalScore, rules: Constraints) -> tuple[np.ndarray, np.ndarray]:
    """For every subset of variables the best score of ``child`` with parents among them, and those parents."""
    best, chosen = np.full(1 << n, -np.inf), np.zeros(1 << n, dtype=np.int64)
    others = [i for i in range(n) if i != child]
    most = n - 1 if rules.max_parents is None else min(rules.max_parents, n - 1)
    for size in range(most + 1):
        for parents in combinations(others, size):
            if rules.allows(child, frozenset(parents)):
                mask = sum(1 << p for p in parents)
                best[mask], chosen[mask] = score(child, frozenset(parents)), mask
    for i in others:  # the best over all subsets of a subset, one variable at a time
        for subset in range(1 << n):
            if subset >> i & 1 and best[subset ^ (1 << i)] > best[subset]:
                best[subset], chosen[subset] = best[subset ^ (1 << i)], chosen[subset ^ (1 << i)]
    return best, chosen


def _moves(
    parents: list[frozenset[int]], below: np.ndarray, rules: Constraints
) -> Iterator[tuple[str, tuple[int, int], dict[int, frozenset[int]]]]:
    """Every allowed change of one edge that leaves the graph acyclic: action, edge, new parents of who changes."""
    n = len(parents)
    for child in range(n):
        for other in range(n):
            if other == child:
                continue
            if other not in parents[child]:
                wider = parents[child] | {other}
                if not below[child, other] and rules.allows(child, wider):
                    yield "add", (other, child), {child: wider}
                continue
            fewer = parents[child] - {other}
            if not rules.allows(child, fewer):
                continue
            yield "remove", (other, child), {child: fewer}
            turned = parents[other] | {child}
            # Reversed, the edge closes a cycle if another path leads from ``other`` to ``child``.
            detour = any(below[other, p] for p in fewer)
            if not detour and rules.allows(other, turned):
                yield "reverse", (other, child), {child: fewer, other: turned}


def _reachable(parents: list[frozenset[int]]) -> np.ndarray:
    """``[i, j]``: whether j is i or below it."""
    n = len(parents)
    below = np.eye(n, dtype=bool)
    for child in range(n):
        for parent in parents[child]:
            below[parent, child] = True
    for k in range(n):  # Warshall's closure, one outer product per variable
        below |= np.outer(below[:, k], below[k])
    return below


def _refuse_impossible(parents: list[frozenset[int]], rules: Constraints) -> None:
    from margin.graphical.graphs import is_acyclic

    for child, above in enumerate(parents):
        if not rules.allows(child, above):
            raise ValueError(f"Constraints: the required parents {sorted(above)} of column {child} are not allowed.")
    if not is_acyclic(_graph(parents)):
        raise ValueError("Constraints: the required edges form a cycle.")


def _graph(parents: list[frozenset[int]]) -> Graph:
    return {i: tuple(sorted(above)) for i, above in enumerate(parents)}
