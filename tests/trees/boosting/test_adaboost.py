"""AdaBoost beside scikit-learn's, its bound, and what it refuses."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import AdaBoostClassifier as PeerClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from margin.trees import AdaBoostClassifier, AdaBoostRegressor
from margin.trees import DecisionTreeClassifier as OwnTree
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


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_own_trees_take_a_shorter_way_to_the_same_model(load, monkeypatch):
    """A table coded once and rows that pass all trees at once, against fit and predict of every learner."""
    X, y = load(return_X_y=True)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    learner = OwnTree(max_depth=2, max_features=2, splitter="random")
    short = AdaBoostClassifier(learner, n_estimators=8, random_state=3).fit(X, y)
    monkeypatch.setattr("margin.trees.boosting.adaboost_rounds.TreeLearners.of", lambda *_: None)
    long = AdaBoostClassifier(learner, n_estimators=8, random_state=3).fit(X, y)
    for one, other in zip(short.estimators_, long.estimators_, strict=True):
        for name, array in one.tree_.items():
            np.testing.assert_array_equal(array, other.tree_[name])
    monkeypatch.setattr("margin.trees.boosting.adaboost.all_own_trees", lambda _: False)
    said = long.decision_function(X)
    monkeypatch.undo()
    np.testing.assert_allclose(short.decision_function(X), said, rtol=1e-12, atol=1e-14)


def test_own_regression_trees_take_the_same_way(monkeypatch):
    X, y = load_diabetes(return_X_y=True)
    short = AdaBoostRegressor(n_estimators=8, random_state=3).fit(X, y)
    monkeypatch.setattr("margin.trees.boosting.adaboost_rounds.TreeLearners.of", lambda *_: None)
    monkeypatch.setattr("margin.trees.boosting.adaboost.all_own_trees", lambda _: False)
    long = AdaBoostRegressor(n_estimators=8, random_state=3).fit(X, y)
    np.testing.assert_array_equal(short.predict(X), long.predict(X))


def test_stages_and_importances_are_scikit_learns():
    X, y = load_wine(return_X_y=True)
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    ours = AdaBoostClassifier(stump, n_estimators=10, random_state=0).fit(X, y)
    theirs = PeerClassifier(stump, n_estimators=10, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-9)
    for name in ("staged_decision_function", "staged_predict_proba", "staged_predict"):
        for one, other in zip(getattr(ours, name)(X), getattr(theirs, name)(X), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(list(ours.staged_score(X, y)), list(theirs.staged_score(X, y)))
    regressor = AdaBoostRegressor(n_estimators=6, random_state=0).fit(X, y)
    *_, last = regressor.staged_predict(X)
    np.testing.assert_array_equal(last, regressor.predict(X))
    assert list(regressor.staged_score(X, y))[-1] == pytest.approx(regressor.score(X, y))
    with pytest.raises(AttributeError, match="LogisticRegression has no feature_importances_"):
        AdaBoostClassifier(LogisticRegression(max_iter=500), n_estimators=2).fit(X, y).feature_importances_  # noqa: B018


def test_seeds_reach_the_parts_of_a_learner():
    X, y = load_iris(return_X_y=True)
    learner = CalibratedClassifierCV(DecisionTreeClassifier(max_depth=2, splitter="random"), cv=2)
    first, second, other = (
        AdaBoostClassifier(learner, n_estimators=5, random_state=seed).fit(X, y).decision_function(X)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_great_weights_do_not_overflow():
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=30, learning_rate=23.0).fit(X, y)
    assert np.isfinite(model.estimator_weights_).all()
    assert np.isfinite(model.estimator_errors_).all()
    assert model.n_iter_ > 2
    assert model.score(X, y) > 0.6


class SeesRows(LogisticRegression):
    """Notes the form of the rows that it learns from."""

    def fit(self, X, y, sample_weight=None):
        self.form_ = X.format if sp.issparse(X) else "dense"
        return super().fit(X, y, sample_weight=sample_weight)


@pytest.mark.parametrize(("form", "seen"), [("csr", "csr"), ("csc", "csc"), ("lil", "csr")])
def test_sparse_rows_stay_sparse_for_learners_that_take_them(form, seen):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.4)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    table = sp.csr_array(X).asformat(form)
    sparse = AdaBoostClassifier(SeesRows(), n_estimators=4).fit(table, y)
    dense = AdaBoostClassifier(SeesRows(), n_estimators=4).fit(X, y)
    assert {learner.form_ for learner in sparse.estimators_} == {seen}
    np.testing.assert_allclose(sparse.decision_function(table), dense.decision_function(X), atol=1e-8)
    for one, other in zip(sparse.staged_predict_proba(table), dense.staged_predict_proba(X), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)
    trees = AdaBoostClassifier(n_estimators=4, random_state=0)  # these look at every cell
    np.testing.assert_array_equal(clone(trees).fit(table, y).predict(table), clone(trees).fit(X, y).predict(X))


@pytest.mark.parametrize("model", [AdaBoostClassifier, AdaBoostRegressor])
def test_a_huge_learning_rate_divides_by_no_zero(model):
    """All weight then lies on a few rows, which the next learner gets right: its error is zero."""
    X = np.random.default_rng(0).normal(size=(100, 3))
    y = X[:, 0] ** 2
    target = y > 1 if model is AdaBoostClassifier else y
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = model(learning_rate=1e6, random_state=0).fit(X, target)
    assert np.isfinite(fitted.estimator_weights_).all()
    assert np.isfinite(fitted.predict(X).astype(float)).all()


def test_one_class_is_learned_as_there():
    X = np.random.default_rng(0).normal(size=(30, 2))
    ours, theirs = (cls(n_estimators=5).fit(X, ["a"] * 30) for cls in (AdaBoostClassifier, PeerClassifier))
    assert ours.classes_.tolist() == theirs.classes_.tolist() == ["a"]
    assert (ours.predict(X) == theirs.predict(X)).all()
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    np.testing.assert_array_equal(ours.estimator_weights_[:1], theirs.estimator_weights_[:1])
