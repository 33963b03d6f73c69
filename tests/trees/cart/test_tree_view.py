"""A fitted tree under scikit-learn's names: the same arrays as its own, and its own tools read ours."""

import numpy as np
import pytest
from sklearn import tree as peer
from sklearn.datasets import load_iris
from sklearn.inspection import DecisionBoundaryDisplay, partial_dependence

from margin import store
from margin.trees import DecisionTreeClassifier, DecisionTreeRegressor

NAMES = ["children_left", "children_right", "feature", "impurity", "n_node_samples", "weighted_n_node_samples", "value"]


@pytest.fixture(scope="module")
def continuous():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, X[:, 0] + np.sin(3 * X[:, 1]) + 0.1 * rng.normal(size=300)


@pytest.mark.parametrize("classify", [True, False])
def test_the_arrays_are_those_of_scikit_learns_tree(classify, continuous):
    X, y = continuous
    y = np.digitize(y, [-0.5, 0.5]) if classify else y
    ours = (DecisionTreeClassifier if classify else DecisionTreeRegressor)(max_depth=3).fit(X, y)
    other = peer.DecisionTreeClassifier if classify else peer.DecisionTreeRegressor
    theirs = other(max_depth=3, random_state=0).fit(X, y).tree_
    mine = ours.tree_
    # Nodes are numbered in another order: compare them along the walk from the root.
    pairs = [(0, 0)]
    for a, b in pairs:
        for name in ("feature", "impurity", "n_node_samples", "weighted_n_node_samples", "value"):
            np.testing.assert_allclose(getattr(mine, name)[a], getattr(theirs, name)[b], rtol=1e-9, atol=1e-12)
        assert (mine.children_left[a] == -1) == (theirs.children_left[b] == -1)
        if mine.children_left[a] != -1:
            assert mine.threshold[a] == pytest.approx(theirs.threshold[b], abs=1e-6)  # float32 there
            pairs.append((mine.children_left[a], theirs.children_left[b]))
            pairs.append((mine.children_right[a], theirs.children_right[b]))
    assert len(pairs) == mine.node_count == theirs.node_count
    for name in ("n_leaves", "max_depth", "n_features", "n_outputs", "max_n_classes"):
        assert getattr(mine, name) == getattr(theirs, name), name
    assert mine.n_classes.tolist() == theirs.n_classes.tolist()
    assert mine.value.shape == theirs.value.shape
    np.testing.assert_allclose(mine.compute_feature_importances(), theirs.compute_feature_importances(), atol=1e-12)
    np.testing.assert_array_equal(np.sort(mine.compute_node_depths()), np.sort(theirs.compute_node_depths()))
    np.testing.assert_array_equal(
        mine.predict(X)[:, 0] if not classify else ours.predict_proba(X)[:, 0], mine.predict(X)[:, 0]
    )
    assert mine.apply(X).max() < mine.node_count
    assert mine.decision_path(X).shape == (300, mine.node_count)


def test_scikit_learn_draws_and_prints_our_trees():
    X, y = load_iris(return_X_y=True)
    ours = DecisionTreeClassifier(max_depth=2).fit(X, y)
    theirs = peer.DecisionTreeClassifier(max_depth=2, random_state=3).fit(X, y)
    assert peer.export_text(ours, decimals=1).count("class") == peer.export_text(theirs, decimals=1).count("class") == 3
    assert "petal width <= 1.75" in peer.export_text(ours, feature_names=["a", "b", "petal length", "petal width"])
    boxes = peer.plot_tree(ours, filled=True, class_names=["x", "y", "z"])
    assert sum("samples" in box.get_text() for box in boxes) == ours.tree_.node_count
    assert "gini = 0.667" in boxes[0].get_text()
    assert "digraph" in peer.export_graphviz(ours)
    regression = DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0])
    assert peer.export_text(regression).count("value") == regression.get_n_leaves()


def test_missing_values_and_categories_in_the_view():
    X = np.array([[1.0, 0], [2, 1], [np.nan, 2], [4, 0], [5, 1], [np.nan, 2]])
    missing = DecisionTreeClassifier().fit(X[:, :1], [0, 0, 1, 0, 0, 1]).tree_
    assert missing.missing_go_to_left.dtype == np.uint8
    assert np.isinf(missing.threshold[0])
    sets = DecisionTreeClassifier(categorical_features=[1]).fit(X, [0, 1, 0, 0, 1, 0]).tree_
    assert sets.feature[0] == 1
    assert np.isnan(sets.threshold[0])
    assert sets.threshold[sets.children_left[0]] == sets.feature[sets.children_left[0]] == -2


def test_a_loaded_tree_has_the_same_view(tmp_path, continuous):
    model = DecisionTreeRegressor(max_depth=4).fit(*continuous)
    store.save(model, tmp_path / "tree")
    again = store.load(tmp_path / "tree")
    for name in (*NAMES, "threshold", "missing_go_to_left"):
        np.testing.assert_array_equal(getattr(again.tree_, name), getattr(model.tree_, name))
    assert sum("samples" in box.get_text() for box in peer.plot_tree(again)) == model.tree_.node_count


def test_a_regression_tree_has_no_classes_and_a_border_can_be_drawn(continuous):
    X, y = continuous
    model = DecisionTreeRegressor(max_depth=3).fit(X[:, :2], y)
    assert not hasattr(model, "classes_")
    shown = DecisionBoundaryDisplay.from_estimator(model, X[:, :2], grid_resolution=5)
    assert shown.response.shape == (5, 5)


def test_partial_dependence_by_recursion_is_scikit_learns(continuous):
    X, y = continuous
    ours, theirs = DecisionTreeRegressor(max_depth=3).fit(X, y), peer.DecisionTreeRegressor(max_depth=3).fit(X, y)
    found = [partial_dependence(model, X, [1], grid_resolution=20, method="recursion") for model in (ours, theirs)]
    np.testing.assert_allclose(found[0]["average"], found[1]["average"], atol=1e-9)


def test_the_pruning_path_is_a_bunch(continuous):
    path = DecisionTreeRegressor(max_depth=3).cost_complexity_pruning_path(*continuous)
    assert path.ccp_alphas[0] == 0
    assert len(path.impurities) == len(path.ccp_alphas)
