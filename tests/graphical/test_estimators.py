"""Networks and circuits learned from tables."""

from itertools import product

import numpy as np
import pytest

from margin.graphical import BayesianNetwork, SumProductNetwork
from margin.graphical.graphs import skeleton
from margin.graphical.network import DiscreteNetwork, random_network

CHAIN = {0: [], 1: [0], 2: [1], 3: []}


FLIP = [[0.85, 0.15], [0.2, 0.8]]
TRUTH = DiscreteNetwork(CHAIN, {0: [0.5, 0.5], 1: FLIP, 2: FLIP, 3: [0.3, 0.7]})


def table(seed, n=3000):
    return TRUTH.sample(n, seed).astype(float)


@pytest.mark.parametrize("structure", ["greedy", "exact"])
def test_the_graph_is_found_and_probabilities_sum_to_one(structure):
    model = BayesianNetwork(structure).fit(table(0))
    found = {j: above.tolist() for j, above in enumerate(model.parents_)}
    assert skeleton(found) == skeleton(CHAIN)
    states = np.array(list(product([0.0, 1.0], repeat=4)))
    assert np.exp(model.score_samples(states)).sum() == pytest.approx(1.0)
    drawn = model.sample(20_000, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), np.exp(model.score_samples(states)) @ states, atol=0.02)


def test_constraints_and_given_graphs():
    model = BayesianNetwork(required_edges=[[3, 0]], forbidden_edges=[[0, 1], [1, 0]]).fit(table(0))
    edges = set(map(tuple, model.edges_.tolist()))
    assert (3, 0) in edges
    assert not {(0, 1), (1, 0)} & edges
    given = BayesianNetwork("given", required_edges=[[0, 1], [1, 2]]).fit(table(0))
    assert set(map(tuple, given.edges_.tolist())) == {(0, 1), (1, 2)}
    with pytest.raises(ValueError, match="pairs of different columns below 4"):
        BayesianNetwork(required_edges=[[0, 9]]).fit(table(0))
    with pytest.raises(ValueError, match="cycle"):
        BayesianNetwork("given", required_edges=[[0, 1], [1, 0]]).fit(table(0))
    with pytest.raises(ValueError, match="at most 16 variables"):
        BayesianNetwork("exact").fit(np.random.default_rng(0).integers(2, size=(50, 17)))


def test_missing_entries():
    rng = np.random.default_rng(0)
    whole = table(0, 1500)
    gaps = np.where(rng.random(whole.shape) < 0.2, np.nan, whole)
    model, full = BayesianNetwork().fit(gaps), BayesianNetwork().fit(whole)
    assert model.n_iter_ > 0
    assert full.n_iter_ == 0
    assert model.score(whole) > full.score(whole) - 0.02
    row = np.array([[1.0, np.nan, 0.0, 1.0]])
    both = [[1.0, v, 0.0, 1.0] for v in (0.0, 1.0)]
    assert model.score_samples(row)[0] == pytest.approx(np.logaddexp(*model.score_samples(both)))
    filled = model.impute(row)[0, 1]
    assert filled == np.argmax(model.score_samples(both))
    assert model.query([1], {0: 1.0, 2: 0.0, 3: 1.0}).values.argmax() == filled
    with pytest.raises(ValueError, match="never had the value 7"):
        model.query([1], {0: 7})


def test_numbers_are_cut_and_dependence_is_used():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2)) @ [[1.0, 0.9], [0.0, 0.45]]
    joint, alone = BayesianNetwork().fit(X[:1500]), BayesianNetwork(max_parents=0).fit(X[:1500])
    assert joint.score(X[1500:]) > alone.score(X[1500:]) + 0.3
    drawn = joint.sample(5000, random_state=0)
    assert np.corrcoef(drawn.T)[0, 1] > 0.7


@pytest.mark.parametrize("seed", range(2))
def test_circuits(seed):
    X = table(seed, 1500)
    model = SumProductNetwork(random_state=seed).fit(X)
    states = np.array(list(product([0.0, 1.0], repeat=4)))
    p = np.exp(model.score_samples(states))
    assert p.sum() == pytest.approx(1.0)
    gaps = np.full((1, 4), np.nan)
    gaps[0, 2] = 1.0
    assert np.exp(model.score_samples(gaps)[0]) == pytest.approx(p[states[:, 2] == 1].sum())
    np.testing.assert_allclose(model.sample(20_000, random_state=0).mean(axis=0), p @ states, atol=0.02)
    assert model.score(X) > BayesianNetwork(max_parents=0).fit(X).score(X) + 0.02


def test_a_family_that_no_rows_could_fill_is_refused_and_the_model_of_before_stays():
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(30, 31)).astype(float)
    model = BayesianNetwork().fit(X[:, :5])
    before = model.score_samples(X[:, :5])
    model.set_params(structure="given", required_edges=[[p, 30] for p in range(30)])
    with pytest.raises(ValueError, match=r"column 30 with 30 parents has .* entries; allow fewer parents"):
        model.fit(X)
    model.set_params(structure="greedy", required_edges=None)
    np.testing.assert_array_equal(model.score_samples(X[:, :5]), before)


def test_posteriors_of_a_wide_graph_are_refused_in_one_sentence():
    n = 8
    parents = {(i, j): [(i - 1, j)] * (i > 0) + [(i, j - 1)] * (j > 0) for i in range(n) for j in range(n)}
    net = random_network(parents, 12, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"a table of .* entries is needed"):
        net.posteriors()
