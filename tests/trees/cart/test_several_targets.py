"""Trees of several targets and the Poisson criterion, against scikit-learn's trees and by definition."""

import numpy as np
import pytest
import sklearn.ensemble as their_forests
import sklearn.tree as theirs
from sklearn.metrics import accuracy_score, r2_score

import margin
from margin.trees import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)


def table(n=300, seed=0):
    """Numbers without ties, so that the best split is one; targets that need different columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    numbers = np.column_stack([X[:, 0] + X[:, 1] ** 2, np.sin(2 * X[:, 2]), X[:, 0] * X[:, 3]])
    numbers += 0.1 * rng.normal(size=numbers.shape)
    labels = np.column_stack([(numbers[:, 0] > 1).astype(int), np.digitize(numbers[:, 1], [-0.5, 0.5]) + 5])
    return X, numbers, labels, rng.uniform(0.5, 2.0, n)


def same_tree(ours, other):
    for name in ("feature", "n_node_samples"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(other, name))
    for name in ("impurity", "weighted_n_node_samples", "threshold"):
        np.testing.assert_allclose(getattr(ours, name), getattr(other, name), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ours.value, other.value, atol=1e-7)
    np.testing.assert_array_equal(ours.n_classes, other.n_classes)
    assert (ours.n_outputs, ours.max_n_classes) == (other.n_outputs, other.max_n_classes)


def depth_first(tree):
    """scikit-learn numbers nodes depth-first; ours puts both children side by side. Here in its order."""
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if tree.children_left[node] >= 0:
            waiting += [tree.children_right[node], tree.children_left[node]]
    return order


class InOrder:
    def __init__(self, tree):
        order = depth_first(tree)
        for name in ("feature", "n_node_samples", "impurity", "weighted_n_node_samples", "threshold", "value"):
            setattr(self, name, np.asarray(getattr(tree, name))[order])
        self.n_classes, self.n_outputs, self.max_n_classes = tree.n_classes, tree.n_outputs, tree.max_n_classes


# Small nodes tie: several columns part their rows alike, and scikit-learn draws one of them.
LIMITS = [
    {"min_samples_leaf": 7, **more} for more in ({}, {"max_depth": 3}, {"max_leaf_nodes": 9}, {"ccp_alpha": 0.01})
]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_are_split_as_by_scikit_learn(limits, weighted):
    X, y, _, weight = table()
    weight = weight if weighted else None
    ours = DecisionTreeRegressor(**limits).fit(X, y, weight)
    other = theirs.DecisionTreeRegressor(**limits, random_state=0).fit(X, y, weight)
    same_tree(InOrder(ours.tree_), InOrder(other.tree_))
    np.testing.assert_allclose(ours.predict(X), other.predict(X), atol=1e-7)
    np.testing.assert_allclose(ours.feature_importances_, other.feature_importances_, atol=1e-7)
    assert ours.n_outputs_ == 3
    assert ours.predict(X).shape == (300, 3)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_classes_are_split_as_by_scikit_learn(criterion, limits):
    X, _, y, weight = table()
    ours = DecisionTreeClassifier(criterion=criterion, **limits).fit(X, y, weight)
    other = theirs.DecisionTreeClassifier(criterion=criterion, **limits, random_state=0).fit(X, y, weight)
    same_tree(InOrder(ours.tree_), InOrder(other.tree_))
    np.testing.assert_array_equal(ours.predict(X), other.predict(X))
    for mine, its in zip(ours.predict_proba(X), other.predict_proba(X), strict=True):
        np.testing.assert_allclose(mine, its, atol=1e-9)
    assert [c.tolist() for c in ours.classes_] == [[0, 1], [5, 6, 7]]
    np.testing.assert_array_equal(ours.n_classes_, [2, 3])


@pytest.mark.parametrize("columns", [1, 2])
def test_poisson_is_that_of_scikit_learn(columns):
    X, numbers, _, weight = table()
    y = np.random.default_rng(1).poisson(np.exp(0.4 * numbers[:, :columns])).astype(float)
    y = y[:, 0] if columns == 1 else y
    limits = {"criterion": "poisson", "min_samples_leaf": 10}
    ours = DecisionTreeRegressor(**limits).fit(X, y, weight)
    other = theirs.DecisionTreeRegressor(**limits, random_state=0).fit(X, y, weight)
    same_tree(InOrder(ours.tree_), InOrder(other.tree_))
    np.testing.assert_allclose(ours.predict(X), other.predict(X), rtol=1e-7)
    assert ours.predict(X).min() > 0
    with pytest.raises(ValueError, match="criterion 'poisson' needs y at least 0 and not all 0; got a least of -1"):
        DecisionTreeRegressor(criterion="poisson").fit(X, y - 1)


def test_poisson_keeps_monotone_columns():
    X, numbers, _, _ = table()
    y = np.random.default_rng(1).poisson(np.exp(0.4 * numbers[:, 0])).astype(float)
    model = DecisionTreeRegressor(criterion="poisson", monotonic_cst=[-1, 0, 0, 0], max_depth=5).fit(X, y)
    rows = np.tile(X[:30], (20, 1, 1))
    rows[:, :, 0] = np.linspace(-3, 3, 20)[:, None]
    assert np.all(np.diff(model.predict(rows.reshape(-1, 4)).reshape(20, 30), axis=0) <= 1e-12)


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_missing_values_go_where_more_is_gained(kind):
    X, numbers, labels, _ = table()
    X = X.copy()
    X[::5, 0] = np.nan
    y = numbers if kind == "numbers" else labels
    classes = (theirs.DecisionTreeRegressor, DecisionTreeRegressor)
    classes = classes if kind == "numbers" else (theirs.DecisionTreeClassifier, DecisionTreeClassifier)
    other, ours = (model(min_samples_leaf=25).fit(X, y) for model in classes)
    # Where a node has no missing values the sides they go to differ: compared is what the training rows get.
    np.testing.assert_allclose(ours.predict(X), other.predict(X), atol=1e-7)


def best_decrease(X, y, weight, sides):
    """The largest decrease of the mean variance over ``sides`` (splits as flags of the left rows), by definition."""

    def impurity(rows):
        w = weight[rows]
        return w.sum() * np.mean([np.average((t - np.average(t, weights=w)) ** 2, weights=w) for t in y[rows].T])

    every = np.ones(len(X), dtype=bool)
    return max(impurity(every) - impurity(left) - impurity(~left) for left in sides if 0 < left.sum() < len(X))


def test_the_first_split_is_the_best_of_all_cuts():
    X, y, _, weight = table(n=60, seed=3)
    X = np.round(X, 1)
    tree = DecisionTreeRegressor(max_depth=1).fit(X, y, weight).tree_
    mass = tree.weighted_n_node_samples * tree.impurity
    sides = [X[:, j] <= cut for j in range(4) for cut in np.unique(X[:, j])]
    assert mass[0] - mass[1] - mass[2] == pytest.approx(best_decrease(X, y, weight, sides), rel=1e-9)


def test_categories_are_ordered_by_each_target():
    """Of three categories every cut is a prefix of the order by some target, so the best of all subsets is found."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (90, 1)).astype(float)
    y = np.column_stack([X[:, 0] == 1, X[:, 0] == 2]) + 0.1 * rng.normal(size=(90, 2))
    tree = DecisionTreeRegressor(max_depth=1, categorical_features=[0]).fit(X, y).tree_
    mass = tree.weighted_n_node_samples * tree.impurity
    sides = [np.isin(X[:, 0], chosen) for chosen in ([0], [1], [2])]
    assert mass[0] - mass[1] - mass[2] == pytest.approx(best_decrease(X, y, np.ones(90), sides), rel=1e-9)


def test_one_column_is_one_target():
    X, y, _, _ = table()
    model = DecisionTreeRegressor(max_depth=3).fit(X, y[:, 0])
    with pytest.warns(UserWarning, match="column-vector"):
        column = DecisionTreeRegressor(max_depth=3).fit(X, y[:, :1])
    np.testing.assert_array_equal(column.predict(X), model.predict(X))
    assert column.n_outputs_ == 1


@pytest.mark.parametrize(
    "weights", ["balanced", [{0: 1.0, 1: 3.0}, {5: 1.0, 6: 2.0, 7: 0.5}]], ids=["balanced", "list"]
)
def test_classes_of_every_target_are_weighted(weights):
    X, _, y, _ = table()
    ours = DecisionTreeClassifier(class_weight=weights, min_samples_leaf=25).fit(X, y)
    other = theirs.DecisionTreeClassifier(class_weight=weights, min_samples_leaf=25, random_state=0).fit(X, y)
    same_tree(InOrder(ours.tree_), InOrder(other.tree_))


@pytest.mark.parametrize("forest", [RandomForestRegressor, ExtraTreesRegressor])
def test_forests_average_all_targets(forest, tmp_path):
    X, y, _, _ = table()
    model = forest(20, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), np.mean([t.predict(X) for t in model.estimators_], axis=0), atol=1e-12)
    seen = ~np.isnan(model.oob_prediction_).any(axis=1)
    assert model.oob_score_ == pytest.approx(r2_score(y[seen], model.oob_prediction_[seen]))
    other = getattr(their_forests, forest.__name__)(20, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    assert abs(model.oob_score_ - other.oob_score_) < 0.15
    margin.save(model, tmp_path / "forest.margin")
    np.testing.assert_array_equal(margin.load(tmp_path / "forest.margin").predict(X), model.predict(X))
    more = forest(10, bootstrap=True, random_state=0, warm_start=True).fit(X, y).set_params(n_estimators=20).fit(X, y)
    np.testing.assert_array_equal(more.predict(X), model.predict(X))


@pytest.mark.parametrize("forest", [RandomForestClassifier, ExtraTreesClassifier])
def test_forests_vote_on_all_targets(forest, tmp_path):
    X, _, y, _ = table()
    model = forest(20, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    for target, part in enumerate(model.predict_proba(X)):
        mean = np.mean([tree.predict_proba(X)[target] for tree in model.estimators_], axis=0)
        np.testing.assert_allclose(part, mean, atol=1e-12)
        np.testing.assert_array_equal(model.predict(X)[:, target], model.classes_[target][part.argmax(axis=1)])
        assert model.votes(X)[target].sum() == 20 * len(X)
    assert model.oob_decision_function_.shape == (300, 3, 2)
    chosen = np.column_stack(
        [c[model.oob_decision_function_[:, : len(c), t].argmax(axis=1)] for t, c in enumerate(model.classes_)]
    )
    assert model.oob_score_ == pytest.approx(np.mean((chosen == y).all(axis=1)))
    margin.save(model, tmp_path / "forest.margin")
    again = margin.load(tmp_path / "forest.margin")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.n_classes_, [2, 3])
    binary = (y > np.median(y, axis=0)).astype(int)  # several yes or no: scikit-learn's multilabel
    assert accuracy_score(binary, forest(20, random_state=0).fit(X, binary).predict(X)) > 0.9


def test_any_number_of_threads_gives_the_same_forest():
    X, y, labels, _ = table()
    for forest, target in ((RandomForestRegressor, y), (RandomForestClassifier, labels)):
        one, two = (forest(8, random_state=3, n_jobs=jobs).fit(X, target) for jobs in (1, 2))
        for mine, its in zip(one.trees_, two.trees_, strict=True):
            np.testing.assert_array_equal(mine["value"], its["value"])


def test_trees_of_several_targets_speak():
    X, y, labels, _ = table()
    numbers = DecisionTreeRegressor(max_depth=1).fit(X, y)
    assert numbers.to_text().count(", ") == 6  # two commas between three numbers and one before the rows, twice
    classes = DecisionTreeClassifier(max_depth=1).fit(X, labels)
    assert "class " in classes.to_text()
    assert classes.explain(X[0])[-1]["prediction"].count("%") == 2
    assert "class" in theirs.export_text(DecisionTreeClassifier(max_depth=1).fit(X, labels[:, 0]))


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (
            DecisionTreeRegressor(criterion="absolute_error"),
            "numbers",
            "criterion 'absolute_error' takes one target; got 3",
        ),
        (DecisionTreeRegressor(monotonic_cst=[1, 0, 0, 0]), "numbers", "monotonic_cst needs one target; got 3"),
        (DecisionTreeClassifier(class_weight={0: 2.0}), "classes", "must be 'balanced' or a list of dicts; got a dict"),
        (DecisionTreeClassifier(class_weight=[{0: 2.0}]), "classes", "a dict per target; got 1 dicts for 2"),
    ],
)
def test_bad_input_is_one_sentence(model, y, message):
    X, numbers, labels, _ = table()
    with pytest.raises(ValueError, match=message):
        model.fit(X, numbers if y == "numbers" else labels)


def test_held_back_rows_prune_one_target():
    X, y, _, _ = table()
    with pytest.raises(ValueError, match="prune takes trees of one target; this has 3"):
        DecisionTreeRegressor().fit(X, y).prune(X, y)
