"""Missing values and categories as networks for tables read them."""

import numpy as np
import pandas as pd
import pytest

import margin
from margin.neural.robust_scaling import RobustScaling
from margin.neural.table_inputs import TableInputs

RNG = np.random.default_rng(0)
N = 200
FRAME = pd.DataFrame(
    {"size": RNG.normal(size=N), "town": RNG.choice(["Bern", "Genf", "Zug"], N), "age": RNG.normal(size=N)}
)
FRAME.loc[FRAME.index[::4], "age"] = np.nan
# What is missing says something, and so do the towns.
PRICE = 3.0 * FRAME["age"].isna() + 2.0 * (FRAME["town"] == "Zug") + 0.1 * FRAME["size"]
OPTIONS = {"n_networks": 2, "random_state": 0}


def test_what_is_missing_and_where_it_is_counts(tmp_path):
    model = margin.TabularNetRegressor(**OPTIONS).fit(FRAME, PRICE)
    assert model.score(FRAME, PRICE) > 0.98
    assert model.categories_ == {1: ["Bern", "Genf", "Zug"]}
    assert model.missing_.tolist() == [False, False, True]
    assert model.network_["sizes"][0] == 2 + 1 + 3
    again = margin.load(margin.save(model, tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(again.predict(FRAME), model.predict(FRAME))
    new = pd.DataFrame({"size": [np.nan, 0.0], "town": ["Rom", None], "age": [0.0, np.nan]})
    assert np.isfinite(model.predict(new)).all()
    classifier = margin.TabularNetClassifier(**OPTIONS).fit(FRAME, PRICE > 2)
    assert classifier.score(FRAME, PRICE > 2) > 0.9


def test_numbers_are_categories_where_the_user_says_so():
    codes = RNG.integers(3, 6, N)
    X = np.stack([FRAME["size"], codes], axis=1)
    y = (codes == 4) * 2.0  # neither rises nor falls with the code
    model = margin.TabularNetRegressor(categorical_features=[1], max_iter=15, **OPTIONS).fit(X, y)
    assert model.score(X, y) > 0.9
    np.testing.assert_array_equal(model.categories_[1], [3, 4, 5])


def test_a_table_without_gaps_is_read_as_it_always_was():
    X = RNG.normal(size=(30, 3)) * [1, 100, 0.1]
    scaling = RobustScaling.of(X)
    inputs = TableInputs.of(X, {})
    assert inputs.plain
    np.testing.assert_array_equal(inputs.apply(X), scaling.apply(X))
    gaps = X.copy()
    gaps[::3, 1] = np.nan
    rest = RobustScaling.of(np.delete(gaps, np.arange(0, 30, 3), axis=0))
    assert TableInputs.of(gaps, {}).scaling.center[1] == rest.center[1]


def test_infinite_numbers_and_gradients_of_gaps_are_refused():
    with pytest.raises(ValueError, match="infinity"):
        margin.TabularNetRegressor(**OPTIONS).fit([[1.0], [np.inf]], [0.0, 1.0])
    model = margin.TabularNetRegressor(**{**OPTIONS, "max_iter": 1}).fit(FRAME, PRICE)
    with pytest.raises(TypeError, match="have no gradients"):
        model.differentiable(FRAME)


@pytest.mark.parametrize(("name", "value"), [("missing_", [True, True, True]), ("categories_", {1: ["Bern"]})])
def test_a_file_whose_columns_do_not_fit_its_network_is_refused(name, value, tmp_path):
    model = margin.TabularNetRegressor(**{**OPTIONS, "max_iter": 1}).fit(FRAME, PRICE)
    setattr(model, name, np.array(value) if name == "missing_" else value)
    with pytest.raises(Exception, match="network_ must begin with what is read of the columns"):
        margin.load(margin.save(model, tmp_path / "model.safetensors"))
