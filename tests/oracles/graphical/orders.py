"""Orders of elimination, greedy search and circuits, against all orders, all moves and all states."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
from scipy.special import logsumexp
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near, within
from margin.graphical import SumProductNetwork
from margin.graphical.circuits import LEAF, PRODUCT, SUM, Circuit, learned_circuit
from margin.graphical.elimination import elimination_order, marginal, treewidth
from margin.graphical.factors import Factor
from margin.graphical.structure import greedy_search

PATH = "margin.graphical"


def _width(edges: set[tuple[int, int]], order: tuple[int, ...]) -> int:
    """The most neighbors of a vertex when it goes; those it leaves behind are joined."""
    graph = {v: {a + b - v for a, b in edges if v in (a, b)} for v in order}
    width = 0
    for v in order:
        near_it = graph.pop(v)
        width = max(width, len(near_it))
        for u in near_it:
            graph[u] = (graph[u] | near_it) - {u, v}
    return width


@oracle(*(f"{PATH}.elimination.{name}" for name in ("treewidth", "elimination_order", "marginal")))
def eliminations_in_all_orders(seed: int) -> Verdict:
    """Six vertices of unequal degree; the greedy width is that of its order and near the best of all 720 orders."""
    rng = np.random.default_rng(seed)
    edges = {(0, 1), (0, 2), (1, 2), (1, 3), (3, 4), (2, 5), (4, 5), (0, 4)}
    neighbors = {v: {a + b - v for a, b in edges if v in (a, b)} for v in range(6)}
    sizes = (2, 3, 2, 2, 3, 2)
    factors = [Factor(pair, rng.uniform(0.2, 2.0, size=[sizes[v] for v in pair])) for pair in sorted(edges)]
    whole = np.ones(sizes)
    for state in product(*map(range, sizes)):
        for (a, b), factor in zip(sorted(edges), factors):
            whole[state] *= factor.values[state[a], state[b]]
    seen = whole[:, :, :, 1].sum(axis=(1, 3))  # x3 = 1, over x1 and x4: left are x0, x2, x5
    table = seen.sum(axis=1).T  # x5 before x0
    found = elimination_order(neighbors)
    best = min(_width(edges, order) for order in permutations(range(6)))
    kept = elimination_order(neighbors, keep=[2, 5])
    return every(
        width=equal(treewidth(neighbors), _width(edges, found.order)),
        near_the_best=within(treewidth(neighbors), best, best),
        kept=equal(sorted(kept.order), [0, 1, 3, 4]),
        marginal=near(marginal(factors, [5, 0], {3: 1}).values, table / table.sum(), tolerance=1e-12),
    )


@oracle(f"{PATH}.structure.greedy_search")
def no_move_improves_what_was_found(seed: int) -> Verdict:
    """Scores of all families are drawn, fewer parents being liked; every single change of the graph is then tried."""
    rng = np.random.default_rng(seed)
    families = {
        (v, frozenset(u for u, used in zip(range(4), chosen) if used)): rng.normal() - 0.4 * sum(chosen)
        for v in range(4)
        for chosen in product((0, 1), repeat=4)
        if not chosen[v]
    }
    found = greedy_search(4, lambda v, parents: families[v, parents])
    begun, score = {v: set(parents) for v, parents in found.items()}, lambda g: _total(families, g)
    better = [other for other in _changed(begun) if _is_acyclic(other) and score(other) > score(begun) + 1e-9]
    empty = score({v: set() for v in range(4)})
    return every(
        acyclic=equal(_is_acyclic(begun), True),
        nothing_better=equal(better, []),
        not_below_the_start=within(score(begun), empty, np.inf),
    )


def _total(families: dict[tuple[int, frozenset[int]], float], graph: dict[int, set[int]]) -> float:
    return sum(families[v, frozenset(parents)] for v, parents in graph.items())


def _changed(graph: dict[int, set[int]]) -> list[dict[int, set[int]]]:
    """All graphs with one edge more, less or turned round."""
    out = []
    for u, v in permutations(graph, 2):
        other = {k: set(parents) for k, parents in graph.items()}
        if u in graph[v]:
            other[v].discard(u)
            out.append({k: set(parents) for k, parents in other.items()})
            other[u].add(v)
        else:
            other[v].add(u)
        out.append(other)
    return out


def _is_acyclic(graph: dict[int, set[int]]) -> bool:
    left = {v: set(parents) for v, parents in graph.items()}
    while left:
        roots = [v for v, parents in left.items() if not parents & left.keys()]
        if not roots:
            return False
        for v in roots:
            del left[v]
    return True


@oracle(f"{PATH}.circuits.Circuit.log_prob", f"{PATH}.circuits.learned_circuit", f"{PATH}.SumProductNetwork")
def circuits_state_by_state(seed: int) -> Verdict:
    """A mixture of two products with unequal weights, written out; a learned circuit sums to 1 over all states."""
    rng = np.random.default_rng(seed)
    weights, tables = np.array([0.3, 0.7]), [[rng.dirichlet(np.ones(k)) for k in (2, 3)] for _ in range(2)]
    circuit = Circuit()
    products = []
    for pair in tables:
        leaves = [circuit.add(LEAF, v, [], np.log(table)) for v, table in enumerate(pair)]
        products.append(circuit.add(PRODUCT, -1, leaves, np.empty(0)))
    circuit.add(SUM, -1, products, np.log(weights))
    states = np.array(list(product(range(2), range(3))))
    masses = [sum(w * a[i] * b[j] for w, (a, b) in zip(weights, tables)) for i, j in states]
    second = [sum(w * b[j] for w, (_, b) in zip(weights, tables)) for j in range(3)]
    hidden = np.column_stack([np.full(3, -1), np.arange(3)])
    rows = np.column_stack([a := rng.integers(0, 3, 200), (a + (rng.random(200) < 0.2)) % 3, rng.integers(0, 2, 200)])
    grown = learned_circuit(rows, [3, 3, 2], np.random.default_rng(seed))
    every_state = np.array(list(product(range(3), range(3), range(2))))
    model = SumProductNetwork(random_state=seed).fit(rows)
    counted = [np.mean(np.all(rows == state, axis=1)) for state in every_state]
    return every(
        joint=near(np.exp(circuit.log_prob(states)), masses, tolerance=1e-12),
        marginal=near(np.exp(circuit.log_prob(hidden)), second, tolerance=1e-12),
        sums_to_one=near(logsumexp(grown.log_prob(every_state)), 0.0, tolerance=1e-10),
        model_sums_to_one=near(logsumexp(model.score_samples(every_state)), 0.0, tolerance=1e-10),
        near_the_counts=near(np.exp(grown.log_prob(every_state)), counted, tolerance=0.06),
    )
