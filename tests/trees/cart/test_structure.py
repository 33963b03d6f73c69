"""A tree as arrays: walking, paths, cutting, and the compiled walks against NumPy's."""

import sys

import numpy as np
import pytest

from margin.trees import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier
from margin.trees.cart import structure
from margin.trees.cart.structure import (
    COMPILED_ROWS,
    apply,
    decision_path,
    depths,
    leaf,
    n_leaves,
    parents,
    predict,
    subtree,
)
from margin.trees.category_encoding import encode_numbers


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


def brute_leaf(tree, row):
    node = 0
    while tree["feature"][node] >= 0:
        x = row[tree["feature"][node]]
        if np.isnan(x):
            left = tree["missing_left"][node]
        elif tree["category_row"][node] >= 0:
            bits = np.unpackbits(tree["category_set"][tree["category_row"][node]], bitorder="little")
            left = bits[int(x)] == 1
        else:
            left = x <= tree["threshold"][node]
        node = int(tree["left" if left else "right"][node])
    return node


def test_every_way_of_walking_reaches_the_same_leaf(grown, monkeypatch):
    model, rows, _ = grown
    expected = [brute_leaf(model.tree_, row) for row in rows]
    assert apply(model.tree_, rows).tolist() == expected
    many = np.tile(rows, (COMPILED_ROWS // len(rows) + 1, 1))
    assert apply(model.tree_, many)[: len(rows)].tolist() == expected
    monkeypatch.delitem(sys.modules, "numba")  # as in a process that has compiled nothing
    assert apply(model.tree_, rows).tolist() == expected


def test_a_sum_over_trees_is_the_same_for_few_and_many_rows(grown, monkeypatch):
    model, rows, _ = grown
    many = np.tile(rows, (COMPILED_ROWS // len(rows) + 1, 1))
    total = structure.sum_values([model.tree_, model.tree_], many)
    np.testing.assert_array_equal(total[: len(rows)], 2 * predict(model.tree_, rows))
    monkeypatch.setattr("margin.core.threads.WORK_PER_THREAD", 1)
    monkeypatch.setenv("MARGIN_NUM_THREADS", "2")
    np.testing.assert_array_equal(structure.sum_values([model.tree_, model.tree_], many), total)
    monkeypatch.delitem(sys.modules, "numba")
    np.testing.assert_array_equal(structure.sum_values([model.tree_] * 2, rows), total[: len(rows)])


def test_one_row_and_many_reach_the_same_leaves_of_a_forest():
    X, y = awkward_table(3, n=1500)
    model = RandomForestClassifier(5, categorical_features=[2], random_state=0).fit(X, y)
    rows = encode_numbers(X, model.categories_)
    expected = np.array([[brute_leaf(tree, row) for tree in model.trees_] for row in rows[:100]])
    together = structure.apply_all(model.trees_, rows)
    np.testing.assert_array_equal(together[:100], expected)
    np.testing.assert_array_equal(
        np.vstack([structure.apply_all(model.trees_, row[None]) for row in rows[:100]]), expected
    )
    shares = structure.sum_values(model.trees_, rows)
    np.testing.assert_array_equal(
        np.vstack([structure.sum_values(model.trees_, row[None]) for row in rows[:100]]), shares[:100]
    )
    values = [tree["value"][together[:, k]] for k, tree in enumerate(model.trees_)]
    np.testing.assert_array_equal(shares, ((((0 + values[0]) + values[1]) + values[2]) + values[3]) + values[4])


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
