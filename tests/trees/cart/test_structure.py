"""A tree as arrays: paths, cutting, drawing."""

import numpy as np
import pytest

from margin.core.category_encoding import encode_numbers
from margin.trees import DecisionTreeClassifier, DecisionTreeRegressor
from margin.trees.cart.structure import depths, leaf, n_leaves, parents, subtree
from margin.trees.cart.walking import apply, decision_path, predict


def awkward_table(seed=0, n=400):
    """Numbers with ties, a categorical column and missing values everywhere."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal(n), rng.integers(0, 6, n), rng.integers(0, 9, n), rng.uniform(size=n)])
    y = (X[:, 0] + np.isin(X[:, 2], [1, 4, 7]) * 2 - X[:, 3] > 0.3).astype(int)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    return X, y


@pytest.fixture(scope="module")
def grown():
    X, y = awkward_table()
    model = DecisionTreeClassifier(categorical_features=[2], random_state=0).fit(X, y)
    return model, encode_numbers(X, model.categories_), y


def test_decision_path_holds_the_leaf_and_all_above(grown):
    model, rows, _ = grown
    path, above = decision_path(model.tree_, rows), parents(model.tree_)
    for i, end in enumerate(apply(model.tree_, rows)):
        expected, node = set(), int(end)
        while node >= 0:
            expected.add(node)
            node = int(above[node])
        assert set(path[i].indices.tolist()) == expected


def test_nodes_add_up(grown):
    model, rows, _ = grown
    tree = model.tree_
    inner = np.flatnonzero(tree["feature"] >= 0)
    left, right = tree["left"][inner], tree["right"][inner]
    assert np.array_equal(right, left + 1)
    assert np.all(left > inner)
    np.testing.assert_array_equal(tree["n_samples"][inner], tree["n_samples"][left] + tree["n_samples"][right])
    np.testing.assert_allclose(tree["value"].sum(axis=1), 1, atol=1e-12)
    at = np.bincount(apply(tree, rows), minlength=len(tree["feature"]))
    np.testing.assert_array_equal(at[tree["feature"] < 0], tree["n_samples"][tree["feature"] < 0])
    assert depths(tree).max() == model.get_depth()
    assert n_leaves(tree) == model.get_n_leaves() == len(inner) + 1


def test_cutting_at_a_node_makes_it_a_leaf(grown):
    model, rows, _ = grown
    tree = model.tree_
    for node in np.flatnonzero(tree["feature"] >= 0)[[0, 1, 3, 7]]:
        cut = np.zeros(len(tree["feature"]), dtype=bool)
        cut[node] = True
        pruned = subtree(tree, cut)
        passes = decision_path(tree, rows)[:, [node]].toarray()[:, 0] == 1
        expected = np.where(passes[:, None], tree["value"][node], predict(tree, rows))
        np.testing.assert_array_equal(predict(pruned, rows), expected)
        assert n_leaves(pruned) < n_leaves(tree)


def test_a_leaf_alone():
    assert predict(leaf([3.0]), np.zeros((2, 1))).tolist() == [[3.0], [3.0]]
    assert decision_path(leaf([3.0]), np.zeros((2, 1))).toarray().tolist() == [[1], [1]]


def test_unknown_categories_go_where_missing_values_go(grown):
    model, _, _ = grown
    X, _ = awkward_table()
    strange, missing = X[:50].copy(), X[:50].copy()
    strange[:, 2], missing[:, 2] = 77.0, np.nan
    np.testing.assert_array_equal(model.predict_proba(strange), model.predict_proba(missing))


def test_text_and_rules():
    X, y = awkward_table(1)
    model = DecisionTreeClassifier(categorical_features=[2], max_depth=3).fit(X, y)
    text = model.to_text(["a", "b", "kind", "d"])
    assert text.count(" rows") == model.get_n_leaves()
    assert "kind in {" in text
    for row in X[:40]:
        steps = model.explain(row, ["a", "b", "kind", "d"])
        assert [s["node"] for s in steps] == sorted(model.decision_path(row[None]).indices.tolist())
        assert steps[-1]["rule"] == ""
        for step in steps[:-1]:
            if "<=" in step["rule"] and not np.isnan(step["value"]):
                assert step["value"] <= float(step["rule"].split("<= ")[1].split(" or ")[0]) + 1e-4
            if " in {" in step["rule"] and not np.isnan(step["value"]):
                assert f"{step['value']:g}" in step["rule"].split("{")[1].split("}")[0].split(", ")
    assert "..." in model.to_text(max_depth=1)


def test_a_drawn_tree_has_a_box_per_node():
    X, y = awkward_table(2)
    model = DecisionTreeRegressor(max_depth=3).fit(X, y)
    axis = model.plot()
    boxes = [text for text in axis.texts if text.get_bbox_patch() is not None]
    assert len(boxes) == len(model.tree_["feature"])
    assert len([t for t in model.plot(max_depth=1).texts if t.get_bbox_patch() is not None]) == 3
    with pytest.raises(ValueError, match="feature_names must have 4 names; got 2"):
        model.plot(feature_names=["a", "b"])
