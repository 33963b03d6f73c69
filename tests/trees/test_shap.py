"""Shapley values of trees against all coalitions."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from margin.core.category_encoding import encode_numbers
from margin.trees import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    explain,
)
from margin.trees.shap import conditional_expectation, shapley_by_enumeration, tree_shap


def mixed_table(rng, n=300):
    X = rng.normal(size=(n, 5))
    X[:, 4] = rng.integers(0, 6, n)
    X[rng.random((n, 5)) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0] * X[:, 1]) + np.isin(X[:, 4], [1, 4]) + 0.1 * rng.normal(size=n)
    return X, y


@pytest.mark.parametrize("weighted", [False, True])
def test_a_tree_agrees_with_all_coalitions(weighted):
    rng = np.random.default_rng(0)
    X, y = mixed_table(rng)
    w = rng.uniform(0.5, 2.0, len(y)) if weighted else None
    model = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=3, categorical_features=[4]).fit(X, y, w)
    known = {4: model.bins_["edges"][model.bins_["offsets"][4] :]}
    rows = encode_numbers(X[:15], known)
    for i in range(2):
        tree = model.tree(i)
        found = tree_shap(tree, rows)
        for row, values in zip(rows, found.values, strict=True):
            exact = shapley_by_enumeration(lambda S, t=tree, x=row: conditional_expectation(t, x, S), 5)
            np.testing.assert_allclose(values, exact, atol=1e-12)


def test_a_deep_tree_that_asks_the_same_column_again():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    model = DecisionTreeRegressor(random_state=0).fit(X, np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2])
    for row in X[:3]:
        exact = shapley_by_enumeration(lambda S, x=row: conditional_expectation(model.tree_, x, S), 3)
        np.testing.assert_allclose(tree_shap(model.tree_, row[None]).values[0], exact, atol=1e-11)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(random_state=0),
        RandomForestRegressor(n_estimators=10, random_state=0),
        HistGradientBoostingRegressor(max_iter=10),
        GradientBoostingRegressor(n_estimators=10, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_attributions_of_regressors_add_up(model):
    X, y = load_diabetes(return_X_y=True)
    model.fit(X, y)
    found = explain(model, X[:100])
    np.testing.assert_allclose(found.predictions[:, 0], model.predict(X[:100]), rtol=1e-9)
    assert found.values.shape == (100, 10, 1)


@pytest.mark.parametrize("cls", [DecisionTreeClassifier, RandomForestClassifier])
def test_attributions_of_class_fractions_add_up(cls):
    X, y = load_iris(return_X_y=True)
    model = cls(random_state=0).fit(X, y)
    np.testing.assert_allclose(explain(model, X).predictions, model.predict_proba(X), atol=1e-12)


def test_attributions_of_scores_add_up():
    X, y = load_iris(return_X_y=True)
    model = HistGradientBoostingClassifier(max_iter=10).fit(X, y)
    np.testing.assert_allclose(explain(model, X).predictions, model.decision_function(X), rtol=1e-9, atol=1e-12)


def test_a_column_never_asked_about_gets_nothing():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 4))
    X[:, 2] = 1.0
    model = HistGradientBoostingRegressor(max_iter=10).fit(X, X[:, 0])
    assert np.all(explain(model, X).values[:, 2] == 0)


def test_other_models_are_refused():
    from sklearn.linear_model import LinearRegression

    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(TypeError, match="explain: model must be a tree, a forest or boosted trees; got LinearReg"):
        explain(LinearRegression().fit(X, y), X)
