"""Networks and circuits learned from tables."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest

import margin
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


def weather(seed=0, n=600):
    rng = np.random.default_rng(seed)
    sky = rng.choice(["clear", "cloud", "rain"], size=n)
    ground = np.where((sky == "rain") ^ (rng.random(n) < 0.05), "wet", "dry")
    return pd.DataFrame({"sky": sky, "ground": pd.Categorical(ground), "month": rng.integers(1, 13, size=n)})


def test_strings_and_categories_are_states_and_columns_have_names():
    frame = weather()
    model = BayesianNetwork(max_categories=12).fit(frame)
    assert [len(table) and table.shape[-1] for table in model.tables_] == [3, 2, 12]
    assert {tuple(sorted(edge)) for edge in model.edges_.tolist()} == {(0, 1)}
    answer = model.query(["ground"], {"sky": "rain"})
    share = np.mean(frame.ground[frame.sky == "rain"] == "wet")
    assert answer.variables == ("ground",)
    assert model.states("ground") == ["dry", "wet"]
    assert answer.values[1] == pytest.approx(share, abs=0.01)
    np.testing.assert_array_equal(model.query([1], {0: "rain"}).values, answer.values)
    np.testing.assert_array_equal(model.query("ground", {"sky": "rain"}).values, answer.values)
    drawn = model.sample(200, random_state=0)
    assert list(drawn.columns) == ["sky", "ground", "month"]
    assert set(drawn.sky) <= {"clear", "cloud", "rain"}
    assert set(drawn.month) <= set(range(1, 13))
    assert model.score_samples(frame.assign(sky="snow"))[0] == -np.inf
    gap = frame[:3].assign(ground=["dry", None, "wet"], sky=["rain", "rain", "rain"])
    assert model.impute(gap).ground.tolist() == ["dry", "wet", "wet"]
    as_objects = BayesianNetwork(max_categories=12).fit(frame.astype(object).to_numpy())
    np.testing.assert_allclose(as_objects.score(frame.astype(object).to_numpy()), model.score(frame))


def test_a_network_of_strings_is_stored(tmp_path):
    frame = weather()
    model = BayesianNetwork(max_categories=12).fit(frame)
    margin.save(model, tmp_path / "net.margin")
    again = margin.load(tmp_path / "net.margin")
    np.testing.assert_array_equal(again.score_samples(frame), model.score_samples(frame))
    assert again.sample(5, random_state=1).equals(model.sample(5, random_state=1))


def test_integers_that_are_cut_are_told():
    with pytest.warns(UserWarning, match="column 'month' has 12 different integers and is cut into 8 intervals; max"):
        model = BayesianNetwork().fit(weather())
    assert model.states("month")[0][0] == -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BayesianNetwork().fit(np.random.default_rng(0).normal(size=(50, 2)))  # numbers are meant to be cut


def test_questions_about_what_is_not_there_are_refused():
    model = BayesianNetwork(max_categories=12).fit(weather())
    for columns, evidence, sentence in [
        (["wind"], None, "there is no column 'wind'; there are"),
        ([3], None, "there is no column 3"),
        (["sky"], {"ground": "damp"}, "column 1 never had the value 'damp'"),
        (["sky"], {"month": 13}, "column 2 never had the value 13"),
        (["sky"], {"month": "May"}, "the value of column 2 must be an array of real numbers; got 'May'"),
    ]:
        with pytest.raises(ValueError, match=f"^BayesianNetwork.query: {sentence}"):
            model.query(columns, evidence)
