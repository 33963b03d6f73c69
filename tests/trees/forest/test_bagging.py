"""Bagging: any member, drawn rows by hand, votes."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from margin.data import load
from margin.trees import BaggingClassifier, BaggingRegressor, DecisionTreeRegressor
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
    with pytest.raises(ValueError, match="sample_weight needs members that take it; got KNeighborsClassifier"):
        BaggingClassifier(KNeighborsClassifier(), 2).fit(X, y, sample_weight=np.arange(400))


def test_bagged_trees_equal_trees_on_the_drawn_rows():
    data = load("friedman", n_samples=150, seed=3)
    bag = BaggingRegressor(DecisionTreeRegressor(max_depth=4), 3, random_state=5).fit(data.X, data.y)
    rng = np.random.default_rng([5, 0])
    rng.choice(10, size=10, replace=False)
    counts = bootstrap_counts(150, 150, rng)
    alone = DecisionTreeRegressor(max_depth=4).fit(data.X, data.y, sample_weight=counts)
    np.testing.assert_allclose(bag.estimators_[0].predict(data.X), alone.predict(data.X), rtol=1e-12)
