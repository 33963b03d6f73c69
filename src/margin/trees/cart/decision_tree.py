r"""Decision trees by recursive partition (CART).

Every node asks about one column and is split so that impurity falls most,

.. math::
    \max_{j,\,t}\; i(S) - \frac{W_L}{W}\,i(S_L) - \frac{W_R}{W}\,i(S_R), \qquad
    i = 1 - \sum_k p_k^2, \quad -\sum_k p_k \log_2 p_k, \quad \operatorname{Var}(y), \quad \tfrac1W\sum_i w_i|y_i - m| .
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from margin.core.class_weights import ClassWeight
from margin.core.domains import Choice, Domain, Integer, Number, Optional, Seed
from margin.core.estimator import Estimator
from margin.core.randomness import seed_from
from margin.trees.cart import explaining, structure
from margin.trees.cart.growing import grow_tree
from margin.trees.cart.impurity_importance import impurity_importance
from margin.trees.cart.pruning import cost_complexity_path, prune_by_cost, prune_by_error
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

__all__ = ["DecisionTreeClassifier", "DecisionTreeRegressor"]

SHARED_DOMAINS: dict[str, Domain] = {
    "splitter": Choice("best", "random"),
    "max_depth": Optional(Integer(low=1, search=(2, 20))),
    "min_samples_split": Integer(low=2),
    "min_samples_leaf": Integer(low=1, search=(1, 50), log=True),
    "min_weight_fraction_leaf": Number(low=0, high=0.5),
    "max_features": MAX_FEATURES,
    "max_leaf_nodes": Optional(Integer(low=2)),
    "min_impurity_decrease": Number(low=0),
    "ccp_alpha": Number(low=0, search=(1e-5, 0.05), log=True),
    "max_bins": MAX_BINS,
    "categorical_features": CATEGORICAL,
    "monotonic_cst": MONOTONE,
}

SHARED_PARAMETERS = """
    ``splitter`` "random" draws one threshold per column in place of the best. ``max_leaf_nodes`` limits the leaves and
    grows the node that gains most first; without it growth is depth-first. ``max_features`` columns ("sqrt", "log2",
    "third", a share or a count) are looked at per split. ``min_impurity_decrease`` is what a split must remove at
    least, times the node's share of the rows; ``ccp_alpha`` prunes by cost and complexity afterwards. ``max_bins``
    None looks at every threshold, a number at so many quantiles per column, "auto" at every one up to 10,000 rows.
    ``categorical_features`` (numbers, names or one flag per column, or "from_dtype": those of a data frame that hold
    strings or are of dtype category) are split into two sets of categories, which may be words; one that training did
    not see counts as missing.
    ``monotonic_cst`` holds 1, -1 or 0 per column: the prediction may only rise or fall with it. A missing value (NaN)
    goes to the side that gains more; where none was seen in training, to the heavier side.

    Learned: ``tree_`` (a dict of arrays, see :mod:`margin.trees.cart.structure`), ``categories_`` of the categorical
    columns, ``category_names_`` of those with words, ``feature_importances_``. Cost: about p n log n.
"""


class _DecisionTree(Estimator):
    """What both trees share: from a checked table to a tree, and from a tree to everything it can say."""

    tree_: structure.Tree
    classes_: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Grow the tree, and prune it if ``ccp_alpha`` asks for it."""
        self._check_parameters()
        problem = self._problem(X, y, sample_weight)
        seed = seed_from(self.random_state)
        growth = growth_of(self, problem, random=self.splitter == "random", max_features=self.max_features)
        tree = grow_tree(problem.table(self.max_bins, seed), problem.target, problem.weight, growth, seed)
        self.tree_ = prune_by_cost(tree, self.ccp_alpha) if self.ccp_alpha > 0 else tree
        self.categories_ = problem.categories
        self.category_names_ = problem.words
        if problem.classes is not None:
            self.classes_ = problem.classes
        return self

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        return problem_of(self, X, y, sample_weight, classify=isinstance(self, ClassifierMixin))

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of every column in the impurity that the splits removed, (p,)."""
        check_is_fitted(self)
        return impurity_importance(self.tree_, self.n_features_in_)

    def apply(self, X: Any) -> np.ndarray:
        """The number of the leaf that every row reaches."""
        rows = as_rows(self, X)
        return structure.apply(self.tree_, rows)

    def decision_path(self, X: Any) -> sp.csr_matrix:
        """Which nodes every row passes, sparse (n, nodes)."""
        rows = as_rows(self, X)
        return structure.decision_path(self.tree_, rows)

    def get_depth(self) -> int:
        """The most questions between the root and a leaf."""
        check_is_fitted(self)
        return structure.depth(self.tree_)

    def get_n_leaves(self) -> int:
        check_is_fitted(self)
        return structure.n_leaves(self.tree_)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> dict[str, np.ndarray]:
        """``ccp_alphas`` at which pruning changes the tree grown on these rows, and ``impurities`` of the leaves."""
        from sklearn.base import clone

        return cost_complexity_path(clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight).tree_)

    def prune(self, X: Any, y: Any, method: str = "reduced-error") -> Any:
        """Cut the fitted tree back on rows held back from its training.

        "reduced-error" cuts every subtree that does not err less than its root alone; "cost-complexity" takes the
        smallest tree of the cost-complexity path that errs least.
        """
        rows = as_rows(self, X)
        check_consistent_length(X, y)
        target = self._held_back_targets(np.asarray(y))
        if method == "reduced-error":
            self.tree_ = prune_by_error(self.tree_, rows, target)
        elif method == "cost-complexity":
            candidates = [prune_by_cost(self.tree_, alpha) for alpha in cost_complexity_path(self.tree_)["ccp_alphas"]]
            errors = [self._error(structure.predict(tree, rows), target) for tree in candidates]
            best = min(errors)
            self.tree_ = [tree for tree, error in zip(candidates, errors) if error <= best][-1]
        else:
            raise ValueError(
                f"{type(self).__name__}: prune: method must be 'reduced-error' or 'cost-complexity'; got {method!r}."
            )
        return self

    def to_text(self, feature_names: Sequence[str] | None = None, max_depth: int | None = None) -> str:
        """The tree as indented lines."""
        check_is_fitted(self)
        return explaining.export_text(self.tree_, max_depth=max_depth, **self._labels(feature_names))

    def explain(self, x: Any, feature_names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """The decision path of one row as readable rules, see :func:`margin.trees.cart.explaining.path_rules`."""
        row = as_rows(self, x if hasattr(x, "iloc") else np.asarray(x).reshape(1, -1))[0]
        return explaining.path_rules(self.tree_, row, **self._labels(feature_names))

    def plot(self, axis: Any = None, feature_names: Sequence[str] | None = None, max_depth: int | None = None) -> Any:
        """Draw the tree on a Matplotlib axis (a new figure if None) and return the axis."""
        from margin.trees.cart.plotting import plot_tree

        check_is_fitted(self)
        return plot_tree(self.tree_, axis=axis, max_depth=max_depth, **self._labels(feature_names))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _labels(self, feature_names: Sequence[str] | None) -> dict[str, Any]:
        names = getattr(self, "feature_names_in_", None) if feature_names is None else feature_names
        if names is not None and len(names) != self.n_features_in_:
            raise ValueError(
                f"{type(self).__name__}: feature_names must have {self.n_features_in_} names; got {len(names)}."
            )
        return {
            "names": explaining.column_names(names, self.n_features_in_),
            "categories": {
                j: [self.category_names_[j][int(place)] for place in known] if j in self.category_names_ else known
                for j, known in self.categories_.items()
            },
            "classes": self.classes_,
        }


class DecisionTreeClassifier(ClassifierMixin, _DecisionTree):
    __doc__ = f"""A classification tree; a leaf gives the weighted shares of its training rows' classes.

    ``criterion`` is "gini", "entropy" or "log_loss" (the same as "entropy").
    {SHARED_PARAMETERS}
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    >>> print(model.to_text(["sepal length", "sepal width", "petal length", "petal width"]))
    |-- petal length <= 2.45
    |   |-- class 0 (100 %), 50 rows
    |-- petal length > 2.45 or missing
    |   |-- petal width <= 1.75 or missing
    |   |   |-- class 1 (91 %), 54 rows
    |   |-- petal width > 1.75
    |   |   |-- class 2 (98 %), 46 rows
    """

    domains = {
        "criterion": Choice("gini", "entropy", "log_loss"),
        **SHARED_DOMAINS,
        "class_weight": ClassWeight(),
        "random_state": Seed(),
    }

    def __init__(
        self,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        max_bins: Any = "auto",
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        class_weight: Any = None,
        random_state: Any = None,
    ):
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.class_weight = class_weight
        self.random_state = random_state

    def predict_proba(self, X: Any) -> np.ndarray:
        """The shares of the classes in every row's leaf, (n, classes)."""
        rows = as_rows(self, X)
        return structure.predict(self.tree_, rows)

    def predict(self, X: Any) -> np.ndarray:
        """The most frequent class of every row's leaf."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]

    def _held_back_targets(self, y: np.ndarray) -> np.ndarray:
        place = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        if np.any(self.classes_[place] != y):
            unknown = y[self.classes_[place] != y][0]
            raise ValueError(f"DecisionTreeClassifier: prune: y holds {unknown!r}, which was no class in training.")
        return place

    def _error(self, value: np.ndarray, target: np.ndarray) -> float:
        return float(np.mean(value.argmax(axis=1) != target))


class DecisionTreeRegressor(RegressorMixin, _DecisionTree):
    __doc__ = f"""A regression tree; a leaf gives the weighted mean (or median) of its training rows' targets.

    ``criterion`` is "squared_error" (means) or "absolute_error" (medians).
    {SHARED_PARAMETERS}
    >>> import numpy as np
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> model = DecisionTreeRegressor(max_depth=1).fit(X, [1, 1, 1, 5, 5, 8])
    >>> model.predict([[0.0], [9.0]])
    array([1., 6.])
    """

    domains = {
        "criterion": Choice("squared_error", "absolute_error"),
        **SHARED_DOMAINS,
        "random_state": Seed(),
    }

    def __init__(
        self,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        max_bins: Any = "auto",
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        random_state: Any = None,
    ):
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.random_state = random_state

    def predict(self, X: Any) -> np.ndarray:
        """The mean (or median) of every row's leaf."""
        rows = as_rows(self, X)
        return structure.predict(self.tree_, rows)[:, 0]

    def _held_back_targets(self, y: np.ndarray) -> np.ndarray:
        return y.astype(np.float64)

    def _error(self, value: np.ndarray, target: np.ndarray) -> float:
        return float(np.mean((value[:, 0] - target) ** 2))
