"""Pruning against enumeration of all subtrees, and what it promises."""

import numpy as np
import pytest

from margin.trees import DecisionTreeClassifier, DecisionTreeRegressor
from margin.trees.cart.pruning import cost_complexity_path, leaf_counts, prune_by_cost, prune_by_error
from margin.trees.cart.structure import n_leaves, subtree
from margin.trees.cart.walking import predict


def small_tree(seed, classify=True):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] + rng.standard_normal(60) > 0).astype(int) if classify else X[:, 0] + rng.standard_normal(60)
    model = (DecisionTreeClassifier if classify else DecisionTreeRegressor)(max_leaf_nodes=8).fit(X, y)
    return model, rng


def every_subtree(tree):
    """All prunings of a small tree, as masks of nodes to cut at."""

    def below(node):
        if tree["feature"][node] < 0:
            return [frozenset()]
        sides = [below(int(tree[side][node])) for side in ("left", "right")]
        return [frozenset([node])] + [a | b for a in sides[0] for b in sides[1]]

    for chosen in below(0):
        cut = np.zeros(len(tree["feature"]), dtype=bool)
        cut[list(chosen)] = True
        yield subtree(tree, cut)


def risk(tree):
    ends = tree["feature"] < 0
    return float((tree["weight"] * tree["impurity"])[ends].sum() / tree["weight"][0])


@pytest.mark.parametrize("seed", range(4))
def test_cost_complexity_is_the_best_of_all_subtrees(seed):
    tree = small_tree(seed)[0].tree_
    candidates = list(every_subtree(tree))
    for alpha in (0.0, 0.003, 0.01, 0.02, 0.05, 0.2):
        best = min(risk(t) + alpha * n_leaves(t) for t in candidates)
        chosen = prune_by_cost(tree, alpha)
        assert risk(chosen) + alpha * n_leaves(chosen) == pytest.approx(best, abs=1e-12)
        ties = [n_leaves(t) for t in candidates if risk(t) + alpha * n_leaves(t) <= best + 1e-12]
        assert n_leaves(chosen) == min(ties)


@pytest.mark.parametrize("classify", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_reduced_error_is_the_best_of_all_subtrees(seed, classify):
    model, rng = small_tree(seed, classify)
    X = rng.standard_normal((50, 3))
    y = (X[:, 0] + rng.standard_normal(50) > 0).astype(int) if classify else X[:, 0] + rng.standard_normal(50)

    def error(tree):
        value = predict(tree, X)
        return float(np.sum(value.argmax(axis=1) != y) if classify else np.sum((value[:, 0] - y) ** 2))

    pruned = prune_by_error(model.tree_, X, y)
    assert error(pruned) == pytest.approx(min(error(t) for t in every_subtree(model.tree_)), rel=1e-9)


def test_the_path_is_nested_and_ends_in_a_leaf():
    tree = small_tree(5)[0].tree_
    path = cost_complexity_path(tree)
    assert np.all(np.diff(path["ccp_alphas"]) > 0)
    assert np.all(np.diff(path["impurities"]) > 0)
    sizes = [n_leaves(prune_by_cost(tree, a)) for a in path["ccp_alphas"]]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1
    assert leaf_counts(tree)[0] == n_leaves(tree)


def test_prune_refuses_what_it_does_not_know():
    model, rng = small_tree(6)
    X = rng.standard_normal((10, 3))
    with pytest.raises(ValueError, match="method must be 'reduced-error' or 'cost-complexity'; got 'axe'"):
        model.prune(X, np.zeros(10, dtype=int), method="axe")
    with pytest.raises(ValueError, match="which was no class in training"):
        model.prune(X, np.full(10, 7))
