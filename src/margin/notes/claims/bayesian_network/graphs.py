"""What a graph says, and what it costs to ask."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises
from margin.graphical import BayesianNetwork
from margin.graphical.elimination import elimination_order, interaction_graph, treewidth
from margin.graphical.fields import ising_grid
from margin.graphical.graphs import d_separated, is_acyclic, markov_equivalent, moral_graph, random_graph
from margin.graphical.independence import ci_test
from margin.graphical.junction_tree import calibrate
from margin.graphical.network import DiscreteNetwork, random_network
from margin.notes.claims import claim


def dependence(joint: np.ndarray, a: int, b: int, given: tuple[int, ...]) -> float:
    """Largest |p(a, b | c) - p(a | c) p(b | c)| over all states, from the table of all variables."""
    axes = [a, b, *given]
    table = joint.sum(axis=tuple(i for i in range(joint.ndim) if i not in axes))
    kept = sorted(axes)
    table = table.transpose([kept.index(x) for x in axes]).reshape(joint.shape[a], joint.shape[b], -1)
    table = table / table.sum(axis=(0, 1))
    return float(np.abs(table - table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)).max())


def statements(n: int) -> list[tuple[int, int, tuple[int, ...]]]:
    return [
        (a, b, given)
        for a, b in combinations(range(n), 2)
        for size in range(n - 1)
        for given in combinations([i for i in range(n) if i not in (a, b)], size)
    ]


@claim("conditional-independence")
def graphs_say_what_is_independent(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    graph = random_graph(5, rng)
    joint = random_network(graph, 2, rng).joint()
    read = [d_separated(graph, [a], [b], given) for a, b, given in statements(5)]
    numeric = [dependence(joint, a, b, given) < 1e-10 for a, b, given in statements(5)]
    chain = DiscreteNetwork(
        {0: [], 1: [0], 2: [1]}, {0: [0.5, 0.5], 1: [[0.8, 0.2], [0.3, 0.7]], 2: [[0.9, 0.1], [0.2, 0.8]]}
    )
    rows = chain.sample(4000, seed)
    return every(
        read_from_the_graph=equal(read, numeric),
        ends_of_a_chain_depend=below(ci_test(rows, 0, 2).p_value, 1e-6),
        not_given_the_middle=above(ci_test(rows, 0, 2, [1]).p_value, 1e-3),
    )


@claim("bayesian-network")
def queries_equal_enumeration(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    net = random_network(random_graph(5, rng), 2, rng)
    joint = net.joint()
    every_row = np.array(list(product(range(2), repeat=5)))
    given = joint[:, :, 1]
    tree = calibrate(net.factors(), {2: 1})
    model = BayesianNetwork("given", required_edges=[[0, 1]], alpha=0.0).fit([[0, 0], [0, 1], [1, 1], [1, 1]])
    # A cycle of four without direction: no orientation of its edges says the same.
    cycle = [(0, 1), (1, 2), (2, 3), (0, 3)]
    field = ising_grid(2, 2, 0.7).marginal([(0, 0), (0, 1), (1, 1), (1, 0)]).values
    expected = [dependence(field, *s) < 1e-10 for s in statements(4)]
    separations = [[d_separated(g, [a], [b], c) for a, b, c in statements(4)] for g in _orientations(cycle, 4)]
    return corrected(
        every(
            log_prob=near(net.log_prob(every_row), np.log(joint.ravel()), tolerance=1e-12),
            conditional=near(net.query([4], {2: 1}).values, given.sum(axis=(0, 1, 2)) / given.sum(), tolerance=1e-12),
            junction_tree=near(tree.marginal([0]).values, given.sum(axis=(1, 2, 3)) / given.sum(), tolerance=1e-12),
            cycle=raises(ValueError, lambda: DiscreteNetwork({0: [1], 1: [0]}, {}), match="cycle"),
            fitted=near(model.query([1], {0: 0.0}).values, [0.5, 0.5], tolerance=1e-12),
            sampled=equal(model.sample(9, random_state=seed).shape, (9, 2)),
        ),
        every_graphical_model_is_directed=equal(any(s == expected for s in separations), True),
    )


def _orientations(pairs: list[tuple[int, int]], n: int) -> list[dict[int, tuple[int, ...]]]:
    graphs = []
    for turned in product([False, True], repeat=len(pairs)):
        edges = [(b, a) if t else (a, b) for (a, b), t in zip(pairs, turned)]
        graph = {i: tuple(a for a, b in edges if b == i) for i in range(n)}
        if is_acyclic(graph):
            graphs.append(graph)
    return graphs


@claim("example-bn-three-variables")
def any_root_but_no_collider(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    fork = random_network({1: [], 2: [1], 3: [1]}, 2, rng)
    joint = fork.joint()  # axes: x1, x2, x3
    p_12, p_13, p_1 = joint.sum(axis=2), joint.sum(axis=1), joint.sum(axis=(1, 2))
    p_2, p_3 = p_12.sum(axis=0), p_13.sum(axis=0)
    given_1 = p_13 / p_1[:, None]
    by_2 = DiscreteNetwork({1: [2], 2: [], 3: [1]}, {2: p_2, 1: (p_12 / p_2).T, 3: given_1})
    by_3 = DiscreteNetwork({1: [3], 2: [1], 3: []}, {3: p_3, 1: (p_13 / p_3).T, 2: p_12 / p_1[:, None]})
    collider = {1: [2, 3], 2: [], 3: []}
    return corrected(
        every(
            root_2=near(by_2.joint(), joint, tolerance=1e-12),
            root_3=near(by_3.joint(), joint, tolerance=1e-12),
            equivalent=equal([markov_equivalent(fork.parents, g.parents) for g in (by_2, by_3)], [True, True]),
            independent_given_the_first=equal(d_separated(fork.parents, [2], [3], [1]), True),
            dependent_without=equal(d_separated(fork.parents, [2], [3]), False),
        ),
        the_collider_too=equal(markov_equivalent(fork.parents, collider), True),
    )


@claim("ancestral-sampling")
def samples_follow_the_joint_table(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    net = random_network({0: [2], 1: [0, 2], 2: []}, {0: 2, 1: 3, 2: 2}, rng)
    rows = net.sample(40_000, seed)
    counts = np.zeros((2, 3, 2))
    np.add.at(counts, tuple(rows.T), 1)
    expected = net.joint() * len(rows)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return every(
        chi_squared=below(statistic, 11 + 5 * np.sqrt(22)),
        frequencies=near(counts / len(rows), net.joint(), tolerance=0.015),
    )


@claim("claim-bn-inference-treewidth")
def the_width_decides_and_not_the_edges(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    chain = random_network({i: [i - 1] if i else [] for i in range(100)}, 2, rng)
    n_edges = sum(len(above) for above in chain.parents.values())
    plan = elimination_order(moral_graph(chain.parents))
    last = chain.query([99], {0: 1}).values
    by_products = np.eye(2)[1]
    for i in range(1, 100):
        by_products = by_products @ chain.tables[i]
    grids = [elimination_order(interaction_graph(ising_grid(k, k, 0.1).potentials)) for k in (2, 4, 6, 8)]
    largest = [2 ** (g.width + 1) for g in grids]
    return corrected(
        every(
            width_of_a_chain=equal(treewidth(moral_graph(chain.parents)), 1),
            cost_of_a_chain=below(plan.cost(chain.sizes), 401),
            answer=near(last, by_products, tolerance=1e-12),
            widths_of_grids_grow=above(min(np.diff([g.width for g in grids])), 0.5),
            cost_of_grids_grows_exponentially=above(largest[-1] / largest[0], 60.0),
        ),
        width_is_the_number_of_dependencies=equal(treewidth(moral_graph(chain.parents)), n_edges),
    )
