"""Claims about single decision trees."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, near
from margin.data import load
from margin.notes.claims import claim
from margin.trees import DecisionTreeClassifier, DecisionTreeRegressor
from margin.trees.cart.walking import apply
from margin.trees.multiway.gains import class_entropy

__all__: list[str] = []


def entropy_drop(x: np.ndarray, y: np.ndarray, threshold: float) -> float:
    left = x <= threshold
    return class_entropy(y) - left.mean() * class_entropy(y[left]) - (~left).mean() * class_entropy(y[~left])


@claim("decision-tree")
def the_root_splits_where_information_gain_is_largest(seed: int) -> Verdict:
    X, y = load("iris").arrays()
    rows = np.random.default_rng(seed).permutation(len(X))
    X, y = X[rows], y[rows]
    gains = [entropy_drop(x, y, t) for x in X.T for t in np.unique(x)[:-1]]
    tree = DecisionTreeClassifier(criterion="entropy", max_depth=4).fit(X[:100], y[:100])
    root = DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(X, y).tree_
    root_gain = entropy_drop(X[:, root["feature"][0]], y, root["threshold"][0])
    rest, length = X[:, 1:], X[:, 0]
    line = DecisionTreeRegressor(max_depth=3).fit(rest, length)
    leaf = apply(line.tree_, rest)
    means = [length[leaf == own].mean() for own in leaf]
    sides = [(x <= t, x > t) for x in rest.T for t in np.unique(x)[:-1]]
    least = min(sum(length[side].var() * side.sum() for side in pair) for pair in sides)
    split = rest[:, line.tree_["feature"][0]] <= line.tree_["threshold"][0]
    return every(
        root_gain=near(root_gain, max(gains), tolerance=1e-12),
        leaves_hold_means=near(line.predict(rest), means, tolerance=1e-9),
        root_error=near(sum(length[s].var() * s.sum() for s in (split, ~split)), least, tolerance=1e-9),
        accuracy_less_peer=above(float(np.mean(_leads_over_a_peer(X, y, seed))), -0.02),
        text_lines=equal(tree.to_text().count("rows"), tree.get_n_leaves()),
    )


def _leads_over_a_peer(X: np.ndarray, y: np.ndarray, seed: int) -> list[float]:
    """How much more of the left-out rows our trees get right, of 25 divisions: equal gains are cut differently."""
    from sklearn.tree import DecisionTreeClassifier as Peer

    leads, rng = [], np.random.default_rng(seed)
    for _ in range(25):
        train, test = np.split(rng.permutation(len(X)), [100])
        scores = [
            model.fit(X[train], y[train]).score(X[test], y[test])
            for model in (
                DecisionTreeClassifier(criterion="entropy", max_depth=4),
                Peer(criterion="entropy", max_depth=4, random_state=seed),
            )
        ]
        leads.append(scores[0] - scores[1])
    return leads


@claim("tree-pruning")
def pruning_shrinks_a_tree_and_keeps_held_back_accuracy(seed: int) -> Verdict:
    all_X, all_y = load("moons", n_samples=600, noise=0.35, seed=seed).arrays()
    X, y, X_held, y_held = all_X[:400], all_y[:400], all_X[400:], all_y[400:]
    grown = DecisionTreeClassifier().fit(X, y)
    path = grown.cost_complexity_pruning_path(X, y)
    leaves = [DecisionTreeClassifier(ccp_alpha=a).fit(X, y).get_n_leaves() for a in path["ccp_alphas"]]
    before = grown.score(X_held, y_held)
    reduced = DecisionTreeClassifier().fit(X, y).prune(X_held, y_held)
    costed = DecisionTreeClassifier().fit(X, y).prune(X_held, y_held, method="cost-complexity")
    return every(
        leaves_fall_with_alpha=below(float(np.diff(leaves).max()), 0.5),
        the_last_tree_is_a_leaf=equal(leaves[-1], 1),
        reduced_error_leaves=below(reduced.get_n_leaves(), grown.get_n_leaves() / 2),
        reduced_error_accuracy=above(reduced.score(X_held, y_held) - before, -1e-12),
        cost_complexity_leaves=below(costed.get_n_leaves(), grown.get_n_leaves() / 2),
        cost_complexity_accuracy=above(costed.score(X_held, y_held) - before, -1e-12),
        regression=below(_regression_error_change(seed), 0.0),
    )


def _regression_error_change(seed: int) -> float:
    X, y = load("friedman", n_samples=400, noise=3.0, seed=seed).arrays()
    tree = DecisionTreeRegressor().fit(X[:200], y[:200])
    before = float(np.mean((tree.predict(X[200:]) - y[200:]) ** 2))
    tree.prune(X[200:], y[200:])
    return float(np.mean((tree.predict(X[200:]) - y[200:]) ** 2)) - before
