r"""Forests: the average of many trees, each grown on its own sample of rows and looking at few columns per split.

.. math::
    \hat f(x) = \frac1B \sum_{b=1}^B T_b(x), \qquad
    \operatorname{Var}\hat f(x) = \rho\,\sigma^2 + \frac{1-\rho}{B}\,\sigma^2

for trees of variance :math:`\sigma^2` and pairwise correlation :math:`\rho`: more trees remove the second term, fewer
columns per split lower :math:`\rho` in the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from margin.core.domains import Choice, Domain, Either, Flag, Integer, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.notices import warn_user
from margin.core.parallel import map_in_order, worker_count
from margin.core.randomness import seed_from
from margin.core.records import Record
from margin.trees.cart import structure
from margin.trees.cart.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from margin.trees.cart.growing import grow_tree
from margin.trees.cart.impurity_importance import mean_importance
from margin.trees.cart.training import (
    CATEGORICAL,
    MAX_BINS,
    MAX_FEATURES,
    MONOTONE,
    Problem,
    as_rows,
    growth_of,
    problem_of,
)
from margin.trees.forest.out_of_bag import OutOfBag, bootstrap_counts

__all__ = [
    "SHARED_DOMAINS",
    "SHARED_PARAMETERS",
    "ForestClassifier",
    "ForestRegressor",
    "resolved_features",
    "resolved_node_size",
]

REGRESSION_NODE = 5  # a regression forest does not split nodes of fewer rows unless told to (Breiman's node size)

# Up to so many rows a forest looks at every threshold: beyond, bins halve the time and an average hides them.
FOREST_EXACT_ROWS = 1_000

WORK_PER_CELL = 200.0  # basic operations per row and column looked at, over all levels of a tree

SHARED_DOMAINS: dict[str, Domain] = {
    "max_depth": Optional(Integer(low=1, search=(3, 30))),
    "min_samples_split": Either(Choice("auto"), Integer(low=2)),
    "min_samples_leaf": Integer(low=1, search=(1, 20), log=True),
    "min_weight_fraction_leaf": Number(low=0, high=0.5),
    "max_features": Either(Choice("auto"), MAX_FEATURES),
    "max_leaf_nodes": Optional(Integer(low=2)),
    "min_impurity_decrease": Number(low=0),
    "bootstrap": Flag(),
    "max_samples": Optional(Either(Integer(low=1), Number(above=0, high=1))),
    "oob_score": Flag(),
    "max_bins": MAX_BINS,
    "categorical_features": CATEGORICAL,
    "monotonic_cst": MONOTONE,
    "n_jobs": Optional(Either(Integer(low=1), Choice(-1))),
    "random_state": Seed(),
}

SHARED_PARAMETERS = """
    ``max_features`` columns are looked at per split: "sqrt", "log2", "third", a share, a count, None for all, or
    "auto", which is the square root of p for classification and p / 3 for regression, rounded down.
    ``min_samples_split`` "auto" is 2 for classification and 5 for regression. With ``bootstrap`` every tree draws
    ``max_samples`` rows (a count or a share, all by default) with replacement, and with ``oob_score`` the rows it left
    out judge the forest. ``n_jobs`` trees grow at the same time in threads: None takes as many as the work is worth, -1
    all; any number gives the same forest. ``max_bins`` "auto" looks at every threshold up to 1,000 rows and at 255
    quantiles per column beyond. The other parameters are those of the single tree.

    Learned: ``trees_`` (a list of dicts of arrays), ``categories_``, and with ``oob_score``: ``oob_score_`` (accuracy,
    or coefficient of determination) and the averages behind it. Records carry ``depth``, ``leaves`` and ``oob_error``
    (share of errors, or mean squared error) after every tree. Cost: about m n log n per tree, m columns per split.
"""


class _Forest(IterativeEstimator):
    """What all forests share: growing tree by tree, and averaging."""

    random_splits = False
    trees_: list[structure.Tree]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Grow all trees."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record per tree."""
        self._check_parameters()
        if self.oob_score and not self.bootstrap:
            raise ValueError(
                f"{type(self).__name__}: oob_score=True needs bootstrap=True; no row is left out without it."
            )
        problem = problem_of(self, X, y, sample_weight, classify=isinstance(self, ClassifierMixin))
        self._loop = loop = _Growing(
            self, problem, seed_from(self.random_state) if state is None else int(state["seed"])
        )
        if state is not None:
            loop.restore(state)
            self._learn(loop, problem)
        for record in loop.iterations():
            self._learn(loop, problem)
            yield record
        if self.oob_score and not (loop.judged.votes > 0).all():
            warn_user(
                f"{type(self).__name__}: some rows were in the sample of every tree and have no out-of-bag prediction; "
                "more trees would help.",
            )

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted single-tree models, sharing the forest's arrays."""
        check_is_fitted(self)
        return [self._single(tree) for tree in self.trees_]

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of every column in the impurity that the trees' splits removed, (p,)."""
        check_is_fitted(self)
        return mean_importance(self.trees_, self.n_features_in_)

    def apply(self, X: Any) -> np.ndarray:
        """The leaf that every row reaches in every tree, (n, trees)."""
        rows = as_rows(self, X)
        return structure.apply_all(self.trees_, rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _average(self, X: Any) -> np.ndarray:
        rows = as_rows(self, X)
        return structure.sum_values(self.trees_, rows) / len(self.trees_)

    def _learn(self, loop: _Growing, problem: Problem) -> None:
        self.trees_ = loop.trees[:]
        self.categories_ = problem.categories
        self.category_names_ = problem.words
        if problem.classes is not None:
            self.classes_ = problem.classes
        if self.oob_score:
            averages = np.full((len(problem.kept), loop.judged.sums.shape[1]), np.nan)
            averages[problem.kept] = loop.judged.averages()
            self.oob_score_ = loop.judged.score()
            self._learn_averages(averages)

    def _single(self, tree: structure.Tree) -> Any:
        classify = isinstance(self, ClassifierMixin)
        model: Any = DecisionTreeClassifier() if classify else DecisionTreeRegressor()
        shared = set(model.get_params()) & set(self.get_params())
        model.set_params(**{name: getattr(self, name) for name in shared - {"min_samples_leaf", "max_features"}})
        model.tree_, model.n_features_in_ = tree, self.n_features_in_
        model.categories_, model.category_names_ = self.categories_, self.category_names_
        if classify:
            model.classes_ = self.classes_
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        return model


class _Growing:
    """The running fit: the trees so far and, if asked for, what the rows they left out say."""

    def __init__(self, model: _Forest, problem: Problem, seed: int):
        self.model, self.problem, self.seed = model, problem, seed
        self.trees: list[structure.Tree] = []
        self.judged = OutOfBag(problem.target, 0 if problem.classes is None else len(problem.classes), problem.weight)

    def iterations(self) -> Iterator[Record]:
        model, problem = self.model, self.problem
        if len(self.trees) >= model.n_estimators:
            return
        table = problem.table(model.max_bins, self.seed, FOREST_EXACT_ROWS)
        growth = growth_of(
            _Resolved(model, problem.classes is not None),
            problem,
            random=model.random_splits,
            max_features=resolved_features(model.max_features, problem.classes is not None),
        )

        def make(number: int) -> tuple[structure.Tree, np.ndarray]:
            rng = np.random.default_rng([self.seed, number + 1])
            counts = self._draw(rng)
            tree_seed = int(rng.integers(2**62))
            return grow_tree(table, problem.target, counts * problem.weight, growth, tree_seed), counts

        threads = worker_count(model.n_jobs, WORK_PER_CELL * len(problem.X) * growth.max_features)
        grown = map_in_order(make, len(self.trees), model.n_estimators, threads)
        for tree, counts in grown:
            self.trees.append(tree)
            values: dict[str, float] = {"depth": structure.depth(tree), "leaves": structure.n_leaves(tree)}
            if model.oob_score:
                left_out = np.flatnonzero(counts == 0)
                self.judged.add(left_out, structure.predict(tree, problem.X[left_out]))
                values["oob_error"] = self.judged.error()
            yield Record(len(self.trees), values, total=model.n_estimators)

    def _draw(self, rng: np.random.Generator) -> np.ndarray:
        n, model = len(self.problem.X), self.model
        if not model.bootstrap:
            return np.ones(n)
        return bootstrap_counts(n, sample_count(type(model).__name__, model.max_samples, n), rng)

    def state(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "trees": [{name: array.copy() for name, array in tree.items()} for tree in self.trees],
            "out_of_bag": self.judged.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.trees = [{name: np.array(array) for name, array in tree.items()} for tree in state["trees"]]
        self.judged.restore(state["out_of_bag"])


class _Resolved:
    """The model's parameters with "auto" replaced by what it stands for."""

    def __init__(self, model: Any, classify: bool):
        self.model = model
        self.min_samples_split = resolved_node_size(model.min_samples_split, classify)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)


def resolved_features(max_features: Any, classify: bool) -> Any:
    """What ``max_features="auto"`` stands for: "sqrt" for classification, "third" for regression."""
    if isinstance(max_features, str) and max_features == "auto":
        return "sqrt" if classify else "third"
    return max_features


def resolved_node_size(min_samples_split: Any, classify: bool) -> int:
    """What ``min_samples_split="auto"`` stands for: 2 rows for classification, 5 for regression."""
    if isinstance(min_samples_split, str):
        return 2 if classify else REGRESSION_NODE
    return int(min_samples_split)


def sample_count(owner: str, max_samples: Any, n: int) -> int:
    """Rows that a bootstrap sample draws from ``n``."""
    if max_samples is None:
        return n
    if isinstance(max_samples, float | np.floating):
        return max(1, round(max_samples * n))
    if max_samples > n:
        raise ValueError(f"{owner}: max_samples={max_samples} exceeds the {n} rows there are.")
    return int(max_samples)


class ForestClassifier(ClassifierMixin, _Forest):
    def predict_proba(self, X: Any) -> np.ndarray:
        """The average over trees of the class shares in every row's leaf, (n, classes)."""
        return self._average(X)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest average share."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]

    def votes(self, X: Any) -> np.ndarray:
        """How many trees vote for each class, (n, classes)."""
        rows = as_rows(self, X)
        counts = np.zeros((len(rows), len(self.classes_)), dtype=np.int64)
        for tree in self.trees_:
            counts[np.arange(len(rows)), structure.predict(tree, rows).argmax(axis=1)] += 1
        return counts

    def _learn_averages(self, averages: np.ndarray) -> None:
        self.oob_decision_function_ = averages


class ForestRegressor(RegressorMixin, _Forest):
    def predict(self, X: Any) -> np.ndarray:
        """The average of the trees' predictions."""
        return self._average(X)[:, 0]

    def _learn_averages(self, averages: np.ndarray) -> None:
        self.oob_prediction_ = averages[:, 0]
