"""Exact inference against enumeration, sampling against exact inference."""

import numpy as np
import pytest

from margin.compiled.graphical import gibbs_sweeps
from margin.graphical.elimination import elimination_order, interaction_graph, log_partition, most_probable, treewidth
from margin.graphical.factors import Factor, product
from margin.graphical.graphs import random_graph
from margin.graphical.junction_tree import calibrate
from margin.graphical.network import DiscreteNetwork, random_network
from margin.graphical.sampling import flat_factors, gibbs_samples, likelihood_weighting

WET = {"rain": [], "sprinkler": ["rain"], "wet": ["rain", "sprinkler"]}


def network(seed, n=6, sizes=(2, 3, 2, 3, 2, 2)):
    rng = np.random.default_rng(seed)
    graph = random_graph(n, rng)
    return random_network(graph, dict(enumerate(sizes)), rng)


def enumerated(net, query, evidence):
    joint = net.joint()[tuple(evidence.get(v, slice(None)) for v in net.variables)]
    left = [v for v in net.variables if v not in evidence]
    table = joint.sum(axis=tuple(i for i, v in enumerate(left) if v not in query))
    kept = [v for v in left if v in query]
    return table.transpose([kept.index(v) for v in query]) / joint.sum(), joint.sum()


@pytest.mark.parametrize("seed", range(5))
def test_queries_equal_enumeration(seed):
    net = network(seed)
    for query, evidence in [([3, 0], {}), ([2], {1: 2}), ([5, 1], {0: 1, 4: 0}), ([4], {5: 1, 3: 2, 2: 0})]:
        expected, total = enumerated(net, query, evidence)
        np.testing.assert_allclose(net.query(query, evidence).values, expected, atol=1e-12)
        np.testing.assert_allclose(net.log_evidence(evidence), np.log(total), atol=1e-12)
        tree = calibrate(net.factors(), evidence)
        np.testing.assert_allclose(tree.log_partition, np.log(total), atol=1e-12)
        for v in (v for v in net.variables if v not in evidence):
            np.testing.assert_allclose(tree.marginal([v]).values, enumerated(net, [v], evidence)[0], atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_most_probable_states_and_log_probabilities(seed):
    net = network(seed)
    joint = net.joint()
    best = np.unravel_index(joint.argmax(), joint.shape)
    assert net.most_probable() == dict(enumerate(map(int, best)))
    given = joint[:, 1]
    best = np.unravel_index(given.argmax(), given.shape)
    assert {k: v for k, v in net.most_probable({1: 1}).items() if k != 1} == dict(zip([0, 2, 3, 4, 5], map(int, best)))
    every = np.argwhere(np.ones(joint.shape))
    np.testing.assert_allclose(np.exp(net.log_prob(every)), joint.ravel(), atol=1e-14)


def test_long_chains_do_not_underflow_and_have_width_one():
    rng = np.random.default_rng(0)
    chain = random_network({i: [i - 1] if i else [] for i in range(2000)}, 2, rng)
    factors = chain.factors()
    assert treewidth(interaction_graph(factors)) == 1
    assert abs(log_partition(factors)) < 1e-9
    states = chain.sample(1, 0)[0]
    evidence = {i: int(s) for i, s in enumerate(states) if i != 1000}
    assert np.isfinite(chain.log_evidence(evidence))
    assert chain.log_evidence(evidence) < -745  # where the probability itself would be zero in floating point


def test_the_width_of_grids_and_refusal():
    def grid(k):
        pairs = [((i, j), (i + di, j + dj)) for i in range(k) for j in range(k) for di, dj in ((0, 1), (1, 0))]
        return [Factor(p, np.ones((2, 2))) for p in pairs if max(*p[1]) < k]

    widths = [treewidth(interaction_graph(grid(k))) for k in (2, 3, 4, 5)]
    assert widths == [2, 3, 4, 5]
    with pytest.raises(ValueError, match=r"a table of .* entries is needed"):
        log_partition(grid(27))
    plan = elimination_order(interaction_graph(grid(3)))
    assert plan.cost(dict.fromkeys(plan.order, 2)) >= 2**4


@pytest.mark.parametrize("seed", range(3))
def test_samplers_agree_with_exact_marginals(seed):
    net = network(seed)
    evidence = {1: 1, 5: 0}
    weighted = likelihood_weighting(net, evidence, 40_000, seed)
    names, rows = gibbs_samples(net.factors(), 20_000, seed, evidence=evidence)
    for v in (0, 2, 3, 4):
        exact = net.query([v], evidence).values
        np.testing.assert_allclose(weighted.marginal(v, len(exact)), exact, atol=0.03)
        np.testing.assert_allclose(
            np.bincount(rows[:, names.index(v)], minlength=len(exact)) / 20_000, exact, atol=0.04
        )
    np.testing.assert_allclose(weighted.weights.mean(), np.exp(net.log_evidence(evidence)), rtol=0.1)
    assert 1 < weighted.effective_size <= 40_000


def test_ancestral_samples_follow_the_joint_table():
    net = network(1)
    rows = net.sample(60_000, 3)
    counts = np.zeros(net.joint().shape)
    np.add.at(counts, tuple(rows.T), 1)
    expected = net.joint() * 60_000
    assert ((counts - expected) ** 2 / expected).sum() < counts.size + 5 * np.sqrt(2 * counts.size)


def test_the_kernel_equals_plain_numpy():
    net = network(2)
    flat = flat_factors(net.factors(), net.variables)
    uniforms = np.random.default_rng(0).random((50, 6))
    states = [np.zeros(6, dtype=np.int64) for _ in range(2)]
    kept = np.empty((50, 6), dtype=np.int64)
    gibbs_sweeps(states[0], np.array(list(net.sizes.values())), *flat, uniforms, np.empty(3), kept, 1)
    joint = net.joint()
    for sweep in range(50):
        for i in range(6):
            conditional = joint[tuple(slice(None) if k == i else states[1][k] for k in range(6))]
            states[1][i] = np.searchsorted(np.cumsum(conditional / conditional.sum()), uniforms[sweep, i], "right")
        assert kept[sweep].tolist() == states[1].tolist()


def test_evidence_that_cannot_be():
    net = DiscreteNetwork({"a": [], "b": ["a"]}, {"a": [1.0, 0.0], "b": [[1.0, 0.0], [0.0, 1.0]]})
    with pytest.raises(ValueError, match="probability 0"):
        net.query(["a"], {"b": 1})
    with pytest.raises(ValueError, match="probability 0"):
        calibrate(net.factors(), {"b": 1})
    with pytest.raises(ValueError, match="probability 0"):
        most_probable(net.factors(), {"b": 1})
    assert net.log_evidence({"b": 1}) == -np.inf
    with pytest.raises(ValueError, match="there is no variable 'z'"):
        net.query(["a"], {"z": 0})
    with pytest.raises(ValueError, match="integer from 0 to 1; got 2"):
        net.query(["a"], {"b": 2})
    with pytest.raises(ValueError, match="is part of the evidence"):
        net.query(["b"], {"b": 0})


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"rain": [0.5, 0.5]}, "one entry for every variable"),
        ({"rain": [0.5, 0.6], "sprinkler": np.full((2, 2), 0.5), "wet": np.full((2, 2, 2), 0.5)}, "sum to 1"),
        ({"rain": [0.5, 0.5], "sprinkler": np.full((3, 2), 0.5), "wet": np.full((2, 2, 2), 0.5)}, "must have shape"),
    ],
)
def test_tables_that_do_not_fit(tables, sentence):
    with pytest.raises(ValueError, match=sentence):
        DiscreteNetwork(WET, tables)


def test_factors_refuse_what_is_no_table():
    with pytest.raises(ValueError, match="one axis for each"):
        Factor(["a", "a"], np.ones((2, 2)))
    with pytest.raises(ValueError, match="finite and non-negative"):
        Factor(["a"], [-1.0, 2.0])
    with pytest.raises(ValueError, match="2 states in one factor and 3"):
        log_partition([Factor(["a"], np.ones(2)), Factor(["a"], np.ones(3))])
    assert product([]).values == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_posteriors_of_all_variables_equal_single_queries(seed):
    net = network(seed)
    for evidence in ({}, {1: 2}, {0: 1, 4: 0}):
        found = net.posteriors(evidence)
        assert found.keys() == set(net.variables) - set(evidence)
        for variable, values in found.items():
            np.testing.assert_allclose(values, enumerated(net, [variable], evidence)[0], atol=1e-12)
