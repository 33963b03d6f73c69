"""Margin's own trees as learners of AdaBoost: a table is checked and coded once, and rows pass all trees at once.

The trees are those that ``fit`` would grow; only what it would do again in every round is done once.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone

from margin.core.category_encoding import encode_numbers
from margin.trees.binning import SUBSAMPLE
from margin.trees.cart import walking
from margin.trees.cart.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from margin.trees.cart.growing import first_state, grow_trees, weighted_rules
from margin.trees.cart.growth_limits import growth_rules
from margin.trees.cart.pruning import prune_by_cost
from margin.trees.cart.training_data import training_data

__all__ = ["TreeLearners", "all_own_trees", "answers", "votes"]


def _is_own_tree(learner: Any) -> bool:
    return type(learner) in (DecisionTreeClassifier, DecisionTreeRegressor)


def all_own_trees(learners: Sequence[Any]) -> bool:
    """Whether :func:`votes` and :func:`answers` work for these learners."""
    return all(_is_own_tree(learner) for learner in learners)


class TreeLearners:
    """Fits copies of one tree to changing weights of the same rows."""

    def __init__(self, learner: Any, X: np.ndarray, y: np.ndarray):
        self.unfitted = clone(learner)
        self.unfitted._check_parameters()
        self.data = training_data(clone(learner), X, y, None, classify=isinstance(learner, ClassifierMixin))
        self.codes = self.data.codes(learner.max_bins, 0)

    @classmethod
    def of(cls, learner: Any, X: np.ndarray, y: np.ndarray) -> TreeLearners | None:
        """None where a fit depends on more than the weights of rows: other learners, class weights, drawn bins."""
        if not _is_own_tree(learner) or getattr(learner, "class_weight", None) is not None or len(X) > SUBSAMPLE:
            return None
        return cls(learner, X, y)

    def fit_next(self, seed: int, weight: np.ndarray) -> tuple[Any, np.ndarray]:
        """The next learner, and what it says about the training rows."""
        learner, data = copy(self.unfitted), replace(self.data, weight=weight)
        learner.random_state = seed
        rules = growth_rules(learner, data, random=learner.splitter == "random")
        rules, state = weighted_rules(rules, weight), first_state(seed)
        grown = grow_trees(self.codes, data.target, weight[None], rules, state)
        learner._tree = grown.trees[0]
        learner.categories_, learner.max_features_ = data.categories, rules.max_features
        learner.n_features_in_ = data.X.shape[1]
        if learner.ccp_alpha > 0:
            learner._tree = prune_by_cost(learner._tree, learner.ccp_alpha)
            leaf = walking.apply(learner._tree, data.X)
        else:
            leaf = np.empty(len(weight), dtype=np.int64)
            leaf[grown.rows] = grown.leaf_of_rows()
        value = learner._tree["value"]
        if data.classes is None:
            return learner, value[leaf, 0]
        learner.classes_ = data.classes
        return learner, data.classes[value.argmax(axis=1)][leaf]


def votes(learners: Sequence[Any], weights: np.ndarray, classes: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The weight of the learners that vote for every class, (n, classes)."""
    trees = []
    for learner, weight in zip(learners, weights, strict=True):
        leaf_class = np.searchsorted(classes, learner.classes_)[learner._tree["value"].argmax(axis=1)]
        value = np.zeros((len(leaf_class), len(classes)))
        value[np.arange(len(leaf_class)), leaf_class] = weight
        trees.append({**learner._tree, "value": value})
    return walking.sum_values(trees, encode_numbers(X, learners[0].categories_))


def answers(learners: Sequence[Any], X: np.ndarray) -> np.ndarray:
    """What every learner says, (n, learners)."""
    trees = [learner._tree for learner in learners]
    leaves = walking.apply_all(trees, encode_numbers(X, learners[0].categories_))
    return np.column_stack([tree["value"][leaf, 0] for tree, leaf in zip(trees, leaves.T, strict=True)])
