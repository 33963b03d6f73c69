r"""Junction tree: every marginal of a product of factors from two passes of messages.

The cliques of an elimination order are joined by a maximum spanning tree of the sizes of their intersections, which
has the running intersection property. After messages to the root and back, the belief of every clique is its marginal,

.. math:: \beta_C(x_C) \propto \phi_C(x_C) \prod_{D \sim C} m_{D \to C}(x_{C \cap D}).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from margin.graphical.elimination import elimination_order, interaction_graph, refuse_large
from margin.graphical.factors import Factor, cardinalities, product, restrict
from margin.graphical.graphs import Name

__all__ = ["JunctionTree", "calibrate", "clique_tree"]


@dataclass(frozen=True)
class JunctionTree:
    """Cliques with their normalized beliefs, the edges of the tree, and the logarithm of the partition function."""

    beliefs: tuple[Factor, ...]
    edges: tuple[tuple[int, int], ...]
    log_partition: float

    @cached_property
    def _by_size(self) -> list[Factor]:
        return sorted(self.beliefs, key=lambda belief: belief.values.size)

    def marginal(self, query: Sequence[Name]) -> Factor:
        """The table of variables that share a clique."""
        wanted = set(query)
        smallest = next((b for b in self._by_size if wanted.issubset(b.variables)), None)
        if smallest is None:
            raise ValueError(f"JunctionTree.marginal: no clique holds all of {list(query)}; ask `marginal` for them.")
        return smallest.sum_out(set(smallest.variables) - wanted).reorder(tuple(query))


def clique_tree(cliques: Sequence[frozenset[Name]]) -> tuple[list[frozenset[Name]], list[tuple[int, int]]]:
    """The maximal cliques and the edges of a maximum spanning forest of their intersections (Kruskal's)."""
    maximal: list[frozenset[Name]] = []
    for clique in sorted(cliques, key=len, reverse=True):  # a clique can only be part of one that is no smaller
        if not any(clique <= larger for larger in maximal):
            maximal.append(clique)
    pairs = [(len(maximal[i] & maximal[j]), i, j) for i in range(len(maximal)) for j in range(i)]
    home = list(range(len(maximal)))

    def root(i: int) -> int:
        while home[i] != i:
            i = home[i]
        return i

    joined = []
    for shared, i, j in sorted(pairs, key=lambda pair: -pair[0]):
        if shared and root(i) != root(j):
            home[root(i)] = root(j)
            joined.append((i, j))
    return maximal, joined


def calibrate(factors: Sequence[Factor], evidence: Mapping[Name, int] | None = None) -> JunctionTree:
    """The tree of the factors given ``evidence``, with messages passed both ways.

    >>> tree = calibrate([Factor(["a"], [0.5, 0.5]), Factor(["a", "b"], [[0.9, 0.1], [0.4, 0.6]])])
    >>> tree.marginal(["b"]).values.round(2)
    array([0.65, 0.35])
    """
    left = restrict(factors, evidence or {}, "calibrate")
    sizes = cardinalities(left)
    plan = elimination_order(interaction_graph(left))
    refuse_large(plan, sizes)
    cliques, joined = clique_tree(plan.cliques)
    names = [tuple(sorted(clique, key=str)) for clique in cliques]
    tables = [np.ones([sizes[v] for v in clique]) for clique in names]
    log_scale = 0.0
    for factor in left:
        if not factor.variables:
            with np.errstate(divide="ignore"):
                log_scale += float(np.log(factor.values))
            continue
        home = next(i for i, clique in enumerate(cliques) if clique.issuperset(factor.variables))
        tables[home] *= factor.over(names[home])
    potentials = [Factor.of_checked(clique, table) for clique, table in zip(names, tables)]
    return _pass_messages(potentials, joined, log_scale)


def _pass_messages(potentials: list[Factor], joined: list[tuple[int, int]], log_scale: float) -> JunctionTree:
    neighbors: list[list[int]] = [[] for _ in potentials]
    for i, j in joined:
        neighbors[i].append(j)
        neighbors[j].append(i)
    messages: dict[tuple[int, int], Factor] = {}
    beliefs: list[Factor] = list(potentials)

    def gather(node: int, without: int) -> Factor:
        """The clique and all messages to it but one."""
        return product([potentials[node], *(messages[k, node] for k in neighbors[node] if k != without)])

    def send(together: Factor, source: int, target: int) -> float:
        """From source to target; the logarithm of what was divided out."""
        shared = potentials[target].variables
        sent = together.sum_out(v for v in together.variables if v not in shared)
        peak = float(sent.values.max())
        if peak <= 0:
            raise ValueError("calibrate: the evidence has probability 0.")
        messages[source, target] = Factor.of_checked(sent.variables, sent.values / peak)
        return float(np.log(peak))

    visited: set[int] = set()
    for root in range(len(potentials)):
        if root in visited:
            continue
        order = _depth_first(root, neighbors)
        visited |= {node for node, _ in order}
        for node, parent in reversed(order):  # the root, without a parent, comes last
            beliefs[node] = gather(node, parent)
            if parent >= 0:
                log_scale += send(beliefs[node], node, parent)
        with np.errstate(divide="ignore"):
            log_scale += float(np.log(beliefs[root].values.sum()))
        for node, parent in order[1:]:
            send(gather(parent, node), parent, node)
            beliefs[node] = beliefs[node] * messages[parent, node]
    return JunctionTree(tuple(belief.normalize() for belief in beliefs), tuple(joined), log_scale)


def _depth_first(root: int, neighbors: list[list[int]]) -> list[tuple[int, int]]:
    order, stack = [], [(root, -1)]
    while stack:
        node, parent = stack.pop()
        order.append((node, parent))
        stack += [(k, node) for k in neighbors[node] if k != parent]
    return order
