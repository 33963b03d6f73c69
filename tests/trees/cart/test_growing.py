"""Every split against brute force: criteria, missing values, categories, weights, limits, monotone columns."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margin.trees import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreesRegressor
from margin.trees.cart.column_codes import binned_codes, exact_codes
from margin.trees.cart.growing import grow_tree
from margin.trees.cart.growth_limits import growth_rules
from margin.trees.cart.training_data import training_data


def impurity(kind, y, w):
    if not w.sum():
        return 0.0
    if kind in ("gini", "entropy"):
        shares = np.array([w[y == c].sum() for c in np.unique(y)]) / w.sum()
        shares = shares[shares > 0]
        return 1 - (shares**2).sum() if kind == "gini" else -(shares * np.log2(shares)).sum()
    if kind == "squared_error":
        return float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
    return min(float(np.average(np.abs(y - m), weights=w)) for m in y)


def decrease(kind, y, w, left):
    after = sum(w[side].sum() * impurity(kind, y[side], w[side]) for side in (left, ~left))
    return w.sum() * impurity(kind, y, w) - after


def brute_best(kind, X, y, w, categorical=()):
    """The largest decrease over all thresholds, all subsets of categories, and both sides for missing values."""
    best = -np.inf
    for j, x in enumerate(X.T):
        known = np.unique(x[~np.isnan(x)])
        if j in categorical:
            sides = [np.isin(x, chosen) for r in range(len(known) + 1) for chosen in itertools.combinations(known, r)]
        else:
            sides = [x <= t for t in known]
        for side in sides:
            for missing_left in (False, True):
                left = np.where(np.isnan(x), missing_left, side)
                if 0 < left.sum() < len(x):
                    best = max(best, decrease(kind, y, w, left))
    return best


def rows_left_of_the_root(model, X):
    assert model.tree_["feature"][0] >= 0
    return model.decision_path(X)[:, [int(model.tree_["left"][0])]].toarray()[:, 0] == 1


KINDS = ["gini", "entropy", "squared_error", "absolute_error"]


def stump(kind, **params):
    cls = DecisionTreeClassifier if kind in ("gini", "entropy") else DecisionTreeRegressor
    return cls(criterion=kind, max_depth=1, **params)


@pytest.mark.parametrize("max_bins", [None, 255])
@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10_000))
def test_the_root_split_is_the_best_of_all(kind, max_bins, seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 40)), int(rng.integers(2, 4))
    X = np.column_stack([rng.integers(0, 6, n), rng.standard_normal(n).round(1), rng.integers(0, 4, n)]).astype(float)
    X[rng.uniform(size=X.shape) < rng.choice([0.0, 0.25])] = np.nan
    y = rng.integers(0, k, n) if kind in ("gini", "entropy") else rng.standard_normal(n).round(2)
    w = rng.integers(1, 4, n).astype(float) if rng.uniform() < 0.5 else rng.uniform(0.2, 2, n)
    # With more than two classes (and for medians) the best subset of categories may lie outside every order tried.
    categorical = [2] if (kind in ("gini", "entropy") and k == 2) or kind == "squared_error" else []
    best = brute_best(kind, X, y, w, categorical)
    model = stump(kind, categorical_features=categorical or None, max_bins=max_bins).fit(X, y, sample_weight=w)
    if not np.isfinite(best) or impurity(kind, y, w) == 0:
        assert model.get_n_leaves() == 1
        return
    found = decrease(kind, y, w, rows_left_of_the_root(model, X))
    assert found == pytest.approx(best, abs=1e-9 * max(1, abs(best)))


@pytest.mark.parametrize("kind", KINDS)
def test_exact_codes_and_bins_give_the_same_tree_where_bins_are_exact(kind):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 200, 3000), rng.normal(size=3000).round(1), rng.integers(0, 12, 3000)])
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) / 100 + np.isin(X[:, 2], [1, 3, 8]) + 0.5 * rng.normal(size=3000)
    y = (y > 1.5).astype(int) + (y > 2.5) if kind in ("gini", "entropy") else y
    w = rng.uniform(0.5, 2, 3000)
    cls = DecisionTreeClassifier if kind in ("gini", "entropy") else DecisionTreeRegressor
    trees = [
        cls(criterion=kind, max_bins=bins, categorical_features=[2], min_samples_leaf=3)
        .fit(X, y, sample_weight=w)
        .tree_
        for bins in (None, 255)
    ]
    assert len(trees[0]["feature"]) > 50
    for name in trees[0]:
        np.testing.assert_array_equal(trees[0][name], trees[1][name], err_msg=name)


def test_many_bins_of_many_values_cost_little_accuracy():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((8000, 5))
    y = (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.standard_normal(8000) > 1).astype(int)
    scores = [
        DecisionTreeClassifier(max_bins=bins, min_samples_leaf=20).fit(X[:5000], y[:5000]).score(X[5000:], y[5000:])
        for bins in (None, 255)
    ]
    assert abs(scores[0] - scores[1]) < 0.015


@pytest.mark.parametrize("kind", ["gini", "squared_error"])
def test_weights_are_repeated_rows(kind):
    rng = np.random.default_rng(2)
    X, w = rng.standard_normal((300, 3)), rng.integers(0, 4, 300)
    y = (X[:, 0] > 0).astype(int) if kind == "gini" else X[:, 0] + rng.standard_normal(300)
    cls = DecisionTreeClassifier if kind == "gini" else DecisionTreeRegressor
    weighted = cls(criterion=kind, max_depth=6).fit(X, y, sample_weight=w)
    repeated = cls(criterion=kind, max_depth=6).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-12)


def test_packed_weights_and_class_weights_give_the_same_tree():
    """Integer weights of two classes take the packed path, others the path with one sum per class."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((500, 4))
    y = (X[:, 0] + rng.standard_normal(500) > 0).astype(float)
    codes, model = exact_codes(X, np.zeros(4, dtype=bool)), DecisionTreeClassifier(max_depth=5)
    rules = growth_rules(model, training_data(model, X, y, None, classify=True), random=False)
    packed = grow_tree(codes, y, np.full(500, 3.0), rules, 0)
    plain = grow_tree(codes, y, np.full(500, 0.3), rules, 0)
    for name in ("feature", "threshold", "left", "n_samples"):
        np.testing.assert_array_equal(packed[name], plain[name], err_msg=name)
    np.testing.assert_allclose(packed["value"], plain["value"], rtol=1e-12)
    np.testing.assert_allclose(packed["impurity"], plain["impurity"], atol=1e-12)


def test_limits_of_growth():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((600, 3))
    y = X[:, 0] + rng.standard_normal(600)
    assert DecisionTreeRegressor(max_depth=4).fit(X, y).get_depth() == 4
    assert DecisionTreeRegressor(max_leaf_nodes=9).fit(X, y).get_n_leaves() == 9
    tree = DecisionTreeRegressor(min_samples_leaf=17).fit(X, y).tree_
    assert tree["n_samples"].min() >= 17
    tree = DecisionTreeRegressor(min_samples_split=50).fit(X, y).tree_
    assert tree["n_samples"][tree["feature"] >= 0].min() >= 50
    tree = DecisionTreeRegressor(min_weight_fraction_leaf=0.1).fit(X, y, sample_weight=rng.uniform(size=600)).tree_
    assert tree["weight"].min() >= 0.1 * tree["weight"][0]
    tree = DecisionTreeRegressor(min_impurity_decrease=0.02).fit(X, y).tree_
    inner = np.flatnonzero(tree["feature"] >= 0)
    mass = tree["weight"] * tree["impurity"] / 600
    assert (mass[inner] - mass[tree["left"][inner]] - mass[tree["right"][inner]]).min() >= 0.02 - 1e-12


def test_best_first_growth_takes_the_largest_gains():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 3))
    y = np.where(X[:, 0] > 1, 5.0, 0.0) + 0.3 * (X[:, 1] > 0) + 0.1 * rng.standard_normal(400)
    errors = [np.mean((DecisionTreeRegressor(max_leaf_nodes=k).fit(X, y).predict(X) - y) ** 2) for k in range(2, 12)]
    drops = -np.diff(errors)
    assert np.all(drops >= -1e-12)
    # No order of growth with these leaves explains more: each larger tree contains the smaller one.
    small = DecisionTreeRegressor(max_leaf_nodes=5).fit(X, y).tree_["threshold"]
    large = DecisionTreeRegressor(max_leaf_nodes=9).fit(X, y).tree_["threshold"]
    assert set(small.tolist()) <= set(large.tolist())


@pytest.mark.parametrize("kind", ["gini", "entropy", "squared_error", "absolute_error"])
def test_monotone_columns(kind):
    rng = np.random.default_rng(6)
    X = rng.uniform(-1, 1, size=(500, 3))
    score = np.sin(4 * X[:, 0]) + X[:, 1] + 0.5 * rng.standard_normal(500)
    y = (score > 0).astype(int) if kind in ("gini", "entropy") else score
    cls = DecisionTreeClassifier if kind in ("gini", "entropy") else DecisionTreeRegressor
    model = cls(criterion=kind, monotonic_cst=[1, -1, 0], min_samples_leaf=3).fit(X, y)
    assert model.get_n_leaves() > 5
    line = np.linspace(-1, 1, 60)
    for column, sign in ((0, 1), (1, -1)):
        for row in X[:25]:
            rows = np.tile(row, (60, 1))
            rows[:, column] = line
            said = model.predict_proba(rows)[:, 1] if kind in ("gini", "entropy") else model.predict(rows)
            assert np.all(sign * np.diff(said) >= -1e-12)
    free = cls(criterion=kind, min_samples_leaf=3).fit(X, y)
    rows = np.tile(X[0], (60, 1))
    rows[:, 0] = line
    said = free.predict_proba(rows)[:, 1] if kind in ("gini", "entropy") else free.predict(rows)
    assert np.any(np.diff(said) < 0), "without the constraint it is not monotone"


def test_many_categories_of_three_classes_are_told_apart():
    rng = np.random.default_rng(7)
    X = rng.integers(0, 30, size=(2000, 1)).astype(float)
    y = X[:, 0].astype(int) % 3
    model = DecisionTreeClassifier(categorical_features=[True]).fit(X, y)
    assert model.score(X, y) == 1
    assert model.get_n_leaves() <= 6
    assert DecisionTreeClassifier().fit(X, y).get_n_leaves() == 30


def test_random_splits_lie_between_the_values():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((200, 2))
    X[::7, 1] = np.nan
    y = (X[:, 0] > 0).astype(int)
    roots = [
        DecisionTreeClassifier(splitter="random", random_state=s).fit(X, y).tree_["threshold"][0] for s in range(20)
    ]
    assert len(set(roots)) > 15
    assert min(roots) > np.nanmin(X)
    assert max(roots) < np.nanmax(X)
    assert DecisionTreeClassifier(splitter="random", random_state=1).fit(X, y).score(X, y) == 1


def test_bins_with_few_codes_and_huge_values():
    X = np.array([[-1e308], [1e308], [0.0], [5e-324]])
    model = DecisionTreeRegressor().fit(X, [0.0, 1, 2, 3])
    np.testing.assert_array_equal(model.predict(X), [0, 1, 2, 3])
    assert binned_codes(X, 2, [False], None).codes.max() <= 1


def test_a_large_offset_of_the_target_does_not_blur_the_splits():
    rng = np.random.default_rng(9)
    X = rng.standard_normal((300, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(300)
    plain, moved = (DecisionTreeRegressor(max_depth=4).fit(X, y + shift) for shift in (0.0, 1e9))
    np.testing.assert_array_equal(plain.tree_["feature"], moved.tree_["feature"])
    np.testing.assert_allclose(moved.predict(X) - 1e9, plain.predict(X), atol=1e-6)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"categorical_features": [9]}, "categorical_features has column 9; X has 2 columns"),
        ({"categorical_features": [True]}, "categorical_features has 1 flags; X has 2 columns"),
        ({"categorical_features": ["color"]}, "names 'color', but the columns of X have no names"),
        ({"monotonic_cst": [1]}, "monotonic_cst has 1 entries; X has 2 columns"),
        ({"monotonic_cst": [1, 0], "categorical_features": [0]}, "monotonic_cst must be 0 for categorical columns"),
    ],
)
def test_bad_columns(params, message):
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    with pytest.raises(ValueError, match=message):
        DecisionTreeClassifier(**params).fit(X, y)


def test_other_bad_input():
    X = np.arange(600.0).reshape(300, 2)
    with pytest.raises(ValueError, match="needs at most two classes; got 3"):
        DecisionTreeClassifier(monotonic_cst=[1, 0]).fit(X, np.arange(300) % 3)
    with pytest.raises(ValueError, match="has 300 categories; at most 255"):
        DecisionTreeClassifier(categorical_features=[0]).fit(X, np.arange(300) % 3)
    with pytest.raises(ValueError, match="positive weight; got none"):
        DecisionTreeClassifier(class_weight={0: 0.0}).fit(X, np.zeros(300))
    with pytest.raises(ValueError, match="infinity"):
        DecisionTreeClassifier().fit(np.where(X > 100, np.inf, X), np.arange(300) % 3)
    assert DecisionTreeClassifier().fit(X, np.zeros(300)).predict(X[:2]).tolist() == [0, 0]
    assert DecisionTreeRegressor().fit(np.full((5, 1), np.nan), np.arange(5.0)).predict([[1.0]]) == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_a_random_split_with_missing_values_is_the_one_that_was_scored(kind, seed):
    """Both sides of every split have the rows asked for, also when known values are parted from missing ones."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(size=100), np.full(100, np.nan)])[:, None]
    y = np.where(np.isnan(X[:, 0]), 5.0, X[:, 0])
    y = (y > 1).astype(int) + (y > 4) if kind in ("gini", "entropy") else y
    cls = DecisionTreeClassifier if kind in ("gini", "entropy") else DecisionTreeRegressor
    tree = cls(criterion=kind, splitter="random", min_samples_leaf=80, random_state=seed).fit(X, y).tree_
    assert tree.node_count == 3
    assert tree["n_samples"].min() >= 80
    assert np.isinf(tree.threshold[0])
    assert not tree.missing_go_to_left[0]


def test_random_splits_with_missing_values_stay_monotone():
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.uniform(size=150), np.full(50, np.nan)])[:, None]
    y = -X[:, 0] + 0.1 * rng.normal(size=200)
    y[150:] = rng.normal(size=50)
    model = ExtraTreesRegressor(20, monotonic_cst=[1], random_state=0).fit(X, y)
    assert np.all(np.diff(model.predict(np.linspace(0, 1, 100)[:, None])) >= -1e-12)


def test_fractions_of_rows_are_counts_rounded_up():
    rng = np.random.default_rng(10)
    X = rng.standard_normal((130, 3))
    y = X[:, 0] + rng.standard_normal(130)
    for fraction, count in (
        ({"min_samples_leaf": 0.05}, {"min_samples_leaf": 7}),
        (
            {"min_samples_split": 0.101},
            {"min_samples_split": 14},
        ),
    ):
        ours, same = (DecisionTreeRegressor(**limit).fit(X, y).tree_ for limit in (fraction, count))
        np.testing.assert_array_equal(ours["threshold"], same["threshold"])
    with pytest.raises(ValueError, match="min_samples_split must be"):
        DecisionTreeRegressor(min_samples_split=1).fit(X, y)
    floats = DecisionTreeRegressor(monotonic_cst=[1.0, 0.0, 0.0]).fit(X, y)
    np.testing.assert_array_equal(
        floats.predict(X), DecisionTreeRegressor(monotonic_cst=[1, 0, 0]).fit(X, y).predict(X)
    )
