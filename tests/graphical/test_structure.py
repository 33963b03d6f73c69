"""Structure learning: decomposition, recovery, and the exact optimum by enumeration of all graphs."""

from itertools import product as cartesian
from math import lgamma, log

import numpy as np
import pytest

from margin.foundations.statistics import bic
from margin.graphical.graphs import is_acyclic, markov_equivalent, skeleton
from margin.graphical.network import DiscreteNetwork, random_network
from margin.graphical.scores import FamilyScores, bdeu_score, family_counts, structure_score
from margin.graphical.structure import Constraints, exact_search, greedy_search, greedy_steps


def all_graphs(n):
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    for chosen in cartesian([0, 1], repeat=len(pairs)):
        graph = {i: tuple(a for (a, b), c in zip(pairs, chosen) if c and b == i) for i in range(n)}
        if is_acyclic(graph):
            yield graph


def three_variables(n=5000, seed=0):
    net = DiscreteNetwork(
        {0: [], 1: [0], 2: [0]}, {0: [0.4, 0.6], 1: [[0.8, 0.2], [0.3, 0.7]], 2: [[0.1, 0.9], [0.6, 0.4]]}
    )
    return net, net.sample(n, seed)


def test_counts_and_scores_by_hand():
    rows = np.array([[0, 0], [0, 1], [1, 1], [1, 1], [1, -1]])
    counts = family_counts(rows, (2, 2), 1, [0])
    assert counts.tolist() == [[1, 1], [0, 2]]
    a = 10 / 4
    expected = sum(lgamma(a + n) - lgamma(a) for n in (1, 1, 0, 2)) - 2 * (lgamma(2 * a + 2) - lgamma(2 * a))
    np.testing.assert_allclose(bdeu_score(counts), expected)
    local = FamilyScores(rows[:4], (2, 2), "bic")
    np.testing.assert_allclose(local(1, frozenset({0})), 2 * log(0.5) - 2 * log(4) / 2)
    assert bic(-3.0, 2, 10) == pytest.approx(2 * log(10) + 6)


@pytest.mark.parametrize("seed", range(3))
def test_a_score_is_a_sum_and_the_likelihood_only_grows(seed):
    net, rows = three_variables(400, seed)
    from_tables = DiscreteNetwork(
        net.parents,
        {
            c: (lambda t: t / t.sum(axis=-1, keepdims=True))(
                family_counts(rows, (2, 2, 2), c, net.parents[c]).reshape(net.tables[c].shape)
            )
            for c in range(3)
        },
    )
    loglik = structure_score(net.parents, rows, (2, 2, 2), "loglik")
    np.testing.assert_allclose(loglik, from_tables.log_prob(rows).sum())
    np.testing.assert_allclose(
        structure_score(net.parents, rows, (2, 2, 2), "bic"), -bic(loglik, from_tables.n_parameters, 400) / 2
    )
    local = FamilyScores(rows, (2, 2, 2), "loglik")
    for child in range(3):
        others = [i for i in range(3) if i != child]
        assert local(child, frozenset(others)) >= local(child, frozenset(others[:1])) >= local(child, frozenset())


@pytest.mark.parametrize("seed", range(3))
def test_equivalent_graphs_have_equal_scores(seed):
    _, rows = three_variables(500, seed)
    graphs = list(all_graphs(3))
    assert len(graphs) == 25
    for kind in ("bic", "bdeu", "loglik"):
        values = [structure_score(g, rows, (2, 2, 2), kind) for g in graphs]
        for g, a in zip(graphs, values):
            for h, b in zip(graphs, values):
                if markov_equivalent(g, h):
                    assert a == pytest.approx(b, abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["bic", "bdeu"])
def test_exact_search_finds_the_best_of_all_graphs(seed, kind):
    rng = np.random.default_rng(seed)
    rows = random_network({0: [], 1: [0], 2: [0, 1], 3: [2]}, 2, rng, 0.5).sample(200, seed)
    local = FamilyScores(rows, (2,) * 4, kind)

    def total(graph):
        return sum(local(c, frozenset(p)) for c, p in graph.items())

    found = exact_search(4, local)
    assert is_acyclic(found)
    assert total(found) == pytest.approx(max(map(total, all_graphs(4))))
    assert total(greedy_search(4, local)) <= total(found) + 1e-9
    rules = Constraints(required=[(3, 0)], forbidden=[(0, 1)], max_parents=1)
    allowed = [g for g in all_graphs(4) if all(rules.allows(c, frozenset(p)) for c, p in g.items())]
    assert total(exact_search(4, local, rules)) == pytest.approx(max(map(total, allowed)))
    assert all(rules.allows(c, frozenset(p)) for c, p in greedy_search(4, local, rules).items())


@pytest.mark.parametrize("seed", range(3))
def test_greedy_search_recovers_the_skeleton_and_only_climbs(seed):
    net, rows = three_variables(5000, seed)
    moves = list(greedy_steps(3, FamilyScores(rows, (2, 2, 2), "bic")))
    assert skeleton(moves[-1].parents) == skeleton(net.parents)
    assert np.all(np.diff([move.score for move in moves]) > 0)
    assert all(is_acyclic(move.parents) for move in moves)


def test_a_first_edge_in_the_wrong_direction_is_reversed():
    gains = {(1, (0,)): 5.0, (0, (1,)): 4.0, (0, (2,)): 0.1, (0, (1, 2)): 20.0}
    moves = list(greedy_steps(3, lambda child, above: gains.get((child, tuple(sorted(above))), 0.0)))
    assert [(move.action, move.edge) for move in moves[1:]] == [("add", (0, 1)), ("add", (2, 0)), ("reverse", (0, 1))]
    assert moves[-1].parents == {0: (1, 2), 1: (), 2: ()}


def test_without_a_penalty_the_graph_is_complete():
    rows = np.random.default_rng(0).integers(2, size=(300, 4))
    graph = greedy_search(4, FamilyScores(rows, (2,) * 4, "loglik"))
    assert sum(map(len, graph.values())) == 6
    assert is_acyclic(graph)


def test_what_cannot_be_searched():
    local = FamilyScores(np.zeros((3, 2), dtype=int), (1, 1))
    with pytest.raises(ValueError, match="at most 16 variables"):
        exact_search(17, local)
    with pytest.raises(ValueError, match="form a cycle"):
        greedy_search(2, local, Constraints(required=[(0, 1), (1, 0)]))
    with pytest.raises(ValueError, match="are not allowed"):
        greedy_search(2, local, Constraints(required=[(0, 1)], forbidden=[(0, 1)]))
    with pytest.raises(ValueError, match="score must be one of"):
        FamilyScores(np.zeros((3, 2), dtype=int), (1, 1), "mdl")


@pytest.mark.parametrize("kind", ["bic", "aic", "loglik"])
def test_compiled_scores_are_those_of_the_counts(kind, monkeypatch):
    rng = np.random.default_rng(4)
    sizes = (2, 3, 4, 2, 5, 3, 2)
    rows = np.column_stack([rng.integers(size, size=301) for size in sizes])
    rows[:, 5] = (rows[:, 1] + rows[:, 2]) % 3
    plain = FamilyScores(rows, sizes, kind)
    assert plain._columns is None  # not worth compiling
    monkeypatch.setattr("margin.graphical.scores.WORTH_COMPILING", 0)
    fast = FamilyScores(rows, sizes, kind)
    for child, parents in ((0, frozenset()), (5, frozenset({2})), (3, frozenset({1, 4}))):
        others = [j for j in range(7) if j != child and j not in parents]
        found = fast.with_one_more(child, parents, others)
        np.testing.assert_allclose(found, plain.with_one_more(child, parents, others), rtol=1e-12, atol=1e-9)
        assert fast(child, parents) == pytest.approx(plain(child, parents), rel=1e-12)
    assert greedy_search(7, fast) == greedy_search(7, plain)


def test_missing_states_and_weights_are_counted_one_by_one(monkeypatch):
    monkeypatch.setattr("margin.graphical.scores.WORTH_COMPILING", 0)
    rows = np.array([[0, 0], [0, 1], [1, 1], [1, -1]])
    assert FamilyScores(rows, (2, 2))._columns is None
    assert FamilyScores(rows[:3], (2, 2), sample_weight=np.ones(3))._columns is None
    assert FamilyScores(rows[:3], (2, 2), "bdeu")._columns is None


def test_a_table_that_is_too_large_is_refused_by_both_ways(monkeypatch):
    monkeypatch.setattr("margin.graphical.scores.LARGEST_FAMILY", 10)
    rows = np.zeros((4, 2), dtype=int)
    for worth in (0, 10**9):
        monkeypatch.setattr("margin.graphical.scores.WORTH_COMPILING", worth)
        with pytest.raises(ValueError, match="column 0 with 1 parents has 16 entries"):
            FamilyScores(rows, (4, 4)).with_one_more(0, frozenset(), [1])


@pytest.mark.parametrize("noise", [-1e-11, 1e-11])
def test_rounding_does_not_choose_the_direction_of_a_first_edge(noise):
    """Both directions score the same; the first one in order is taken whatever the last digits say."""
    gains = {(1, (0,)): 5.0 + noise, (0, (1,)): 5.0}
    *_, last = greedy_steps(2, lambda child, above: gains.get((child, tuple(above)), 0.0))
    assert (last.action, last.edge) == ("add", (1, 0))
