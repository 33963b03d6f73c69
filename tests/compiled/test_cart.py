"""Kernels of trees: compiled and as they are written, the same bits, in whole fits and walks of small tables."""

import sys
from types import ModuleType

import numpy as np
import pytest
from sklearn.base import clone
from tests.trees.cart.test_walking import awkward_rows, random_tree

import margin.compiled
from margin.trees import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from margin.trees.cart import growing, growing_kernels, keyed_kernels, records_kernels, walking, walking_kernels
from margin.trees.cart.keyed_trees import keyed_trees, walk_rows


class TreeOfRecords(records_kernels.NewTrees):
    """Uncompiled, fields of a node are attributes only in an array of this kind."""

    def __init__(self, nodes):
        super().__init__(nodes.view(np.recarray))


def as_written() -> ModuleType:
    """What stands for ``margin.compiled.cart``."""
    module = ModuleType("cart_as_written")
    module.grow = growing_kernels.grow
    for name in ("CodedColumns", "SplitRules", "PlacedRows", "Search"):
        setattr(module, name, getattr(records_kernels, name))
    module.NewTrees = TreeOfRecords
    module.walk, module.walk_few = walking_kernels.walk, walking_kernels.walk_few
    module.pack_nodes, module.walk_keyed = keyed_kernels.pack_nodes, keyed_kernels.walk_keyed
    return module


@pytest.fixture
def uncompiled(monkeypatch):
    """Call it to go on without compiled kernels."""

    def switch():
        module = as_written()
        monkeypatch.setitem(sys.modules, "margin.compiled.cart", module)
        monkeypatch.setattr(margin.compiled, "cart", module, raising=False)

    with np.errstate(all="ignore"):
        yield switch


def table(n=70, seed=3, missing=False):
    """Two smooth columns, one of few values with ties, one of categories, one that is constant."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 4, n), rng.integers(0, 6, n), np.ones(n)])
    score = X[:, 0] + X[:, 1] ** 2 + np.isin(X[:, 3], [1, 4]) + 0.3 * rng.normal(size=n)
    if missing:
        X[rng.uniform(size=X.shape) < 0.15] = np.nan
    return X, score, rng.exponential(size=n)


def grown(model, X, y, weight):
    model = clone(model).fit(X, y, sample_weight=weight)
    return getattr(model, "trees_", None) or [model.tree_]


def assert_same_trees(ours, others):
    assert len(ours) == len(others)
    assert max(len(tree["feature"]) for tree in ours) > 4
    for one, other in zip(ours, others, strict=True):
        for name in one:
            assert np.ascontiguousarray(one[name]).tobytes() == np.ascontiguousarray(other[name]).tobytes(), name


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"splitter": "random"},
        {"categorical_features": [3], "min_samples_leaf": 3},
        {"categorical_features": [3], "splitter": "random", "max_features": 2},
        {"max_leaf_nodes": 7, "max_features": 2, "max_bins": 9},
        {"monotonic_cst": [1, -1, 0, 0, 0], "min_weight_fraction_leaf": 0.04},
    ],
    ids=lambda settings: "-".join(settings) or "defaults",
)
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "absolute_error", "poisson"])
def test_one_target(criterion, settings, weighted, missing, uncompiled):
    X, score, weight = table(missing=missing)
    classify = criterion in ("gini", "entropy")
    cuts = [0.8] if "monotonic_cst" in settings else [0.3, 1.5]
    y = np.digitize(score, cuts) if classify else np.abs(score)
    kind = DecisionTreeClassifier if classify else DecisionTreeRegressor
    model = kind(criterion=criterion, random_state=1, **settings)
    ours = grown(model, X, y, weight if weighted else None)
    uncompiled()
    assert_same_trees(ours, grown(model, X, y, weight if weighted else None))


@pytest.mark.parametrize("classes", [3, 40])
@pytest.mark.parametrize("settings", [{}, {"min_samples_leaf": 4}, {"categorical_features": [3], "max_features": 2}])
def test_scanning_rows_finds_what_sums_of_groups_find(classes, settings, monkeypatch):
    X, score, _ = table(n=600, missing=True)
    y = (score * 7).astype(int) % classes
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    model = DecisionTreeClassifier(random_state=1, **settings)
    ours = [grown(model, X, y, given) for given in (None, weight)]
    monkeypatch.setattr(growing, "EXACT_WEIGHT", 0)
    for trees, given in zip(ours, (None, weight), strict=True):
        assert_same_trees(trees, grown(model, X, y, given))


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson"])
def test_several_targets(criterion, splitter, missing, uncompiled):
    X, score, weight = table(missing=missing)
    classify = criterion in ("gini", "entropy")
    y = np.column_stack([np.abs(score), np.abs(score[::-1]) + 1])
    if classify:
        y = np.column_stack([np.digitize(score, [0.3, 1.5]), np.digitize(score[::-1], [1.0])])
    kind = DecisionTreeClassifier if classify else DecisionTreeRegressor
    model = kind(criterion=criterion, splitter=splitter, categorical_features=[3], random_state=2)
    ours = grown(model, X, y, weight)
    uncompiled()
    assert_same_trees(ours, grown(model, X, y, weight))


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(3, random_state=0),
        RandomForestClassifier(2, random_state=0, max_bins=5, min_samples_leaf=2, class_weight="balanced_subsample"),
        ExtraTreesClassifier(3, random_state=0, categorical_features=[3]),
        RandomForestRegressor(2, random_state=0, max_depth=3),
    ],
)
def test_trees_that_are_grown_in_one_call(model, uncompiled):
    X, score, _ = table(missing=True)
    y = (score > 0.8).astype(int) if "Classifier" in type(model).__name__ else score
    ours = grown(model, X, y, None)
    uncompiled()
    assert_same_trees(ours, grown(model, X, y, None))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_tables(n, uncompiled):
    X, y = np.arange(2.0 * n).reshape(n, 2), np.arange(n) * 1.5
    ours = DecisionTreeRegressor().fit(X, y).tree_
    uncompiled()
    other = DecisionTreeRegressor().fit(X, y).tree_
    assert ours.node_count == 2 * n - 1
    for name in ours:
        np.testing.assert_array_equal(ours[name], other[name])


def test_extreme_numbers(uncompiled):
    X = np.array([[-1e308], [-5e-324], [0.0], [5e-324], [1e308], [np.nan]])
    y = np.array([1e-300, -1e-300, 3.0, 1e100, -1e100, 0.0])
    ours = grown(DecisionTreeRegressor(), X, y, None)
    uncompiled()
    assert_same_trees(ours, grown(DecisionTreeRegressor(), X, y, None))


def test_more_codes_than_a_byte_counts_are_sorted_by_two_bytes(uncompiled):
    rng = np.random.default_rng(9)
    X, y = rng.permutation(np.arange(700.0))[:, None], rng.integers(0, 40, 700)
    model = DecisionTreeClassifier(max_depth=5)  # so many classes that sorting beats a table of codes
    ours = grown(model, X, y, None)
    uncompiled()
    assert_same_trees(ours, grown(model, X, y, None))


@pytest.mark.parametrize("rows", [0, 1, 5, 300])
@pytest.mark.parametrize("categorical", [[], [1, 4]])
def test_walks(rows, categorical, uncompiled):
    rng = np.random.default_rng(rows)
    trees = [random_tree(rng, inner, 6, categorical) for inner in (1, 60, 13)] + [random_tree(rng, 0, 6, [])]
    X = awkward_rows(rng, rows, 6, categorical)
    X.flags.writeable = False

    def outcomes():
        nodes = walking.pack(trees)
        by_floats, by_keys = np.empty((rows, 4), dtype=np.int32), np.empty((rows, 4), dtype=np.int32)
        walking._walk_floats(X, nodes, by_floats)
        keyed, total = keyed_trees(trees, X), np.zeros((rows, 3))
        walk_rows(keyed, X, leaves=by_keys)
        walk_rows(keyed, X, value=np.concatenate([tree["value"] for tree in trees]), total=total)
        by_one = np.column_stack([walking._apply_one(tree, X) for tree in trees])
        return [by_floats, by_keys, by_one, total, keyed.slots[1:], keyed.nodes]  # slot 0 is of leaves

    compiled = outcomes()
    uncompiled()
    for ours, other in zip(compiled, outcomes(), strict=True):
        assert ours.tobytes() == other.tobytes()
    assert compiled[0].tobytes() == compiled[1].tobytes() == compiled[2].tobytes()


def test_rows_are_read_ahead_to_the_same_leaves(monkeypatch):
    rng = np.random.default_rng(4)
    trees, X = [random_tree(rng, 50, 6, [])], awkward_rows(rng, 600, 6, [])
    found = []
    for columns in (0, 1000):
        monkeypatch.setattr(walking, "COLUMNS_PER_LINE", columns)
        leaves = np.empty((600, 1), dtype=np.int32)
        walking._walk_floats(X, walking.pack(trees), leaves)
        found.append(leaves)
    np.testing.assert_array_equal(*found)
