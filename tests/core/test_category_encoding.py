"""Columns of strings in trees, forests and boosting: the same models as with numbers in their place."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from margin import store
from margin.core.category_encoding import encode_strings, find_string_categories
from margin.trees import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from margin.trees.shap import explain

COLORS = ["blue", "green", "red", "white"]
MODELS = [
    DecisionTreeClassifier(random_state=0),
    ExtraTreesClassifier(5, random_state=0),
    RandomForestClassifier(5, random_state=0),
    HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=5),
]


def frames(seed=0, n=300):
    """A table with strings, the same with their codes as numbers, and classes."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, len(COLORS), n).astype(float)
    size = rng.normal(size=n)
    y = np.where(np.isin(place, [0, 2]) ^ (size > 0.8), "yes", "no")
    missing = rng.uniform(size=n) < 0.1
    strings = np.array(COLORS, dtype=object)[place.astype(int)]
    strings[missing], place[missing] = None, np.nan
    return pd.DataFrame({"size": size, "color": strings}), pd.DataFrame({"size": size, "color": place}), y


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("kind", ["object", "category", "string"])
@pytest.mark.parametrize("given", ["from_dtype", ["color"], [1], [False, True]], ids=str)
def test_strings_are_the_categories_that_numbers_would_be(model, kind, given):
    strings, numbers, y = frames()
    strings["color"] = strings["color"].astype(kind)
    named = clone(model).set_params(categorical_features=given).fit(strings, y)
    coded = clone(model).set_params(categorical_features=["color"]).fit(numbers, y)
    np.testing.assert_array_equal(named.predict_proba(strings), coded.predict_proba(numbers))
    assert named.category_names_ == {1: COLORS}
    assert coded.category_names_ == {}
    assert (named.predict(strings) == y).mean() > 0.9


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_category_that_training_did_not_see_is_missing(model):
    strings, _, y = frames()
    fitted = clone(model).fit(strings, y)
    strange, empty = strings.copy(), strings.copy()
    strange["color"], empty["color"] = "turquoise", None
    np.testing.assert_array_equal(fitted.predict_proba(strange), fitted.predict_proba(empty))


def test_an_array_of_objects_needs_to_be_told_which_columns_are_strings():
    strings, numbers, y = frames()
    array = strings.to_numpy(dtype=object)
    model = DecisionTreeClassifier(categorical_features=[1], random_state=0).fit(array, y)
    coded = DecisionTreeClassifier(categorical_features=[1], random_state=0).fit(numbers.to_numpy(), y)
    np.testing.assert_array_equal(model.predict_proba(array), coded.predict_proba(numbers.to_numpy()))
    with pytest.raises(ValueError, match="could not convert string to float"):
        DecisionTreeClassifier().fit(array, y)


def test_columns_of_strings_that_are_not_chosen_are_refused():
    strings, _, y = frames()
    with pytest.raises(ValueError, match="could not convert string to float"):
        HistGradientBoostingClassifier(max_iter=5, categorical_features=["size"]).fit(strings, y)


def test_objects_that_are_numbers_stay_numbers():
    frame = pd.DataFrame({"a": np.arange(4.0).astype(object), "b": [1, 2, 3, 4]})
    X, categorical, strings = find_string_categories("Tree", frame, "from_dtype")
    assert not categorical.any()
    assert strings == {}
    assert X is frame


def test_the_order_of_rows_does_not_number_the_categories():
    strings, _, _ = frames()
    there = find_string_categories("Tree", strings, "from_dtype")
    back = find_string_categories("Tree", strings.iloc[::-1], "from_dtype")
    assert there[2] == back[2]
    np.testing.assert_array_equal(there[0]["color"], back[0]["color"].iloc[::-1])


def test_the_given_frame_is_not_changed():
    strings, _, y = frames()
    before = strings.copy()
    DecisionTreeClassifier().fit(strings, y).predict(strings)
    encode_strings(strings, {1: COLORS})
    pd.testing.assert_frame_equal(strings, before)


def test_a_tree_speaks_in_strings():
    strings, _, y = frames()
    model = DecisionTreeClassifier(max_depth=2).fit(strings, y)
    assert "color in {blue, red}" in model.to_text()
    steps = model.explain(strings.iloc[[0]])
    assert {step["value"] for step in steps if step["rule"].startswith("color")} == {strings["color"][0]}


def test_attributions_of_strings_add_up():
    strings, _, _ = frames()
    target = strings["size"].to_numpy() + strings["color"].eq("red").to_numpy()
    for model in (DecisionTreeRegressor(max_depth=4), HistGradientBoostingRegressor(max_iter=8)):
        fitted = model.fit(strings, target)
        np.testing.assert_allclose(explain(fitted, strings).predictions[:, 0], fitted.predict(strings), atol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_stored_model_still_knows_its_strings(model, tmp_path):
    strings, _, y = frames()
    fitted = clone(model).fit(strings, y)
    store.save(fitted, tmp_path / "model")
    again = store.load(tmp_path / "model")
    assert again.category_names_ == {1: COLORS}
    np.testing.assert_array_equal(again.predict_proba(strings), fitted.predict_proba(strings))


def test_a_resumed_fit_on_strings_gives_the_same_bits():
    strings, _, y = frames()
    whole = HistGradientBoostingClassifier(max_iter=8, random_state=0).fit(strings, y)
    part = HistGradientBoostingClassifier(max_iter=8, random_state=0)
    for record in part.iterate(strings, y):
        if record.iteration == 3:
            break
    state, rest = part.get_state(), HistGradientBoostingClassifier(max_iter=8, random_state=0)
    for _ in rest.iterate(strings, y, state=state):
        pass
    np.testing.assert_array_equal(rest.predict_proba(strings), whole.predict_proba(strings))


def test_every_spelling_of_missing_in_an_array_is_missing():
    X = np.array([["red", 1.0], [pd.NA, 2.0], [None, 3.0], [np.nan, 4.0], ["blue", 5.0]], dtype=object)
    coded, _, strings = find_string_categories("Tree", X, [True, False])
    assert strings == {0: ["blue", "red"]}
    assert np.isnan(coded[1:4, 0].astype(float)).all()
    model = DecisionTreeClassifier(categorical_features=[0]).fit(X, [0, 1, 1, 1, 0])
    assert model.predict(X).tolist() == [0, 1, 1, 1, 0]
