"""Trees and forests against scikit-learn on real data."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.ensemble as peers
import sklearn.tree as peer_trees
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from margin.neighbors import KNeighborsClassifier, KNeighborsRegressor
from margin.trees import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

CLASSIFICATION = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits}


def continuous(seed, n=300, p=4):
    """Values without ties, so that the best split is unique and whole trees can be compared."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize("limits", [{"max_depth": 4}, {"max_leaf_nodes": 12}, {"min_samples_leaf": 15}])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_regression_trees_are_equal(limits, seed):
    X, y = continuous(seed)
    ours = DecisionTreeRegressor(**limits).fit(X, y)
    peer = peer_trees.DecisionTreeRegressor(random_state=0, **limits).fit(X, y)
    assert ours.get_n_leaves() == peer.get_n_leaves()
    # In small nodes two columns may cut the same rows off: the rows decide, not which column was taken.
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), atol=1e-9)
    np.testing.assert_allclose(sorted(ours.tree_["impurity"]), sorted(peer.tree_.impurity), atol=1e-9)
    assert ours.tree_["threshold"][0] == pytest.approx(peer.tree_.threshold[0], abs=1e-6)  # float32 there


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_absolute_error_trees_err_alike(seed):
    X, y = continuous(seed)
    ours = DecisionTreeRegressor(criterion="absolute_error", max_depth=2).fit(X, y)
    peer = peer_trees.DecisionTreeRegressor(criterion="absolute_error", max_depth=2, random_state=0).fit(X, y)
    assert np.abs(ours.predict(X) - y).mean() == pytest.approx(np.abs(peer.predict(X) - y).mean(), rel=1e-12)
    assert ours.tree_["impurity"][0] == pytest.approx(peer.tree_.impurity[0], rel=1e-12)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_classification_trees_are_equal(criterion):
    X, score = continuous(2, n=800)
    y = np.digitize(score, [-0.5, 0.7])
    limits = {"max_depth": 3, "min_samples_leaf": 20}
    ours = DecisionTreeClassifier(criterion=criterion, **limits).fit(X, y)
    peer = peer_trees.DecisionTreeClassifier(criterion=criterion, random_state=0, **limits).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(sorted(ours.tree_["impurity"]), sorted(peer.tree_.impurity), atol=1e-12)
    peer = peer_trees.DecisionTreeClassifier(criterion=criterion, class_weight="balanced", random_state=0, **limits)
    balanced = DecisionTreeClassifier(criterion=criterion, class_weight="balanced", **limits).fit(X, y)
    np.testing.assert_allclose(balanced.predict_proba(X), peer.fit(X, y).predict_proba(X), atol=1e-12)


def test_missing_values_as_scikit_learn_sends_them():
    X, y = continuous(3, n=500)
    X[np.random.default_rng(1).uniform(size=X.shape) < 0.2] = np.nan
    limits = {"max_depth": 4, "min_samples_leaf": 10}
    ours = DecisionTreeRegressor(**limits).fit(X, y)
    peer = peer_trees.DecisionTreeRegressor(random_state=0, **limits).fit(X, y)
    error = [np.mean((model.predict(X) - y) ** 2) for model in (ours, peer)]
    assert error[0] == pytest.approx(error[1], rel=1e-9)


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_accuracy_of_single_trees(name):
    X, y = CLASSIFICATION[name](return_X_y=True)
    ours = cross_val_score(DecisionTreeClassifier(random_state=0), X, y, cv=5).mean()
    peer = np.mean(
        [cross_val_score(peer_trees.DecisionTreeClassifier(random_state=s), X, y, cv=5).mean() for s in range(3)]
    )
    assert ours > peer - 0.02


@pytest.mark.parametrize(
    ("ours", "peer"),
    [
        (RandomForestClassifier(60, random_state=0), peers.RandomForestClassifier(60, random_state=0)),
        (ExtraTreesClassifier(60, random_state=0), peers.ExtraTreesClassifier(60, random_state=0)),
        (BaggingClassifier(n_estimators=30, random_state=0), peers.BaggingClassifier(n_estimators=30, random_state=0)),
    ],
    ids=["forest", "extra", "bagging"],
)
@pytest.mark.parametrize("name", ["wine", "cancer"])
def test_accuracy_of_forests(name, ours, peer):
    X, y = CLASSIFICATION[name](return_X_y=True)
    assert cross_val_score(ours, X, y, cv=4).mean() > cross_val_score(peer, X, y, cv=4).mean() - 0.015


@pytest.mark.parametrize(
    ("ours", "peer"),
    [
        (
            RandomForestRegressor(30, max_features=None, min_samples_split=2, random_state=0),
            peers.RandomForestRegressor(30, random_state=0),
        ),
        (
            ExtraTreesRegressor(30, max_features=None, random_state=0),
            peers.ExtraTreesRegressor(30, random_state=0),
        ),
        (BaggingRegressor(n_estimators=30, random_state=0), peers.BaggingRegressor(n_estimators=30, random_state=0)),
    ],
    ids=["forest", "extra", "bagging"],
)
def test_error_of_regression_forests(ours, peer):
    X, y = load_diabetes(return_X_y=True)
    folds = [KFold(4, shuffle=True, random_state=seed) for seed in range(3)]
    scores = [np.mean([cross_val_score(model, X, y, cv=cv).mean() for cv in folds]) for model in (ours, peer)]
    assert scores[0] > scores[1] - 0.025  # four standard errors of such a difference, measured over ten seeds


def test_pruning_path_is_that_of_scikit_learn():
    X, score = continuous(5, n=250)
    y = np.digitize(score, [0.0])
    ours = DecisionTreeClassifier(min_samples_leaf=5).cost_complexity_pruning_path(X, y)
    peer = peer_trees.DecisionTreeClassifier(min_samples_leaf=5, random_state=0).cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(
        np.unique(ours["ccp_alphas"].round(12)), np.unique(peer["ccp_alphas"].round(12)), atol=1e-10
    )
    np.testing.assert_allclose(ours["impurities"][-1], peer["impurities"][-1], atol=1e-12)
    for alpha in (0.002, 0.01, 0.03):
        mine = DecisionTreeClassifier(min_samples_leaf=5, ccp_alpha=alpha).fit(X, y)
        theirs = peer_trees.DecisionTreeClassifier(min_samples_leaf=5, ccp_alpha=alpha, random_state=0).fit(X, y)
        assert mine.get_n_leaves() == theirs.get_n_leaves()
        np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-12)


def test_infinite_entries_are_the_ends_of_a_column_in_histogram_boosting():
    X = np.repeat([-np.inf, 0.0, 1.0, np.inf, np.nan], 20)[:, None]
    y = np.repeat([0.0, 1.0, 2.0, 3.0, 4.0], 20)
    settings = {"min_samples_leaf": 1, "learning_rate": 1.0, "max_iter": 30}
    ours, theirs = (
        kind(**settings).fit(X, y) for kind in (HistGradientBoostingRegressor, peers.HistGradientBoostingRegressor)
    )
    np.testing.assert_allclose(ours.predict(X), y, atol=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)
    with pytest.raises(ValueError, match="infinity"):
        GradientBoostingRegressor().fit(X, y)


def test_bagging_leaves_infinite_entries_to_its_members():
    X = np.array([[1.0, np.inf], [np.nan, 3.0], [2.0, -np.inf], [4.0, 5.0]] * 10)
    y = np.arange(40.0) % 4
    replace = FunctionTransformer(lambda rows: np.nan_to_num(rows, posinf=9.0, neginf=-9.0))
    model = BaggingRegressor(make_pipeline(replace, DecisionTreeRegressor()), random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=0.5)
    with pytest.raises(ValueError, match="infinity"):
        BaggingRegressor(random_state=0).fit(X, y)


def test_rows_of_members_are_32_bit_numbers_as_in_scikit_learn():
    X, y = load_iris(return_X_y=True)
    for kind in (RandomForestClassifier, BaggingClassifier):
        rows = kind(n_estimators=3, random_state=0).fit(X, y).estimators_samples_
        assert [part.dtype for part in rows] == [np.int32] * 3


def test_adaboost_draws_rows_for_a_regressor_that_takes_no_weights():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (200, 1))
    y = np.sin(X[:, 0])
    learner = KNeighborsRegressor(20)
    boosted = AdaBoostRegressor(learner, n_estimators=20, random_state=0).fit(X, y)
    assert boosted.n_iter_ > 1
    assert len({tuple(member.values_[:5, 0]) for member in boosted.estimators_}) == boosted.n_iter_
    assert boosted.score(X, y) > learner.fit(X, y).score(X, y)
    with pytest.raises(ValueError, match="AdaBoostClassifier: estimator must take sample_weight in fit"):
        AdaBoostClassifier(KNeighborsClassifier()).fit(X, y > 0)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix])
def test_members_see_sparse_rows_in_the_form_they_were_given(form):
    seen = []

    class Noting(DecisionTreeRegressor):
        def fit(self, X, y, sample_weight=None):
            seen.append(X.format)
            return super().fit(X, y, sample_weight)

    X, y = load_diabetes(return_X_y=True)
    dense = BaggingRegressor(DecisionTreeRegressor(max_depth=3), n_estimators=3, max_features=0.5, random_state=0).fit(
        X, y
    )
    model = BaggingRegressor(Noting(max_depth=3), n_estimators=3, max_features=0.5, random_state=0).fit(form(X), y)
    assert seen == [form(X).format] * 3
    np.testing.assert_allclose(model.predict(form(X)), dense.predict(X))
