r"""Search for the graph with the best score: greedily, or exactly for few variables.

Greedy search starts from the empty graph, tries all additions, removals and reversals of one edge, takes the best and
stops when nothing improves. Exact search is dynamic programming over subsets (Silander and Myllymaki, 2006),

.. math:: S(V) = \max_{i \in V}\; S(V \setminus \{i\}) + \max_{pa \subseteq V \setminus \{i\}} \mathrm{score}(i, pa),

whose time and memory double with every variable.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

__all__ = ["Constraints", "Move", "exact_search", "greedy_search", "greedy_steps"]

LocalScore = Callable[[int, frozenset[int]], float]


@runtime_checkable
class GrowingScore(Protocol):
    """A local score that knows many families of one child at once."""

    def __call__(self, child: int, parents: frozenset[int]) -> float: ...
    def with_one_more(self, child: int, parents: frozenset[int], others: Sequence[int]) -> np.ndarray: ...


Graph = dict[int, tuple[int, ...]]

MOST_EXACT = 16  # variables: 2^16 subsets of each, a few seconds
IMPROVEMENT = 1e-9  # relative: smaller gains and differences of gains are rounding; following them could go in circles


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
    return deque(greedy_steps(n_variables, score, constraints), maxlen=1)[0].parents


def greedy_steps(n_variables: int, score: LocalScore, constraints: Constraints | None = None) -> Iterator[Move]:
    """Greedy search, move by move; it begins with the required edges."""
    search = _begin_climb(n_variables, score, constraints)
    yield Move("start", None, sum(search.local), _graph(search.parents))
    while (move := search.best()) is not None:
        search.take(*move)
        action, *edge = move
        yield Move(action, (edge[0], edge[1]), sum(search.local), _graph(search.parents))


def _begin_climb(n_variables: int, score: LocalScore, constraints: Constraints | None) -> _Climb:
    rules = constraints or Constraints()
    parents = [frozenset(p for p, child in rules.required if child == i) for i in range(n_variables)]
    _refuse_impossible(parents, rules)
    return _Climb(parents, score, rules)


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


class _Climb:
    """What greedy search knows: for every pair (child, other) the gain of the edge other -> child, once it was asked.

    A move changes the families of one or two variables, so all other gains stay what they were.
    """

    def __init__(self, parents: list[frozenset[int]], score: LocalScore, rules: Constraints):
        n = len(parents)
        self.parents, self.score, self.rules = parents, score, rules
        self.grown = score.with_one_more if isinstance(score, GrowingScore) else self._one_by_one
        self.local = [score(i, parents[i]) for i in range(n)]
        self.allowed = np.array([[i != j and (j, i) not in rules.forbidden for j in range(n)] for i in range(n)])
        self.removable = np.array([[(j, i) not in rules.required for j in range(n)] for i in range(n)])
        self.toggled = np.full((n, n), np.nan)  # gain of adding the edge, or of removing it where there is one
        self.edges = np.array([[j in above for j in range(n)] for above in parents])  # of (child, parent)
        self.below = _reachable(parents)

    def best(self) -> tuple[str, int, int] | None:
        """Action and edge of the first move of the largest gain; None if no move gains anything."""
        edges = self.edges
        widths = edges.sum(axis=1)
        most = self.rules.max_parents
        may_grow = self.allowed & (True if most is None else (widths < most)[:, None])
        add = may_grow & ~edges & ~self.below
        remove = edges & self.removable
        turn = remove & may_grow.T & ~self._detours(edges)
        self._score(add | turn.T, remove)
        toggle = np.where(add | remove, self.toggled, -np.inf)
        reverse = np.where(turn, self.toggled + self.toggled.T, -np.inf)
        gains = np.stack([toggle, reverse], axis=2)  # in the order in which ties are broken: child, other, action
        least = IMPROVEMENT * (1.0 + abs(sum(self.local)))
        if gains.max() <= least:
            return None
        # Both directions of a first edge have the same score: rounding must not decide between them.
        child, other, kind = np.unravel_index(np.argmax(gains >= gains.max() - least), gains.shape)
        action = "reverse" if kind else "remove" if edges[child, other] else "add"
        return action, int(other), int(child)

    def take(self, action: str, parent: int, child: int) -> None:
        """Make a move."""
        changed = {child: self.parents[child] ^ {parent}}
        if action == "reverse":
            changed[parent] = self.parents[parent] | {child}
        for i, above in changed.items():
            self.parents[i], self.local[i] = above, self.score(i, above)
            self.toggled[i], self.edges[i] = np.nan, False
            self.edges[i, list(above)] = True
        if action == "add":  # whatever is above the parent is now above the child too
            self.below |= np.outer(self.below[:, parent], self.below[child])
        else:
            self.below = _reachable(self.parents)

    def _one_by_one(self, child: int, parents: frozenset[int], others: Sequence[int]) -> np.ndarray:
        return np.array([self.score(child, parents | {other}) for other in others])

    def _detours(self, edges: np.ndarray) -> np.ndarray:
        """``[child, other]``: whether a path leads from other to child through another parent of child."""
        through = edges.astype(np.int64) @ self.below.T.astype(np.int64)  # parents p of child with p below other
        return through > edges  # the edge itself is such a path

    def _score(self, grown: np.ndarray, shrunk: np.ndarray) -> None:
        unknown = np.isnan(self.toggled)
        for child in np.flatnonzero((unknown & (grown | shrunk)).any(axis=1)).tolist():
            others = np.flatnonzero(unknown[child] & grown[child]).tolist()
            self.toggled[child, others] = self.grown(child, self.parents[child], others) - self.local[child]
            for other in np.flatnonzero(unknown[child] & shrunk[child]).tolist():
                self.toggled[child, other] = self.score(child, self.parents[child] - {other}) - self.local[child]


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
