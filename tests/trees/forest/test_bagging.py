"""Bagging: any member, drawn rows by hand, votes."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from margin import store
from margin.data import load
from margin.neighbors import KNeighborsClassifier as OwnNeighbors
from margin.trees import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from margin.trees.forest.bagged_trees import trees_of_members
from margin.trees.forest.out_of_bag import bootstrap_counts


@pytest.fixture(scope="module")
def moons():
    data = load("moons", n_samples=400, noise=0.3, seed=0)
    return data.X, data.y


@pytest.mark.parametrize("member", [LogisticRegression(), KNeighborsClassifier(3)], ids=["weights", "rows"])
def test_bagging_takes_any_estimator(member, moons):
    X, y = moons
    names = np.array(["no", "yes"])[y]
    model = BaggingClassifier(member, 8, max_samples=0.5, max_features=1, oob_score=True, random_state=0).fit(X, names)
    assert set(model.predict(X)) <= {"no", "yes"}
    assert {len(columns) for columns in model.estimators_features_} == {1}
    assert 0.6 < model.oob_score_ < 1


def test_bagging_votes_where_members_have_no_probabilities(moons):
    from sklearn.svm import LinearSVC

    X, y = moons
    shares = BaggingClassifier(LinearSVC(), 5, random_state=0).fit(X, y).predict_proba(X)
    assert set(np.unique(shares.round(12))) <= {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}


def test_bagging_refuses(moons):
    X, y = moons
    with pytest.raises(ValueError, match="max_features=7 exceeds the 2 columns"):
        BaggingClassifier(max_features=7).fit(X, y)
    with pytest.raises(ValueError, match="bootstrap=False needs 400 rows of positive weight to draw; got 399"):
        BaggingClassifier(KNeighborsClassifier(), 2, bootstrap=False).fit(X, y, sample_weight=np.arange(400))


def test_members_without_weights_get_rows_drawn_by_them(moons, tmp_path):
    X, y = moons
    weight = np.where(np.arange(400) % 4 == 0, 3.0, 0.0) + (np.arange(400) % 4 == 1)
    bag = BaggingClassifier(OwnNeighbors(), 20, max_samples=300, random_state=0).fit(X, y, sample_weight=weight)
    drawn = np.bincount(np.concatenate(bag.estimators_samples_), minlength=400)
    assert drawn[weight == 0].sum() == 0
    assert drawn[weight == 3].sum() / drawn.sum() == pytest.approx(0.75, abs=0.03)
    for member, rows in zip(bag.estimators_, bag.estimators_samples_):
        np.testing.assert_array_equal(member.points_, X[rows])
    store.save(bag, tmp_path / "bag.safetensors")
    for one, other in zip(store.load(tmp_path / "bag.safetensors").estimators_samples_, bag.estimators_samples_):
        np.testing.assert_array_equal(one, other)


def test_several_targets_are_averaged_each(tmp_path):
    data = load("friedman", n_samples=150, seed=3)
    y = np.column_stack([data.y, -2 * data.y])
    bag = BaggingRegressor(n_estimators=30, oob_score=True, random_state=0).fit(data.X, y)
    one = BaggingRegressor(n_estimators=30, oob_score=True, random_state=0).fit(data.X, data.y)
    assert bag.predict(data.X).shape == bag.oob_prediction_.shape == (150, 2)
    np.testing.assert_allclose(bag.predict(data.X), np.column_stack([one.predict(data.X), -2 * one.predict(data.X)]))
    assert bag.oob_score_ == pytest.approx(one.oob_score_)
    store.save(bag, tmp_path / "bag.safetensors")
    np.testing.assert_array_equal(store.load(tmp_path / "bag.safetensors").predict(data.X), bag.predict(data.X))


def test_bagged_trees_equal_trees_on_the_drawn_rows():
    data = load("friedman", n_samples=150, seed=3)
    bag = BaggingRegressor(DecisionTreeRegressor(max_depth=4), 3, random_state=5).fit(data.X, data.y)
    rng = np.random.default_rng([5, 0])
    rng.choice(10, size=10, replace=False)
    counts = bootstrap_counts(150, 150, rng)
    alone = DecisionTreeRegressor(max_depth=4).fit(data.X, data.y, sample_weight=counts)
    np.testing.assert_allclose(bag.estimators_[0].predict(data.X), alone.predict(data.X), rtol=1e-12)


def test_the_same_seed_gives_the_same_bagged_pipeline(moons):
    """Every random_state inside a member is seeded, those of a pipeline's steps too."""
    X, y = moons
    member = make_pipeline(StandardScaler(), SGDClassifier(max_iter=5, tol=None))
    first, second = (BaggingClassifier(member, 4, random_state=3).fit(X, y) for _ in range(2))
    for a, b in zip(first.estimators_, second.estimators_):
        np.testing.assert_array_equal(a[-1].coef_, b[-1].coef_)
    assert len({a[-1].random_state for a in first.estimators_}) == 4


@pytest.mark.parametrize("member", [LogisticRegression(), SVC(), DecisionTreeClassifier(class_weight={0: 1, 1: 5})])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_a_rare_class_is_in_every_sample(member, bootstrap):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1], [59, 1])
    X[-1] += 4
    model = BaggingClassifier(member, 12, max_samples=0.5, bootstrap=bootstrap, random_state=0).fit(X, y)
    assert all(list(fitted.classes_) == [0, 1] for fitted in model.estimators_)
    assert all(59 in rows for rows in model.estimators_samples_)


def test_members_are_fitted_on_the_samples_they_name(moons):
    X, y = moons
    for parameters in ({}, {"max_samples": 50}, {"max_samples": 0.25, "bootstrap": False}, {"max_features": 1}):
        model = BaggingClassifier(KNeighborsClassifier(1), 3, random_state=1, **parameters).fit(X, y)
        for member, rows, columns in zip(model.estimators_, model.estimators_samples_, model.estimators_features_):
            np.testing.assert_array_equal(member._fit_X, X[rows][:, columns])
        size = {"max_samples": 50}.get(next(iter(parameters), ""), 400) if "bootstrap" not in parameters else 100
        assert {len(rows) for rows in model.estimators_samples_} == {size if "max_features" not in parameters else 400}
        if "bootstrap" in parameters:
            assert all(len(set(rows)) == 100 for rows in model.estimators_samples_)


def test_left_out_rows_are_predicted_only_when_asked(moons):
    asked = []

    class Spy(DecisionTreeClassifier):
        def predict_proba(self, X):
            asked.append(len(X))
            return super().predict_proba(X)

    BaggingClassifier(Spy(), 3, random_state=0).fit(*moons)
    assert asked == []
    BaggingClassifier(Spy(), 3, oob_score=True, random_state=0).fit(*moons)
    assert len(asked) == 3


def test_a_warm_start_adds_members(moons):
    X, y = moons
    model = BaggingClassifier(n_estimators=3, warm_start=True, oob_score=True, random_state=2).fit(X, y)
    early = model.estimators_
    model.set_params(n_estimators=8).fit(X, y)
    at_once = BaggingClassifier(n_estimators=8, oob_score=True, random_state=2).fit(X, y)
    assert all(a is b for a, b in zip(early, model.estimators_))
    np.testing.assert_array_equal(model.predict_log_proba(X), at_once.predict_log_proba(X))
    np.testing.assert_array_equal(model.oob_decision_function_, at_once.oob_decision_function_)
    np.testing.assert_array_equal(model.estimators_samples_[5], at_once.estimators_samples_[5])
    with pytest.raises(ValueError, match="n_estimators=2 must be at least the 8 members there are"):
        model.set_params(n_estimators=2).fit(X, y)


def test_a_stored_ensemble_still_names_its_samples(moons, tmp_path):
    model = BaggingClassifier(n_estimators=2, random_state=0).fit(*moons)
    store.save(model, tmp_path / "model")
    again = store.load(tmp_path / "model")
    np.testing.assert_array_equal(again.estimators_samples_[1], model.estimators_samples_[1])


@pytest.mark.parametrize("classes", [2, 3])
def test_the_decision_function_is_the_average_of_the_members(classes):
    data = load("blobs", n_samples=120, seed=0) if classes == 3 else load("moons", n_samples=120, seed=0)
    X, y = data.X, data.y % classes
    model = BaggingClassifier(SVC(), 4, max_features=1, random_state=0).fit(X, y)
    by_hand = [member.decision_function(X[:, own]) for member, own in zip(model, model.estimators_features_)]
    np.testing.assert_allclose(model.decision_function(X), np.mean(by_hand, axis=0), rtol=1e-12)
    assert model.decision_function(X).shape == ((120,) if classes == 2 else (120, 3))
    assert not hasattr(BaggingClassifier(), "decision_function")  # trees have none


def test_bagging_and_boosting_are_sequences_of_their_members(moons):
    X, y = moons
    for model in (BaggingClassifier(n_estimators=3, random_state=0), AdaBoostClassifier(n_estimators=3)):
        assert model.fit(X, y)[2] is model.estimators_[2]
        assert len(model) == len(list(model)) == 3
        assert isinstance(model.estimator_, DecisionTreeClassifier)
    given = LogisticRegression(C=3.0)
    assert BaggingClassifier(given, 2).fit(X, y).estimator_ is given


def test_rows_that_no_member_left_out_are_spoken_of_and_old_estimates_are_forgotten(moons):
    X, y = moons
    with pytest.warns(UserWarning, match="some rows were in the sample of every member"):
        model = BaggingClassifier(n_estimators=1, oob_score=True, random_state=0, warm_start=True).fit(X, y)
    assert np.isnan(model.oob_decision_function_).any()
    model.set_params(n_estimators=3, oob_score=False).fit(X, y)
    assert not hasattr(model, "oob_score_")
    assert not hasattr(model, "oob_decision_function_")


def one_by_one(model, X):
    """What the members say one after the other, added in their order."""
    total = np.zeros((X.shape[0], len(model.classes_) if hasattr(model, "classes_") else 1))
    for member, columns in zip(model.estimators_, model.estimators_features_):
        if not hasattr(model, "classes_"):
            total += member.predict(X[:, columns]).reshape(X.shape[0], -1)
        else:
            total[:, member.classes_.astype(int)] += member.predict_proba(X[:, columns])
    return total / len(model.estimators_)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_features": 0.5},
        {"max_features": 5, "bootstrap_features": True},
        {"max_samples": 4},  # fewer rows than classes: every member lacks some
        {"estimator": DecisionTreeClassifier(splitter="random", max_depth=3, max_features=2)},
    ],
)
def test_a_walk_down_all_trees_gives_the_bits_of_one_after_the_other(options):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.array(list("abcdefgh"))[rng.integers(8, size=400)]
    model = BaggingClassifier(n_estimators=25, random_state=2, **options).fit(X, y)
    assert trees_of_members(model.estimators_, model.estimators_features_, 8) is not None
    np.testing.assert_array_equal(model.predict_proba(X), one_by_one(model, X))
    np.testing.assert_array_equal(model.predict_proba(X[:1]), model.predict_proba(X)[:1])


def test_the_bits_of_a_bagged_number_do_not_depend_on_the_company():
    X, y = load_diabetes(return_X_y=True)
    model = BaggingRegressor(n_estimators=60, max_features=0.7, random_state=0).fit(X, y)
    together = model.predict(X)
    np.testing.assert_array_equal(together, one_by_one(model, X)[:, 0])
    np.testing.assert_array_equal(together[:40], [model.predict(row[None])[0] for row in X[:40]])
    np.testing.assert_array_equal(together, model.predict(sp.csr_array(X)))
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.full((1, 10), np.inf))


def test_members_that_are_no_plain_trees_answer_for_themselves():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(5, size=200), rng.normal(size=200)])
    y = (X[:, 0] % 2 + X[:, 1] > 0.5).astype(int)
    coded = BaggingClassifier(DecisionTreeClassifier(categorical_features=[0]), random_state=0).fit(X, y)
    number = BaggingClassifier(DecisionTreeRegressor(), random_state=0).fit(X, y)  # it votes
    for model in (coded, number):
        assert trees_of_members(model.estimators_, model.estimators_features_, 2) is None
    np.testing.assert_array_equal(coded.predict_proba(X), one_by_one(coded, X))
