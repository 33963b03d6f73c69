"""Shapley values through any model against the definition, summed over all coalitions by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from margin.interpretation import TableColumns, partial_dependence, permutation_importance, shapley_values
from margin.trees import RandomForestRegressor
from margin.trees.shap import shapley_by_enumeration


def wavy(rows):
    return np.sin(rows[:, 0]) * rows[:, 1] + rows[:, 2] ** 2 - rows[:, 3] * rows[:, 0]


def by_definition(predict, x, background):
    def value(known):
        rows = background.copy()
        rows[:, list(known)] = x[list(known)]
        return predict(rows).mean(axis=0)

    return shapley_by_enumeration(value, len(x))


@pytest.fixture
def rows():
    rng = np.random.default_rng(7)
    return rng.normal(size=(3, 4)), rng.normal(size=(6, 4))


@pytest.mark.parametrize("options", [{"method": "exact"}, {"method": "kernel", "n_samples": 14}])
def test_all_coalitions_give_the_definition(rows, options):
    X, background = rows
    found = shapley_values(wavy, X, background, **options)
    for i, x in enumerate(X):
        np.testing.assert_allclose(found.values[i, :, 0], by_definition(wavy, x, background), atol=1e-12)
    np.testing.assert_allclose(found.predictions[:, 0], wavy(X), atol=1e-12)
    np.testing.assert_allclose(found.expected, wavy(background).mean())


def test_several_outputs_and_a_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = RandomForestRegressor(5, random_state=0).fit(X, X[:, 0] * X[:, 1])

    def two(rows):
        return np.column_stack([model.predict(rows), rows.sum(axis=1)])

    found = shapley_values(two, X[:2], X[10:20], method="exact")
    assert found.values.shape == (2, 3, 2)
    np.testing.assert_allclose(found.values[1], by_definition(two, X[1], X[10:20]), atol=1e-12)
    np.testing.assert_allclose(found.values[0, :, 1], X[0] - X[10:20].mean(axis=0))


def test_orders_add_up_and_come_near(rows):
    X, background = rows
    found = shapley_values(wavy, X, background, method="permutation", n_samples=12, random_state=0)
    np.testing.assert_allclose(found.predictions[:, 0], wavy(X), atol=1e-12)  # whatever was drawn
    np.testing.assert_allclose(found.expected, wavy(background).mean())  # six pairs, six background rows
    many = shapley_values(wavy, X, background, method="permutation", n_samples=6000, random_state=1)
    error = np.abs(many.values - shapley_values(wavy, X, background, method="exact").values).max()
    assert error < 0.1  # about five standard errors
    some = shapley_values(wavy, X, background, method="kernel", n_samples=10, random_state=0)
    np.testing.assert_allclose(some.predictions[:, 0], wavy(X), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", ["permutation", "kernel"])
def test_an_additive_model_is_exact_whatever_was_drawn(method, seed):
    """A column adds the same in every order: sampling has no error left to make, but for the start rows."""
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(4, 12)), rng.normal(size=(5, 12))
    weights = rng.normal(size=12)
    found = shapley_values(lambda r: r @ weights, X, background, method=method, n_samples=40, random_state=seed)
    np.testing.assert_allclose(found.values[:, :, 0], (X - background.mean(axis=0)) * weights, atol=1e-10)


def test_a_pipeline_is_asked_through_its_own_columns():
    rng = np.random.default_rng(3)
    n = 200
    frame = pd.DataFrame({"size": rng.normal(size=n), "town": rng.choice(["n", "s", "w"], size=n), "noise": 0.0})
    frame["big"] = pd.Categorical(np.where(frame["size"] > 1, "yes", "no"))
    y = (frame["size"] + 2.0 * (frame["town"] == "n") > 0.5).to_numpy()
    encode = ColumnTransformer([("labels", OneHotEncoder(), ["town", "big"])], remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression()).fit(frame, y)

    def chance(rows):
        return model.predict_proba(rows)[:, 1]

    found = shapley_values(chance, frame[:5], frame[50:60], random_state=0)
    np.testing.assert_allclose(found.predictions[:, 0], chance(frame[:5]))
    assert np.abs(found.values[:, 2]).max() < 1e-12, "a constant column is worth nothing"
    drops = permutation_importance(model, frame, y, random_state=0)
    assert drops[[0, 1]].min() > 0.1 > abs(drops[2]).max()
    by_town = partial_dependence(chance, frame, [1], np.array(["n", "s"], dtype=object))
    moved = [chance(frame.assign(town=town)).mean() for town in ("n", "s")]
    np.testing.assert_allclose(by_town, moved)
    joined = TableColumns(frame).over_values(1, ["n", "s"])
    pd.testing.assert_frame_equal(joined[n:].reset_index(drop=True), frame.assign(town="s"))
    kept = TableColumns(frame).with_values({3: "yes"})
    pd.testing.assert_series_equal(kept.dtypes, frame.dtypes)


def test_what_shapley_values_refuses():
    X = np.zeros((2, 17))
    with pytest.raises(ValueError, match="at most 16 columns; got 17"):
        shapley_values(lambda r: r[:, 0], X, X, method="exact")
    with pytest.raises(ValueError, match="method must be one of"):
        shapley_values(lambda r: r[:, 0], X, X, method="tree")
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1"):
        shapley_values(lambda r: r[:, 0], X, X, n_samples=0)
    with pytest.raises(ValueError, match="must have rows"):
        shapley_values(lambda r: r[:, 0], X, X[:0])
    with pytest.raises(ValueError, match="one number or several per row"):
        shapley_values(lambda r: 1.0, X, X, method="kernel")
