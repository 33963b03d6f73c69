"""Forests and bagging: identical at any number of threads, out-of-bag by hand, resumed exactly."""

import itertools
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score, mean_absolute_error
from sklearn.utils.class_weight import compute_sample_weight

from margin import store
from margin.data import load
from margin.trees import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from margin.trees.cart.pruning import prune_by_cost
from margin.trees.cart.structure import n_leaves
from margin.trees.cart.walking import predict
from margin.trees.forest.bootstrap import sample_counts, tree_keys


@pytest.fixture(scope="module")
def moons():
    data = load("moons", n_samples=400, noise=0.3, seed=0)
    return data.X, data.y


@pytest.mark.parametrize(
    "model",
    [RandomForestClassifier(20, oob_score=True), ExtraTreesClassifier(8), BaggingClassifier(n_estimators=6)],
    ids=["forest", "extra", "bagging"],
)
def test_any_number_of_threads_gives_the_same_bits(model, moons):
    said = [model.set_params(n_jobs=jobs, random_state=3).fit(*moons).predict_proba(moons[0]) for jobs in (1, 2, 5)]
    np.testing.assert_array_equal(said[0], said[1])
    np.testing.assert_array_equal(said[0], said[2])


def test_the_forest_is_the_average_of_its_trees(moons):
    X, y = moons
    forest = RandomForestClassifier(12, random_state=0).fit(X, y)
    singles = [tree.predict_proba(X) for tree in forest.estimators_]
    np.testing.assert_allclose(forest.predict_proba(X), np.mean(singles, axis=0), atol=1e-14)
    np.testing.assert_array_equal(forest.votes(X).sum(axis=1), 12)
    assert forest.apply(X).shape == (400, 12)
    np.testing.assert_allclose(forest.feature_importances_.sum(), 1)


def test_out_of_bag_by_hand(moons):
    X, y = moons
    forest = RandomForestClassifier(25, oob_score=True, random_state=4)
    records = list(forest.iterate(X, y))
    sums, votes = np.zeros((400, 2)), np.zeros(400)
    for number, tree in enumerate(forest.trees_):
        out = sample_counts(tree_keys(4, number, number + 1), 400, 400)[0] == 0
        assert tree["n_samples"][0] == (~out).sum()
        sums[out] += predict(tree, X[out])
        votes[out] += 1
        seen = votes > 0
        error = np.mean(sums[seen].argmax(axis=1) != y[seen])
        assert records[number]["oob_error"] == pytest.approx(error)
    assert forest.oob_score_ == pytest.approx(1 - records[-1]["oob_error"])
    averages = sums / np.where(votes > 0, votes, np.nan)[:, None]
    np.testing.assert_allclose(forest.oob_decision_function_, averages)


def test_out_of_bag_of_regression():
    data = load("friedman", n_samples=300, seed=1)
    forest = RandomForestRegressor(60, oob_score=True, random_state=0).fit(data.X, data.y)
    said = forest.oob_prediction_
    assert forest.oob_score_ == pytest.approx(1 - np.mean((said - data.y) ** 2) / np.var(data.y))
    fresh = load("friedman", n_samples=2000, seed=2)
    assert abs(forest.oob_score_ - forest.score(fresh.X, fresh.y)) < 0.08
    errors = [
        r["oob_error"]
        for r in BaggingRegressor(n_estimators=20, oob_score=True, random_state=0).iterate(data.X, data.y)
    ]
    assert errors[-1] < 0.6 * errors[0]


@pytest.mark.parametrize("cls", [RandomForestRegressor, ExtraTreesRegressor])
def test_a_forest_continues_where_it_stopped(cls, moons):
    X, y = moons
    whole = cls(9, random_state=1, n_jobs=2).fit(X, y)
    first = cls(9, random_state=1)
    for _ in itertools.islice(first.iterate(X, y), 4):
        pass
    assert len(first.trees_) == 4
    second = cls(9, random_state=None)
    records = list(second.iterate(X, y, state=first.get_state()))
    assert [r.iteration for r in records] == [5, 6, 7, 8, 9]
    np.testing.assert_array_equal(second.predict(X), whole.predict(X))


def test_more_trees_extend_fewer(moons):
    few, many = (RandomForestClassifier(n, random_state=2).fit(*moons) for n in (3, 7))
    for a, b in zip(few.trees_, many.trees_):
        np.testing.assert_array_equal(a["threshold"], b["threshold"])


def test_max_samples_and_no_bootstrap(moons):
    X, y = moons
    assert {int(t["weight"][0]) for t in RandomForestClassifier(4, max_samples=0.25).fit(X, y).trees_} == {100}
    assert {int(t["n_samples"][0]) for t in RandomForestClassifier(4, bootstrap=False).fit(X, y).trees_} == {400}
    for more in (900, 2.25):  # with replacement more may be drawn than there are
        assert {int(t["weight"][0]) for t in RandomForestClassifier(4, max_samples=more).fit(X, y).trees_} == {900}
    with pytest.raises(ValueError, match="oob_score=True needs bootstrap=True"):
        RandomForestClassifier(2, bootstrap=False, oob_score=True).fit(X, y)
    with pytest.raises(ValueError, match="max_samples needs bootstrap=True; got max_samples"):
        RandomForestClassifier(2, bootstrap=False, max_samples=0.5).fit(X, y)


@pytest.mark.parametrize("Forest", [RandomForestClassifier, ExtraTreesClassifier])
def test_every_sample_is_balanced_as_scikit_learn_weighs_it(Forest):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), (rng.random(200) < 0.1).astype(int)
    forest = Forest(6, bootstrap=True, class_weight="balanced_subsample", max_depth=2, random_state=3).fit(X, y)
    for tree, rows in zip(forest.trees_, forest.estimators_samples_):
        counts = np.bincount(rows, minlength=len(X))
        weight = counts * compute_sample_weight("balanced", y, indices=rows)
        np.testing.assert_allclose(tree["value"][0], [0.5, 0.5], rtol=1e-12)
        leaves = forest.apply(X)[:, [t is tree for t in forest.trees_].index(True)]
        for leaf in np.unique(leaves):
            inside = (leaves == leaf) & (weight > 0)
            expected = np.bincount(y[inside], weight[inside], minlength=2) / weight[inside].sum()
            np.testing.assert_allclose(tree["value"][leaf], expected, rtol=1e-12)
    whole = [
        Forest(4, bootstrap=False, class_weight=w, random_state=1).fit(X, y) for w in ("balanced", "balanced_subsample")
    ]
    np.testing.assert_array_equal(whole[0].predict_proba(X), whole[1].predict_proba(X))


def test_balanced_samples_of_several_targets_and_after_a_warm_start(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 3))
    y = np.column_stack([rng.random(150) < 0.1, rng.integers(3, size=150)])
    given = {"class_weight": "balanced_subsample", "random_state": 0}
    whole = RandomForestClassifier(6, **given).fit(X, y)
    assert whole.estimators_[0].class_weight is None
    part = RandomForestClassifier(3, warm_start=True, **given).fit(X, y)
    part.set_params(n_estimators=6).fit(X, y)
    store.save(part, tmp_path / "forest.safetensors")
    for other in (part, store.load(tmp_path / "forest.safetensors")):
        for one, same in zip(whole.predict_proba(X), other.predict_proba(X)):
            np.testing.assert_array_equal(one, same)
    for tree, rows in zip(whole.trees_, whole.estimators_samples_):
        weight = np.bincount(rows, minlength=150) * compute_sample_weight("balanced", y, indices=rows)
        assert tree["weight"][0] == pytest.approx(weight.sum(), rel=1e-12)


def test_class_weights_move_the_border():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (900, 2)), rng.normal(1.2, 1, (100, 2))])
    y = np.repeat([0, 1], [900, 100])
    plain, balanced = (
        RandomForestClassifier(30, min_samples_leaf=10, class_weight=weight, random_state=0).fit(X, y).predict(X).mean()
        for weight in (None, "balanced")
    )
    assert balanced > 2 * plain


def test_missing_values_and_categories_in_a_forest():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 12, 800).astype(float), rng.standard_normal(800)])
    y = np.isin(X[:, 0], [2, 3, 7]).astype(int)
    X[::9, 0] = np.nan
    forest = RandomForestClassifier(15, categorical_features=[0], max_features=None, random_state=0).fit(X, y)
    known = ~np.isnan(X[:, 0])
    assert forest.score(X[known], y[known]) == 1
    assert forest.estimators_[0].predict(X).shape == (800,)


@pytest.mark.parametrize("cls", [RandomForestClassifier, ExtraTreesClassifier])
def test_a_warm_start_adds_trees(cls, moons):
    """As scikit-learn's: the trees there are stay, new ones are added, and the whole is the forest grown at once."""
    X, y = moons
    model = cls(4, warm_start=True, bootstrap=True, oob_score=True, random_state=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # four trees leave some rows without an out-of-bag prediction
        early = model.fit(X, y).trees_
        model.set_params(n_estimators=11).fit(X, y)
        at_once = cls(11, bootstrap=True, oob_score=True, random_state=5).fit(X, y)
    assert all(a is b for a, b in zip(early, model.trees_))
    np.testing.assert_array_equal(model.predict_proba(X), at_once.predict_proba(X))
    np.testing.assert_array_equal(model.oob_decision_function_, at_once.oob_decision_function_)
    with pytest.warns(UserWarning, match="warm_start without more trees"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="n_estimators=3 must be at least the 11 trees there are"):
        model.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="needs the classes of the first fit"):
        model.set_params(n_estimators=12).fit(X, y + 1)
    cold = model.set_params(n_estimators=2, warm_start=False, oob_score=False).fit(X, y)
    assert len(cold.trees_) == 2


def test_a_warm_start_without_a_seed_goes_on_from_its_own(moons):
    model = RandomForestClassifier(3, warm_start=True).fit(*moons)
    first = [tree["threshold"] for tree in model.set_params(n_estimators=6).fit(*moons).trees_]
    assert len({tuple(threshold[:3]) for threshold in first}) == 6, "new trees are drawn anew"


def test_pruned_forests_are_forests_of_pruned_trees(moons):
    X, y = moons
    whole, pruned = (RandomForestClassifier(6, ccp_alpha=a, random_state=0).fit(X, y) for a in (0.0, 0.01))
    for tree, small in zip(whole.trees_, pruned.trees_):
        np.testing.assert_array_equal(prune_by_cost(tree, 0.01)["threshold"], small["threshold"])
    assert sum(map(n_leaves, pruned.trees_)) < 0.5 * sum(map(n_leaves, whole.trees_))


def test_log_probabilities_and_defaults_are_scikit_learns(moons):
    X, y = moons
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    np.testing.assert_array_equal(np.exp(forest.predict_log_proba(X)) > 0, forest.predict_proba(X) > 0)
    assert (RandomForestClassifier().max_features, RandomForestRegressor().max_features) == ("sqrt", 1.0)
    assert RandomForestRegressor().min_samples_split == ExtraTreesRegressor().min_samples_split == 2


def test_a_finished_forest_keeps_no_training_data(moons):
    forest = RandomForestClassifier(3, random_state=0).fit(*moons)
    assert not hasattr(forest, "_loop")
    largest = max(np.asarray(value).size for tree in forest.trees_ for value in tree.values())
    assert largest < moons[0].size


def test_a_forest_is_the_sequence_of_its_trees(moons):
    X, y = moons
    forest = RandomForestClassifier(4, max_depth=3, random_state=0)
    assert forest  # a forest that is not fitted is no empty one
    with pytest.raises(NotFittedError):
        len(forest)
    assert not hasattr(forest, "estimator_")
    forest.fit(X, y)
    assert len(forest) == len(list(forest)) == 4
    np.testing.assert_array_equal(forest[-1].predict_proba(X), forest.estimators_[3].predict_proba(X))
    np.testing.assert_array_equal(forest[1:3][1].apply(X), forest.apply(X)[:, 2])
    with pytest.raises(IndexError):
        forest[4]
    assert (forest.estimator_.max_depth, forest.estimator_.splitter) == (3, "best")
    assert not hasattr(forest.estimator_, "_tree")


def test_the_paths_of_a_forest_stand_side_by_side(moons):
    X, y = moons
    forest = ExtraTreesClassifier(3, max_depth=4, random_state=1).fit(X, y)
    paths, begins = forest.decision_path(X[:50])
    assert begins.tolist() == np.cumsum([0] + [tree.tree_.node_count for tree in forest]).tolist()
    for number, tree in enumerate(forest):
        own = paths[:, begins[number] : begins[number + 1]]
        np.testing.assert_array_equal(own.toarray(), tree.decision_path(X[:50]).toarray())
        assert (own[np.arange(50), forest.apply(X[:50])[:, number]] == 1).all()


def test_the_samples_of_trees_are_those_they_were_grown_on(moons, tmp_path):
    """All columns are looked at, so a tree on the same rows is the same tree; weightless rows are in no sample."""
    X, y = moons
    weight = np.ones(len(X))
    weight[::5] = 0
    forest = RandomForestClassifier(3, max_features=None, max_samples=100, random_state=2).fit(X, y, weight)
    samples = forest.estimators_samples_
    for tree, rows in zip(forest, samples, strict=True):
        assert len(rows) == 100 > len(np.unique(rows))
        assert not (rows % 5 == 0).any()
        counts = np.bincount(rows, minlength=len(X))
        alone = DecisionTreeClassifier().fit(X, y, counts)
        np.testing.assert_array_equal(alone.predict_proba(X[rows]), tree.predict_proba(X[rows]))
    store.save(forest, tmp_path / "forest")
    np.testing.assert_array_equal(store.load(tmp_path / "forest").estimators_samples_, samples)
    every = ExtraTreesClassifier(2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(every.estimators_samples_, [np.arange(400)] * 2)


def test_samples_of_a_warm_start_need_one_table(moons):
    X, y = moons
    forest = RandomForestClassifier(2, warm_start=True, random_state=0).fit(X, y)
    first = forest.estimators_samples_
    forest.set_params(n_estimators=3).fit(X, y)
    np.testing.assert_array_equal(forest.estimators_samples_[:2], first)
    forest.set_params(n_estimators=4).fit(X[:300], y[:300])
    with pytest.raises(AttributeError, match="warm_start took tables, or samples, of different sizes"):
        forest.estimators_samples_  # noqa: B018
    numbers = RandomForestRegressor(1, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="as many targets in y as the first fit had"):
        numbers.set_params(n_estimators=2).fit(X, X)


def test_a_metric_judges_the_rows_left_out():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    metric = partial(f1_score, average="macro")
    forest = RandomForestClassifier(30, oob_score=metric, random_state=0).fit(X, names)
    judged = np.isfinite(forest.oob_decision_function_).all(axis=1)
    said = forest.classes_[forest.oob_decision_function_[judged].argmax(axis=1)]
    assert forest.oob_score_ == metric(names[judged], said)
    both = np.column_stack([names, y > 0])
    several = RandomForestClassifier(
        30, oob_score=lambda true, said: np.mean(true[:, 1] == said[:, 1]), random_state=0
    ).fit(X, both)
    right = several.classes_[1][several.oob_decision_function_[:, :2, 1].argmax(axis=1)] == both[:, 1]
    assert several.oob_score_ == right[np.isfinite(several.oob_decision_function_[:, 0, 1])].mean()
    numbers = RandomForestRegressor(30, oob_score=mean_absolute_error, random_state=0).fit(X[:, :3], X[:, 3])
    judged = np.isfinite(numbers.oob_prediction_)
    error = mean_absolute_error(X[judged, 3], numbers.oob_prediction_[judged])
    np.testing.assert_allclose(numbers.oob_score_, error, rtol=1e-12)
