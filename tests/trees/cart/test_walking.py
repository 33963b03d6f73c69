"""Rows down trees: every way of walking against a walk by hand, and sums that do not depend on the way."""

import numpy as np
import pytest
from tests.trees.cart.test_structure import awkward_table

from margin.core.category_encoding import encode_numbers
from margin.trees import DecisionTreeClassifier, RandomForestClassifier
from margin.trees.cart import walking
from margin.trees.cart.keyed_trees import MAX_CODE, keyed_trees, walk_rows
from margin.trees.cart.walking import apply, predict

MANY = 4096  # rows that are not walked one by one


@pytest.fixture(scope="module")
def grown():
    X, y = awkward_table()
    model = DecisionTreeClassifier(categorical_features=[2], random_state=0).fit(X, y)
    return model, encode_numbers(X, model.categories_)


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


def test_every_way_of_walking_reaches_the_same_leaf(grown):
    model, rows = grown
    expected = [brute_leaf(model.tree_, row) for row in rows]
    assert apply(model.tree_, rows).tolist() == expected
    many = np.tile(rows, (MANY // len(rows) + 1, 1))
    assert apply(model.tree_, many)[: len(rows)].tolist() == expected


def test_a_sum_over_trees_is_the_same_for_few_and_many_rows(grown, monkeypatch):
    model, rows = grown
    many = np.tile(rows, (MANY // len(rows) + 1, 1))
    total = walking.sum_values([model.tree_, model.tree_], many)
    np.testing.assert_array_equal(total[: len(rows)], 2 * predict(model.tree_, rows))
    monkeypatch.setattr("margin.core.threads.WORK_PER_THREAD", 1)
    monkeypatch.setenv("MARGIN_NUM_THREADS", "2")
    np.testing.assert_array_equal(walking.sum_values([model.tree_, model.tree_], many), total)
    np.testing.assert_array_equal(walking.sum_values([model.tree_] * 2, rows), total[: len(rows)])


def test_one_row_and_many_reach_the_same_leaves_of_a_forest():
    X, y = awkward_table(3, n=1500)
    model = RandomForestClassifier(5, categorical_features=[2], random_state=0).fit(X, y)
    rows = encode_numbers(X, model.categories_)
    expected = np.array([[brute_leaf(tree, row) for tree in model.trees_] for row in rows[:100]])
    together = walking.apply_all(model.trees_, rows)
    np.testing.assert_array_equal(together[:100], expected)
    np.testing.assert_array_equal(
        np.vstack([walking.apply_all(model.trees_, row[None]) for row in rows[:100]]), expected
    )
    shares = walking.sum_values(model.trees_, rows)
    np.testing.assert_array_equal(
        np.vstack([walking.sum_values(model.trees_, row[None]) for row in rows[:100]]), shares[:100]
    )
    values = [tree["value"][together[:, k]] for k, tree in enumerate(model.trees_)]
    np.testing.assert_array_equal(shares, ((((0 + values[0]) + values[1]) + values[2]) + values[3]) + values[4])


VALUES = [-np.inf, -1e300, -2.5, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1.0 + 2**-52, 1e300, np.inf, np.nan]


def random_tree(rng, inner, columns, categorical):
    """A tree of random shape that asks about awkward numbers and random sets of all 256 categories."""
    count = 2 * inner + 1
    feature, left = np.full(count, -1, dtype=np.int32), np.full(count, -1, dtype=np.int32)
    open_nodes, used = [0], 1
    for _ in range(inner):
        node = open_nodes.pop(rng.integers(len(open_nodes)))
        feature[node], left[node] = rng.integers(columns), used
        open_nodes += [used, used + 1]
        used += 2
    asked = np.isin(feature, categorical)
    return {
        "feature": feature,
        "threshold": np.where(feature < 0, 0.0, rng.choice(VALUES[:-1], count)),
        "left": left,
        "right": np.where(left < 0, -1, left + 1).astype(np.int32),
        "missing_left": rng.uniform(size=count) < 0.5,
        "category_row": np.where(asked, np.cumsum(asked) - 1, -1).astype(np.int32),
        "category_set": rng.integers(0, 256, (int(asked.sum()), 32)).astype(np.uint8),
        "value": rng.standard_normal((count, 3)),
    }


def awkward_rows(rng, n, columns, categorical, largest=MAX_CODE):
    rows = rng.choice(VALUES, (n, columns))
    for column in categorical:
        rows[:, column] = np.where(rng.uniform(size=n) < 0.1, np.nan, rng.integers(0, largest + 1, n))
    return rows


@pytest.mark.parametrize("categorical", [[], [1, 4]])
def test_keys_lead_to_the_same_leaves_as_floats(categorical):
    rng = np.random.default_rng(5)
    trees = [random_tree(rng, inner, 6, categorical) for inner in (1, 200, 33)] + [random_tree(rng, 0, 6, [])]
    rows = awkward_rows(rng, 700, 6, categorical)
    expected = np.array([[brute_leaf(tree, row) for tree in trees] for row in rows])
    keyed = keyed_trees(trees, rows)
    assert keyed is not None
    leaves = np.empty((700, 4), dtype=np.int32)
    walk_rows(keyed, rows, leaves=leaves)
    np.testing.assert_array_equal(leaves, expected)
    total, value = np.zeros((700, 3)), np.concatenate([tree["value"] for tree in trees])
    walk_rows(keyed, rows, value=value, total=total)
    by_hand = [tree["value"][expected[:, k]] for k, tree in enumerate(trees)]
    np.testing.assert_array_equal(total, (((0.0 + by_hand[0]) + by_hand[1]) + by_hand[2]) + by_hand[3])


def test_missing_values_take_a_slot_only_where_there_are_some():
    rng = np.random.default_rng(6)
    trees = [random_tree(rng, 300, 2, [])]
    rows = rng.standard_normal((50, 2))
    assert len(keyed_trees(trees, rows).slots) == 1 + 2
    rows[7, 1] = np.nan
    assert len(keyed_trees(trees, rows).slots) == 1 + 3


@pytest.mark.parametrize(("columns", "largest", "way"), [(3, 254, "walk_keyed"), (100, MAX_CODE, "walk")])
def test_many_categories_and_many_columns_are_walked_as_floats(columns, largest, way):
    rng = np.random.default_rng(7)
    trees = [random_tree(rng, 400, columns, [0, 2]) for _ in range(2)]
    rows = awkward_rows(rng, MANY, columns, [0, 2], largest)
    assert walking._way_for(trees, rows) == way
    assert (keyed_trees(trees, rows) is None) == (largest > MAX_CODE)
    leaves = walking.apply_all(trees, rows)
    expected = [[brute_leaf(tree, row) for tree in trees] for row in rows[:300]]
    np.testing.assert_array_equal(leaves[:300], expected)
    total = trees[0]["value"][leaves[:, 0]] + trees[1]["value"][leaves[:, 1]]
    np.testing.assert_array_equal(walking.sum_values(trees, rows), total)


def test_a_set_of_all_categories_that_fit_and_missing_values():
    """The largest question a set can be must not be taken for the key of a missing value."""
    rng = np.random.default_rng(8)
    tree = random_tree(rng, 1, 1, [0])
    tree["category_set"][:] = 0  # all go right
    rows = np.append(np.arange(MAX_CODE + 1.0), np.nan)[:, None]
    for missing_left in (False, True):
        tree["missing_left"][:] = missing_left
        leaves = np.empty((len(rows), 1), dtype=np.int32)
        walk_rows(keyed_trees([tree], rows), rows, leaves=leaves)
        assert leaves[:, 0].tolist() == [2] * (MAX_CODE + 1) + [1 if missing_left else 2]


@pytest.mark.parametrize("n_classes", [3, 40])  # values are read from one table, or where the trees hold them
def test_values_are_added_tree_by_tree(n_classes):
    rng = np.random.default_rng(n_classes)
    X, y = rng.normal(size=(600, 4)), rng.integers(0, n_classes, 600)
    trees = RandomForestClassifier(12, max_depth=8, random_state=0).fit(X, y).trees_
    rows = rng.normal(size=(3000, 4))
    total = np.zeros((3000, n_classes))
    for tree in trees:
        total += walking.predict(tree, rows)
    np.testing.assert_array_equal(walking.sum_values(trees, rows), total)
