"""C4.5: published trees and numbers, brute force, each base case, missing values, costs, pruning."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

import margin
from margin.core.parameters import parse_settings
from margin.trees import C45, best_threshold, error_based_pruning, gain_ratio, information_gain, upper_error_rate
from margin.trees.multiway.category_tree import GrowingTree

# The golf table with numbers, as in Quinlan's book.
GOLF = pd.DataFrame(
    {
        "outlook": ["sunny"] * 5 + ["overcast"] * 4 + ["rain"] * 5,
        "temperature": [75, 80, 85, 72, 69, 72, 83, 64, 81, 71, 65, 75, 68, 70],
        "humidity": [70, 90, 85, 95, 70, 90, 78, 65, 75, 80, 70, 80, 80, 96],
        "windy": [True, True, False, False, False, True, False, True, False, True, True, False, False, False],
    }
)
PLAY = np.array(["yes", "no", "no", "no", "yes", "yes", "yes", "yes", "yes", "no", "no", "yes", "yes", "yes"])


def test_the_published_golf_tree():
    assert C45().fit(GOLF, PLAY).text().splitlines() == [
        "outlook = overcast: yes (4)",
        "outlook = rain",
        "|   windy <= 0.5: yes (3)",
        "|   windy > 0.5: no (2)",
        "outlook = sunny",
        "|   humidity <= 77.5: yes (2)",
        "|   humidity > 77.5: no (3)",
    ]


def test_the_published_golf_tree_with_a_missing_outlook():
    """The book's example: the day counts 3/13, 5/13 and 5/13; a sunny day of unknown humidity is 44 % yes."""
    golf = GOLF.astype({"outlook": object})
    golf.loc[5, "outlook"] = "?"
    model = C45(confidence=None).fit(golf, PLAY)
    tree = model.tree_
    assert model.names.columns[tree["feature"][0]] == "outlook"
    assert tree["gain"][0] == pytest.approx(0.199, abs=5e-4)
    np.testing.assert_allclose(tree["value"][1:4].sum(axis=1), [3 + 3 / 13, 5 + 5 / 13, 5 + 5 / 13])
    assert "|   humidity > 77.5: no (3.38462/0.384615)" in model.text()
    day = pd.DataFrame({"outlook": ["sunny"], "temperature": [70], "humidity": [np.nan], "windy": [False]})
    assert model.predict_proba(day)[0, 1] == pytest.approx(0.44, abs=5e-3)
    assert model.predict(day) == ["no"]


def test_base_case_one_class():
    model = C45().fit([["a", 1], ["b", 2]], ["x", "x"])
    assert model.text() == "x (2)"
    assert model.predict([["c", None]]) == ["x"]


def test_base_case_no_gain():
    X, y = [["a", 1], ["a", 1], ["b", 1], ["b", 1], ["a", 1], ["b", 1]], [0, 1, 0, 1, 1, 1]
    model = C45(min_samples_leaf=0, confidence=None).fit(X, y)
    assert model.text() == "1 (6/2)"


def test_base_case_unseen_value():
    model = C45(confidence=None).fit(GOLF, PLAY)
    day = GOLF.iloc[:1].assign(outlook="snow")
    np.testing.assert_allclose(model.predict_proba(day), [[5 / 14, 9 / 14]])


def naive_split(X, y, numeric, min_leaf):
    """The column to ask, from the pure functions alone, without missing values."""
    options = []
    for j in range(X.shape[1]):
        if numeric[j]:
            cut, gain, _ = best_threshold(X[:, j], y, criterion="gain", min_samples_leaf=min_leaf)
            cuts = len(np.unique(X[:, j])) - 1
            gain = gain - np.log2(cuts) / len(y) if not np.isnan(cut) else 0.0
            side = X[:, j] <= cut
            ratio = gain_ratio(y, side) * gain / information_gain(y, side) if gain > 1e-10 else 0.0
        else:
            cut, gain, ratio = np.nan, information_gain(y, X[:, j]), gain_ratio(y, X[:, j])
            if np.count_nonzero(np.unique(X[:, j], return_counts=True)[1] >= min_leaf) < 2:
                gain = 0.0
        if gain > 1e-10:
            options.append((j, cut, gain, ratio))
    if not options:
        return None
    average = np.mean([gain for _, _, gain, _ in options])
    eligible = [option for option in options if option[2] >= average - 1e-10]
    best = max(ratio for *_, ratio in eligible)
    return next(option for option in eligible if option[3] >= best - 1e-10)


def naive_shares(X, y, numeric, min_leaf, row, n_classes):
    """Follow one row down a tree that is grown on the way."""
    while len(np.unique(y)) > 1:
        split = naive_split(X, y, numeric, min_leaf)
        if split is None:
            break
        j, cut, _, _ = split
        same = X[:, j] == row[j] if np.isnan(cut) else (X[:, j] <= cut) == (row[j] <= cut)
        if not same.any():
            break
        X, y = X[same], y[same]
    return np.bincount(y, minlength=n_classes) / len(y)


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 5]))
@settings(max_examples=12, deadline=None)
def test_growth_against_the_naive_recursion(seed, min_leaf):
    rng = np.random.default_rng(seed)
    n, numeric = 40, [True, False, True]
    X = np.column_stack([rng.integers(8, size=n), rng.integers(3, size=n), rng.normal(size=n)])
    y = rng.integers(3, size=n)
    model = C45(min_samples_leaf=min_leaf, confidence=None, categorical_features=[1]).fit(X, y)
    new = np.column_stack([rng.integers(8, size=15), rng.integers(4, size=15), rng.normal(size=15)])
    y = np.searchsorted(model.classes_, y)
    for row, shares in zip(new, model.predict_proba(new)):
        np.testing.assert_allclose(shares, naive_shares(X, y, numeric, min_leaf, row, len(model.classes_)), atol=1e-12)


def spread(model, node, row):
    """What a row is told below a node, by recursion: missing values ask all children."""
    tree = model.tree_
    feature = tree["feature"][node]
    value = tree["value"][node] / tree["value"][node].sum()
    if feature < 0:
        return value
    below = range(tree["first_child"][node], tree["first_child"][node] + tree["n_children"][node])
    if np.isnan(row[feature]):
        weights = np.array([tree["value"][child].sum() for child in below])
        return sum(w / weights.sum() * spread(model, child, row) for w, child in zip(weights, below))
    cut = tree["threshold"][node]
    branch = row[feature] > cut if not np.isnan(cut) else row[feature]
    return next((spread(model, child, row) for child in below if tree["branch"][child] == branch), value)


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_prediction_with_missing_values_against_recursion(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=60), rng.integers(3, size=60), rng.normal(size=60)])
    X[rng.random(X.shape) < 0.2] = np.nan
    model = C45(min_samples_leaf=1, confidence=None, categorical_features=[1]).fit(X, rng.integers(2, size=60))
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    codes = X.copy()  # categories 0, 1, 2 are their own codes
    for row, told in zip(codes, shares):
        np.testing.assert_allclose(told, spread(model, 0, row), atol=1e-12)


def test_weight_is_kept_when_rows_with_missing_values_are_divided():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    X[rng.random(X.shape) < 0.3] = np.nan
    tree = C45(confidence=None, min_samples_leaf=1, threshold_penalty=False).fit(X, y).tree_
    assert tree["value"][tree["n_children"] == 0].sum() == pytest.approx(200, abs=1e-9)
    assert len(tree["feature"]) > 10


def test_rows_of_which_nothing_is_known_get_the_shares_of_training():
    X, y = load_iris(return_X_y=True)
    model = C45(confidence=None).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(np.full((1, 4), np.nan)), [[1 / 3] * 3], atol=1e-12)


def test_a_column_that_is_all_missing_is_never_asked():
    X = np.column_stack([np.full(20, np.nan), np.arange(20.0)])
    tree = C45().fit(X, np.arange(20) > 9).tree_
    assert tree["feature"].tolist() == [1, -1, -1]
    empty = pd.DataFrame({"a": [None] * 4, "b": [1, 2, 5, 6]})
    assert C45().fit(empty, [0, 0, 1, 1]).predict(pd.DataFrame({"a": ["word"], "b": [6]})) == [1]


@pytest.mark.parametrize(("costs", "asked"), [(None, 0), ({"a": 2.0}, 1), ({0: 2.0}, 1), ({"b": 1.5, "a": 1.2}, 0)])
def test_costs_settle_ties(costs, asked):
    frame = pd.DataFrame({"a": np.arange(20.0), "b": np.arange(20.0)})
    assert C45(costs=costs).fit(frame, np.arange(20) > 9).tree_["feature"][0] == asked


def test_an_expensive_attribute_must_tell_more():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    rough, junk = np.where(rng.random(200) < 0.1, 1 - y, y), rng.integers(2, size=(200, 2))
    X = np.column_stack([y, rough, junk])
    asked = [int(C45(costs=costs).fit(X, y).tree_["feature"][0]) for costs in (None, {0: 1.5}, {0: 10.0})]
    assert asked == [0, 0, 1]


def test_the_gain_ratio_passes_over_an_identifier():
    rng = np.random.default_rng(0)
    identifier, told = np.arange(100), rng.integers(2, size=100)
    y = np.where(rng.random(100) < 0.1, 1 - told, told)
    X = np.column_stack([identifier, told])
    model = C45(categorical_features=[0, 1], min_samples_leaf=1).fit(X, y)
    assert information_gain(y, identifier) > information_gain(y, told)
    assert model.tree_["feature"][0] == 1


@given(st.integers(0, 8), st.integers(1, 12), st.floats(0.01, 0.9))
@settings(max_examples=60, deadline=None)
def test_upper_error_rate_is_where_so_few_errors_have_the_given_probability(errors, more, confidence):
    rate = float(upper_error_rate(errors, errors + more, confidence))
    assert binom.cdf(errors, errors + more, rate) == pytest.approx(confidence, abs=1e-9)


def test_upper_error_rates_of_the_book():
    """Three pure leaves of 6, 9 and 1 rows: 3.273 errors are expected, more than of one leaf of 16 with one error."""
    rates = upper_error_rate([0, 0, 0], [6, 9, 1])
    assert rates == pytest.approx([0.206, 0.143, 0.750], abs=5e-4)
    assert rates @ [6, 9, 1] == pytest.approx(3.273, abs=5e-3)
    growing = GrowingTree.root(np.array([15.0, 1.0]))
    growing.split(0, 0, np.nan, 0.1, np.arange(3), np.array([[6.0, 0], [9, 0], [0, 1]]))
    assert error_based_pruning(growing.tree())["n_children"].tolist() == [0]
    assert upper_error_rate(3, 3) == 1.0


def test_pruning_keeps_what_pays_and_cuts_what_does_not():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.integers(2, size=400)
    noise = {"threshold_penalty": False, "min_samples_leaf": 1}
    assert C45(confidence=None, **noise).fit(X, y).get_n_leaves() > 80
    assert C45(confidence=0.01, **noise).fit(X, y).get_n_leaves() < 20
    leaves = [C45(confidence=c, **noise).fit(X, y).get_n_leaves() for c in (0.01, 0.1, 0.25, 0.5, 0.9)]
    assert leaves == sorted(leaves)
    clear = (X[:, 0] > 0).astype(int)
    assert C45().fit(X, clear).get_n_leaves() == 2


def test_pruning_does_not_hurt_on_noisy_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 6))
    y = (X[:, 0] > 0) ^ (rng.random(1200) < 0.2)
    grown = C45(confidence=None, threshold_penalty=False, min_samples_leaf=1).fit(X[:600], y[:600])
    pruned = C45(confidence=0.1, threshold_penalty=False, min_samples_leaf=1).fit(X[:600], y[:600])
    assert pruned.get_n_leaves() < grown.get_n_leaves() / 2
    assert pruned.score(X[600:], y[600:]) > grown.score(X[600:], y[600:])


def test_a_weight_of_k_is_k_rows():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(80, 3)).round(1), rng.integers(0, 4, size=80)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    weighted = C45().fit(X, y, weights)
    repeated = C45().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    for name in weighted.tree_:
        np.testing.assert_allclose(weighted.tree_[name], repeated.tree_[name], atol=1e-12)


@pytest.mark.parametrize("loader", [load_iris, load_wine, load_breast_cancer])
def test_as_accurate_as_scikit_learns_tree(loader):
    X, y = loader(return_X_y=True)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    ours = cross_val_score(C45(), X, y, cv=folds).mean()
    peer = cross_val_score(DecisionTreeClassifier(criterion="entropy", random_state=0), X, y, cv=folds).mean()
    assert ours > peer - 0.025


def test_ten_percent_missing_cost_a_few_points():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    holed = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert cross_val_score(C45(), holed, y, cv=folds).mean() > cross_val_score(C45(), X, y, cv=folds).mean() - 0.05


def test_parameters_of_the_threshold_act():
    X, y = load_wine(return_X_y=True)
    by_gain, by_ratio = (C45(threshold_criterion=c, confidence=None).fit(X, y) for c in ("gain", "gain_ratio"))
    assert by_gain.text() != by_ratio.text()
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(60, 3)), rng.integers(2, size=60)
    fined, free = (C45(threshold_penalty=p, confidence=None).fit(noise, labels) for p in (True, False))
    assert fined.get_n_leaves() < free.get_n_leaves()
    assert C45(max_depth=1).fit(X, y).get_depth() == 1


def test_every_kind_of_column():
    n = 40
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "word": pd.Series(rng.choice(["a", "b"], n), dtype="string"),
            "level": pd.Categorical(rng.integers(3, size=n)),
            "count": pd.array(rng.integers(9, size=n), dtype="Int64"),
            "flag": pd.array(rng.random(n) < 0.5, dtype="boolean"),
            "mixed": [1, "?", 3.5, None] * 10,
            "number": rng.normal(size=n),
        }
    )
    frame.loc[3, ["word", "count", "flag"]] = pd.NA
    y = (frame["number"] > 0) & (frame["level"].astype(int) > 0)
    model = C45(min_samples_leaf=1, confidence=None).fit(frame, y)
    assert sorted(model.categories_) == [0, 1]  # the others are numbers, the marks "?" among them missing
    assert model.score(frame, y) > 0.95
    assert (model.predict(frame) == model.predict(frame.iloc[::-1])[::-1]).all()


def test_named_columns_of_numbers_can_be_categories():
    frame = pd.DataFrame({"zip": [1, 2, 3] * 10, "age": np.arange(30.0)})
    y = frame["zip"] == 2
    for named in (["zip"], [0]):
        model = C45(categorical_features=named).fit(frame, y)
        assert model.tree_["n_children"][0] == 3
        assert model.text().splitlines()[1] == "zip = 2: True (10)"
    assert C45().fit(frame, y).tree_["n_children"][0] == 2


def test_rules_say_only_the_tightest_bound():
    x = np.arange(40.0)
    model = C45(min_samples_leaf=1, confidence=None).fit(x[:, None], (x > 9) & (x < 20))
    assert sorted(model.rules()) == [
        "if x0 <= 19.5 and x0 > 9.5 then True (10)",
        "if x0 <= 9.5 then False (10)",
        "if x0 > 19.5 then False (20)",
    ]


def test_saved_and_loaded_with_words_and_costs(tmp_path):
    model = C45(costs={"humidity": 2.0}).fit(GOLF, PLAY)
    margin.save(model, tmp_path / "golf.safetensors")
    again = margin.load(tmp_path / "golf.safetensors")
    assert again.text() == model.text()
    holed = GOLF.astype(object).mask(np.random.default_rng(0).random(GOLF.shape) < 0.3)
    np.testing.assert_array_equal(again.predict_proba(holed), model.predict_proba(holed))


def test_costs_on_the_command_line():
    assert parse_settings(C45, ['costs={"age": 2}', "confidence=none"]) == {"costs": {"age": 2}, "confidence": None}
    with pytest.raises(ValueError, match=r"C45: costs: .* is not None or a dict"):
        parse_settings(C45, ["costs=3"])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"costs": {"wind": 2.0}}, "C45: costs names 'wind', which is no column of X"),
        ({"costs": {7: 2.0}}, "C45: costs names 7, which is no column of X"),
        ({"categorical_features": ["wind"]}, "C45: categorical_features names 'wind'"),
        ({"costs": {"windy": 0}}, "C45: costs must be None or a dict from columns to costs above 0"),
    ],
)
def test_a_column_that_is_not_there_is_named(params, words):
    with pytest.raises(ValueError, match=words):
        C45(**params).fit(GOLF, PLAY)


def test_bad_cells_are_named():
    with pytest.raises(ValueError, match="infinity"):
        C45().fit([[np.inf], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"C45: column 0 of X held numbers in training; got 'many'\."):
        C45().fit([[1.0], [2.0]], [0, 1]).predict([["many"]])
    with pytest.raises(ValueError, match="upper_error_rate: errors must lie"):
        upper_error_rate(3, 2)
    with pytest.raises(ValueError, match="upper_error_rate: confidence must lie between 0 and 1; got 1"):
        upper_error_rate(1, 2, 1)


@pytest.mark.parametrize("call", ["text", "rules", "get_depth", "get_n_leaves"])
def test_nothing_is_said_before_fit(call):
    with pytest.raises(NotFittedError):
        getattr(C45(), call)()
