"""Claims about bagging and random forests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within
from margin.data import load
from margin.interpretation import permutation_importance
from margin.notes.claims import claim
from margin.trees import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from margin.trees.cart.plotting import plot_tree
from margin.trees.columns import feature_count

__all__: list[str] = []


def noisy_sine(rng: np.random.Generator, n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    x = rng.uniform(0, 2 * np.pi, n)
    return x[:, None], np.sin(x) + 0.3 * rng.standard_normal(n)


def spread_of(seed: int, make: Any, sets: int) -> tuple[float, float]:
    """Variance and squared bias of the prediction over training sets, averaged along the sine."""
    grid = np.linspace(0.1, 2 * np.pi - 0.1, 60)
    rows = [noisy_sine(np.random.default_rng([seed, i])) for i in range(sets)]
    predictions = np.array([make(i).fit(*rows[i]).predict(grid[:, None]) for i in range(sets)])
    return float(predictions.var(axis=0).mean()), float(np.mean((predictions.mean(axis=0) - np.sin(grid)) ** 2))


def _members_are_averaged_or_vote(seed: int) -> dict[str, Verdict]:
    """What both ensembles say, recomputed from the members that they hold and the rows that these drew."""
    rng = np.random.default_rng([seed, 7])
    X, fresh = rng.normal(size=(90, 3)), rng.normal(size=(40, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=90), [0.3, 1.5])]
    members = DecisionTreeClassifier(max_depth=3)
    voters = BaggingClassifier(members, 11, oob_score=True, random_state=seed).fit(X, y)
    chances = np.mean([member.predict_proba(fresh) for member in voters.estimators_], axis=0)
    left_out = ~np.array([np.isin(np.arange(90), rows) for rows in voters.estimators_samples_])
    shares = left_out[:, :, None] * np.array([member.predict_proba(X) for member in voters.estimators_])
    some = left_out.any(axis=0)
    means = BaggingRegressor(DecisionTreeRegressor(max_depth=3), 11, random_state=seed).fit(X, X[:, 2] ** 2)
    return {
        "mean_probability": near(voters.predict_proba(fresh), chances, tolerance=1e-12),
        "vote": equal(voters.predict(fresh).tolist(), voters.classes_[chances.argmax(axis=1)].tolist()),
        "left_out_rows": near(
            voters.oob_decision_function_[some],
            shares.sum(axis=0)[some] / left_out.sum(axis=0)[some, None],
            tolerance=1e-12,
        ),
        "mean": near(
            means.predict(fresh), np.mean([m.predict(fresh) for m in means.estimators_], axis=0), tolerance=1e-12
        ),
        "samples": equal([len(rows) for rows in voters.estimators_samples_], [90] * 11),
        "distinct": near(1 - left_out.mean(), 1 - np.exp(-1), tolerance=0.06),
    }


@claim("bagging")
def bagging_lowers_variance_so_it_suits_full_trees_not_stumps(seed: int) -> Verdict:
    def bag(depth: int | None) -> Any:
        return lambda i: BaggingRegressor(
            DecisionTreeRegressor(max_depth=depth), 8, n_jobs=1, random_state=1000 * seed + i
        )

    full, full_bias = spread_of(seed, lambda _: DecisionTreeRegressor(), 16)
    many, many_bias = spread_of(seed, bag(None), 16)
    stump, stump_bias = spread_of(seed, lambda _: DecisionTreeRegressor(max_depth=1), 16)
    stumps, stumps_bias = spread_of(seed, bag(1), 16)
    return corrected(
        every(
            **_members_are_averaged_or_vote(seed),
            variance_of_full_trees=below(many, 0.6 * full),
            their_bias_stays=below(abs(many_bias - full_bias), 0.1 * full),
            mse_falls_more_than_that_of_stumps=above(
                (full + full_bias - many - many_bias) / (stump + stump_bias - stumps - stumps_bias), 1.2
            ),
        ),
        # As printed, the members are weak, e.g. shallow trees; then bagged stumps would be the better ensemble.
        printed=below(stumps + stumps_bias, many + many_bias),
    )


@claim("random-forest")
def a_forest_beats_its_trees_and_knows_its_error_without_a_test_set(seed: int) -> Verdict:
    from sklearn.ensemble import RandomForestClassifier as Peer

    images, digits = load("digits").arrays()
    rows = np.random.default_rng(seed).permutation(len(images))
    train, test = rows[:900], rows[900:]
    X, y, X_test, y_test = images[train], digits[train], images[test], digits[test]
    # With few trees a row is out of bag for a handful, whose vote is worse than that of all: the estimate is low.
    forest = RandomForestClassifier(120, oob_score=True, random_state=seed).fit(X, y)
    singles = [tree.score(X_test, y_test) for tree in forest.estimators_[:10]]
    accuracy = forest.score(X_test, y_test)
    extra = ExtraTreesClassifier(120, random_state=seed).fit(X, y)
    table = load("friedman", n_samples=400, seed=seed)  # ten columns, of which five count
    columns, target = np.asarray(table.X), np.asarray(table.y)
    numbers = RandomForestRegressor(40, random_state=seed).fit(columns[:300], target[:300])
    drops = permutation_importance(numbers, columns[300:], target[300:], random_state=seed).mean(axis=1)
    return every(
        extra_trees=near(extra.score(X_test, y_test), accuracy, tolerance=0.04),
        regression=above(numbers.score(columns[300:], target[300:]), 0.6),
        columns_that_count=equal(set(np.argsort(drops)[-2:].tolist()) <= {0, 1, 3}, True),
        columns_that_do_not=below(float(np.abs(drops[5:]).max()), 0.1),
        above_its_trees=above(accuracy - float(np.mean(singles)), 0.1),
        less_peer=above(accuracy - Peer(120, random_state=seed).fit(X, y).score(X_test, y_test), -0.02),
        out_of_bag_less_test=within(forest.oob_score_ - accuracy, -0.04, 0.04),
        importances_sum=near(forest.feature_importances_.sum(), 1.0, tolerance=1e-12),
        vote_count=equal(set(forest.votes(X_test).sum(axis=1).tolist()), {120}),
    )


@claim("random-forest-feature-count-rule")
def the_rules_look_at_sqrt_p_or_a_third_of_the_columns(seed: int) -> Verdict:
    data = load("friedman", n_samples=120, seed=seed)
    rule: dict[str, Any] = {"max_features": "third", "min_samples_split": 5}
    forest = RandomForestRegressor(5, **rule, random_state=seed).fit(data.X, data.y)
    explicit = RandomForestRegressor(5, max_features=3, min_samples_split=5, random_state=seed).fit(data.X, data.y)
    smallest = min(int(tree["n_samples"][tree["feature"] >= 0].min()) for tree in forest.trees_)
    every_node = RandomForestRegressor(5, max_features="third", random_state=seed).fit(data.X, data.y)
    split_anyway = min(int(tree["n_samples"][tree["feature"] >= 0].min()) for tree in every_node.trees_)
    return every(
        classification=equal(feature_count(RandomForestClassifier().max_features, 10), 3),
        regression=equal(feature_count("third", 10), 3),
        rounded_down=equal([feature_count("sqrt", 15), feature_count("third", 11)], [3, 3]),
        smallest_split=above(smallest, 4.5),
        smallest_split_without_the_rule=below(split_anyway, 4.5),
        the_same_forest=equal(forest.predict(data.X), explicit.predict(data.X)),
    )


@claim("claim-ensemble-reduces-variance")
def the_variance_of_a_forest_is_below_that_of_a_tree_at_equal_bias(seed: int) -> Verdict:
    tree, tree_bias = spread_of(seed, lambda _: DecisionTreeRegressor(), 100)
    forest, forest_bias = spread_of(
        seed, lambda i: RandomForestRegressor(8, min_samples_split=2, n_jobs=1, random_state=1000 * seed + i), 100
    )
    return every(variance=below(forest, 0.6 * tree), squared_bias=below(abs(forest_bias - tree_bias), 0.1 * tree))


def rows_handled(trees: Sequence[Mapping[str, np.ndarray]]) -> float:
    """The work of growing: rows looked at, summed over all questions."""
    return float(sum(tree["n_samples"][tree["feature"] >= 0].sum() for tree in trees))


@claim("claim-random-forest-pros-and-cons")
def a_forest_is_more_accurate_and_more_work_than_a_tree(seed: int) -> Verdict:
    all_X, all_y = load("moons", n_samples=5400, noise=0.35, seed=seed).arrays()
    X_test, y_test = all_X[2400:], all_y[2400:]
    parts = [(all_X[k : k + 600], all_y[k : k + 600]) for k in range(0, 2400, 600)]  # a single tree may be lucky
    trees = [DecisionTreeClassifier(random_state=seed).fit(*part) for part in parts]
    forests = [RandomForestClassifier(50, n_jobs=1, random_state=seed).fit(*part) for part in parts]
    gains = [f.score(X_test, y_test) - t.score(X_test, y_test) for f, t in zip(forests, trees)]
    (X, y), tree, forest = parts[0], trees[0], forests[0]
    parallel = RandomForestClassifier(50, n_jobs=2, random_state=seed).fit(X, y)
    xor_X, xor_y = load("xor", n_samples=1300, seed=seed).arrays()
    on_xor = RandomForestClassifier(20, random_state=seed).fit(xor_X[:300], xor_y[:300])
    drawn = forest.trees_[0]["weight"][0]  # rows in the bootstrap sample of the first tree, repeats counted
    return corrected(
        every(
            accuracy_above_tree=above(float(np.mean(gains)), 0.01),
            non_linear=above(on_xor.score(xor_X[300:], xor_y[300:]), 0.9),
            work_of_trees=above(rows_handled(forest.trees_) / rows_handled([tree.tree_]), 10.0),
            parallel_training_changes_nothing=equal(parallel.predict_proba(X_test), forest.predict_proba(X_test)),
        ),
        # As printed, it is fast because each tree uses a smaller data set.
        printed=below(drawn, len(X)),
    )


@claim("figure-random-forest")
def the_picture_shows_the_path_of_one_flower(seed: int) -> Verdict:
    from matplotlib.colors import to_hex

    iris = load("iris")
    X, y = iris.arrays()
    forest = RandomForestClassifier(5, max_depth=3, random_state=seed).fit(X, y)
    x, names = X[np.random.default_rng(seed).integers(len(X))], [f"f{i}" for i in range(4)]
    parts: dict[str, Verdict] = {}
    for number, (tree, member) in enumerate(zip(forest.trees_, forest.estimators_)):
        path = member.decision_path(x[None]).indices
        axis = plot_tree(tree, names=names, classes=np.array(iris.target_names), path=path)
        boxes = [text for text in axis.texts if text.get_bbox_patch() is not None]
        bold = [node for node, box in enumerate(boxes) if to_hex(box.get_bbox_patch().get_edgecolor()) == "#000000"]
        place = np.array([box.get_position() for box in boxes])
        inner = np.flatnonzero(tree["feature"] >= 0)
        middle = (place[tree["left"][inner]] + place[tree["right"][inner]]) / 2
        leaf = path[tree["feature"][path] < 0][0]
        parts[f"tree_{number}"] = every(
            a_box_for_every_node=equal(len(boxes), len(tree["feature"])),
            path_is_bold=equal(bold, sorted(int(node) for node in path)),
            path_lines=equal(sum(line.get_linewidth() > 2 for line in axis.lines), len(path) - 1),
            parent_above_the_middle=near(place[inner], middle + np.array([0.0, 1.0]), tolerance=1e-12),
            leaves_side_by_side=equal(len({tuple(p) for p in place.tolist()}), len(place)),
            vote=equal(boxes[leaf].get_text().split()[0], str(iris.target_names[tree["value"][leaf].argmax()])),
            votes_as_the_tree=equal(int(tree["value"][leaf].argmax()), int(member.predict(x[None])[0])),
        )
    votes = np.bincount([int(member.predict(x[None])[0]) for member in forest.estimators_], minlength=3)
    return every(**parts, count=equal(forest.votes(x[None])[0].tolist(), votes.tolist()))
