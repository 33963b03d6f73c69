"""Approximate marginals against exact ones."""

import numpy as np
import pytest

from margin.graphical import BayesianNetwork
from margin.graphical.approximate import APPROXIMATIONS, approximate_marginal
from margin.graphical.network import DiscreteNetwork


def network(rng, coupling=1.0):
    """A random net a -> b, a -> c, (b, c) -> d with 2, 3, 2 and 2 states."""
    sizes, parents = {"a": 2, "b": 3, "c": 2, "d": 2}, {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
    tables = {}
    for name, above in parents.items():
        scores = coupling * rng.normal(size=(*(sizes[p] for p in above), sizes[name]))
        tables[name] = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return DiscreteNetwork(parents, tables)


@pytest.mark.parametrize("method", ["likelihood_weighting", "gibbs"])
@pytest.mark.parametrize("evidence", [{}, {"d": 1}, {"d": 0, "b": 2}])
def test_samples_reach_the_exact_distribution(method, evidence):
    net = network(np.random.default_rng(1))
    asked = ["c", "a"]
    exact = net.query(asked, evidence)
    found = approximate_marginal(net, asked, evidence, method, 40_000, random_state=0)
    assert found.variables == ("c", "a")
    table = np.moveaxis(exact.values, [exact.variables.index(name) for name in asked], [0, 1])
    np.testing.assert_allclose(found.values, table, atol=0.02)  # some four standard errors
    assert np.ptp(table) > 0.1


def test_mean_field_is_exact_without_coupling_and_near_with_little():
    rng = np.random.default_rng(2)
    tables = {name: rng.dirichlet(np.ones(3)) for name in "ab"}
    apart = DiscreteNetwork({"a": [], "b": []}, tables)
    found = approximate_marginal(apart, ["b", "a"], {}, "mean_field", random_state=0)
    np.testing.assert_allclose(found.values, np.outer(tables["b"], tables["a"]), atol=1e-8)
    net = network(rng, coupling=0.2)
    found = approximate_marginal(net, ["a"], {"d": 1}, "mean_field", random_state=0)
    np.testing.assert_allclose(found.values, net.query(["a"], {"d": 1}).values, atol=0.01)


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    a = rng.integers(2, size=400)
    flip = rng.random((2, 400)) < 0.2
    X = np.column_stack([a, a ^ flip[0], a ^ flip[1]])
    return BayesianNetwork("given", required_edges=[[0, 1], [0, 2]]).fit(X)


@pytest.mark.parametrize("method", APPROXIMATIONS)
def test_estimator_answers_by_every_method(model, method):
    exact = model.query([0], {1: 1}).values
    found = model.query([0], {1: 1}, method=method, n_samples=20_000, random_state=0)
    assert found.variables == (0,)
    np.testing.assert_allclose(found.values, exact, atol=0.02 if method != "mean_field" else 0.15)
    again = model.query([0], {1: 1}, method=method, n_samples=20_000, random_state=0)
    np.testing.assert_array_equal(found.values, again.values)


def test_wrong_questions_get_one_sentence(model):
    with pytest.raises(ValueError, match=r"method must be one of exact, likelihood_weighting, .*; got 'magic'"):
        model.query([0], method="magic")
    with pytest.raises(ValueError, match="n_samples must be an integer at least 1; got 0"):
        model.query([0], method="gibbs", n_samples=0)
    with pytest.raises(ValueError, match="different ones of the network outside the evidence; got 1"):
        model.query([1], {1: 0}, method="gibbs")
    never = DiscreteNetwork({"a": [], "b": ["a"]}, {"a": [1.0, 0.0], "b": [[1.0, 0.0], [0.5, 0.5]]})
    with pytest.raises(ValueError, match="all 50 drawn rows contradict the evidence"):
        approximate_marginal(never, ["a"], {"b": 1}, "likelihood_weighting", 50, random_state=0)
