"""AdaBoost beside scikit-learn's, its bound, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import AdaBoostClassifier as PeerClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from margin.trees import AdaBoostClassifier, AdaBoostRegressor
from margin.trees.boosting.adaboost import training_error_bound, weighted_median


@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_equals_scikit_learns_over_the_same_learner(load, learning_rate):
    X, y = load(return_X_y=True)
    stump = DecisionTreeClassifier(max_depth=1, max_features=None, random_state=0)
    settings = {"n_estimators": 20, "learning_rate": learning_rate, "random_state": 0}
    ours = AdaBoostClassifier(stump, **settings).fit(X, y)
    theirs = PeerClassifier(stump, **settings).fit(X, y)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-9)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_the_bound_holds_after_every_round():
    X, y = load_breast_cancer(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=30)
    for _ in model.iterate(X, y):
        bound = training_error_bound(model.estimator_errors_)[-1]
        assert np.mean(model.predict(X) != y) <= bound + 1e-12


def test_any_learner_with_weights_and_no_other():
    X, y = load_iris(return_X_y=True)
    assert AdaBoostClassifier(LogisticRegression(max_iter=500), n_estimators=5).fit(X, y).score(X, y) > 0.9
    with pytest.raises(ValueError, match="AdaBoostClassifier: estimator must take sample_weight in fit; KNeighbors"):
        AdaBoostClassifier(KNeighborsClassifier()).fit(X, y)


def test_a_perfect_learner_ends_the_fit():
    X = np.arange(10.0)[:, None]
    model = AdaBoostClassifier(n_estimators=10).fit(X, X[:, 0] > 4)
    assert model.n_iter_ == 1
    assert model.score(X, X[:, 0] > 4) == 1.0


def test_chance_is_refused():
    X, y = np.zeros((10, 1)), np.tile([0, 1], 5)
    with pytest.raises(ValueError, match="no better than chance among 2 classes"):
        AdaBoostClassifier().fit(X, y)
    with pytest.raises(ValueError, match="two classes"):
        AdaBoostClassifier().fit(X, np.zeros(10))


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_regression_improves_on_its_learner(loss):
    X, y = load_diabetes(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))
    train, test = rows[:300], rows[300:]
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    model = AdaBoostRegressor(tree, n_estimators=40, loss=loss).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > tree.fit(X[train], y[train]).score(X[test], y[test]) + 0.03


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-10, 10), min_size=1, max_size=12), st.integers(0, 10**6))
def test_weighted_median_minimizes_absolute_deviations(values, seed):
    values = np.array(values)
    weights = np.random.default_rng(seed).uniform(0.1, 2.0, len(values))
    median = weighted_median(values[None], weights)[0]
    cost = [(weights * np.abs(values - v)).sum() for v in values]
    assert (weights * np.abs(values - median)).sum() <= min(cost) + 1e-9
