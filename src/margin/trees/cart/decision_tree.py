r"""Decision trees by recursive partition (CART).

Every node asks about one column and is split so that impurity falls most,

.. math::
    \max_{j,\,t}\; i(S) - \frac{W_L}{W}\,i(S_L) - \frac{W_R}{W}\,i(S_R), \qquad
    i = 1 - \sum_k p_k^2, \quad -\sum_k p_k \log_2 p_k, \quad \operatorname{Var}(y), \quad \tfrac1W\sum_i w_i|y_i - m| .
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.category_encoding import Categories, encode_numbers, string_categories
from margin.core.domains import Choice
from margin.core.estimator import Estimator
from margin.core.invariants import Count
from margin.core.parameters import attribute, parameter
from margin.core.randomness import seed_from
from margin.core.relations import counts_as
from margin.core.sparse_input import allow_sparse
from margin.trees.cart import explaining, structure, walking
from margin.trees.cart.growing import grow_tree
from margin.trees.cart.growth_limits import GrowthLimits, growth_rules
from margin.trees.cart.impurity_importance import impurity_importance
from margin.trees.cart.pruning import cost_complexity_path, prune_by_cost, prune_by_error
from margin.trees.cart.several_targets import (
    CLASS_WEIGHT_SENTENCE,
    ClassWeights,
    TargetClasses,
    fraction_parts,
    labels_of,
    logarithms,
)
from margin.trees.cart.training_data import encoded_rows, training_data
from margin.trees.cart.tree_view import TreeView
from margin.trees.stored import (
    CATEGORIES,
    CLASS_TREE,
    SETS,
    TARGET_CLASSES,
    TARGET_TREE,
    categories_are_coded,
    fractions_belong_to_classes,
)

__all__ = ["CLASS_CRITERION", "NUMBER_CRITERION", "NUMBER_SENTENCE", "DecisionTreeClassifier", "DecisionTreeRegressor"]

CLASS_CRITERION = Choice("gini", "entropy", "log_loss")
NUMBER_CRITERION = Choice("squared_error", "absolute_error", "poisson", "friedman_mse")
NUMBER_SENTENCE = (
    "Impurity of a node: around the mean, around the median (one target), or the deviance of a Poisson distribution; "
    "'friedman_mse' chooses the splits of 'squared_error'."
)


class _DecisionTree(GrowthLimits, MultiOutputMixin, Estimator):
    """What both trees share: from a checked table to a tree, and from a tree to everything it can say."""

    _: KW_ONLY
    splitter: str = parameter(
        "best", Choice("best", "random"), "Whether a column offers its best threshold or a random one."
    )

    categories_: Categories = attribute(
        CATEGORIES,
        "Of every categorical column its categories in the order of their codes: strings, or ascending numbers.",
    )
    max_features_: int = attribute(Count(low=1), "Number of columns looked at per split.")
    _may_be_empty = SETS

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree, and prune it if ``ccp_alpha`` asks for it."""
        self._check_parameters()
        data = training_data(self, X, y, sample_weight, classify=isinstance(self, ClassifierMixin))
        seed = seed_from(self.random_state)
        rules = growth_rules(self, data, random=self.splitter == "random")
        tree = grow_tree(data.codes(self.max_bins, seed), data.target, data.weight, rules, seed)
        self._tree = prune_by_cost(tree, self.ccp_alpha) if self.ccp_alpha > 0 else tree
        self.categories_, self.max_features_ = data.categories, rules.max_features
        if data.classes is not None:
            self.classes_ = data.classes
        return self

    @property
    def tree_(self) -> TreeView:
        """The nodes as arrays, under scikit-learn's names and those of :mod:`margin.trees.cart.structure`."""
        check_is_fitted(self)
        return TreeView(self._tree, self.n_features_in_, getattr(self, "classes_", None))

    @property
    def category_names_(self) -> dict[int, list[Any]]:
        """The categories of the columns that held strings."""
        check_is_fitted(self)
        return string_categories(self.categories_)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Fraction of every column in the impurity that the splits removed, (p,)."""
        check_is_fitted(self)
        return impurity_importance(self._tree, self.n_features_in_)

    @property
    def n_outputs_(self) -> int:
        """Number of targets."""
        return self.tree_.n_outputs

    def apply(self, X: MatrixLike) -> np.ndarray:
        """The number of the leaf that every row reaches."""
        rows = encoded_rows(self, X)
        return walking.apply(self._tree, rows)

    def decision_path(self, X: MatrixLike) -> sp.csr_matrix:
        """Which nodes every row passes, sparse (n, nodes)."""
        rows = encoded_rows(self, X)
        return walking.decision_path(self._tree, rows)

    def get_depth(self) -> int:
        """The most questions between the root and a leaf."""
        check_is_fitted(self)
        return structure.depth(self._tree)

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return structure.n_leaves(self._tree)

    def cost_complexity_pruning_path(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Bunch:
        """``ccp_alphas`` at which pruning changes the tree grown on these rows, and ``impurities`` of the leaves."""
        grown = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight)
        return Bunch(**cost_complexity_path(grown._tree))

    def prune(self, X: MatrixLike, y: ArrayLike, method: str = "reduced-error") -> Self:
        """Cut the fitted tree back on rows held back from its training.

        "reduced-error" cuts every subtree that does not err less than its root alone; "cost-complexity" takes the
        smallest tree of the cost-complexity path that errs least.
        """
        rows = encoded_rows(self, X)
        check_consistent_length(X, y)
        if self.n_outputs_ > 1:
            raise ValueError(f"{type(self).__name__}: prune takes trees of one target; this has {self.n_outputs_}.")
        target = self._held_back_targets(np.asarray(y))
        if method == "reduced-error":
            self._tree = prune_by_error(self._tree, rows, target)
        elif method == "cost-complexity":
            candidates = [prune_by_cost(self._tree, alpha) for alpha in cost_complexity_path(self._tree)["ccp_alphas"]]
            errors = [self._error(walking.predict(tree, rows), target) for tree in candidates]
            best = min(errors)
            self._tree = [tree for tree, error in zip(candidates, errors) if error <= best][-1]
        else:
            raise ValueError(
                f"{type(self).__name__}: prune: method must be 'reduced-error' or 'cost-complexity'; got {method!r}."
            )
        return self

    def to_text(self, feature_names: Sequence[str] | None = None, max_depth: int | None = None) -> str:
        """The tree as indented lines."""
        check_is_fitted(self)
        return explaining.export_text(self._tree, max_depth=max_depth, **self._labels(feature_names))

    def explain(self, x: Any, feature_names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """The decision path of one row as readable rules, see :func:`margin.trees.cart.explaining.path_rules`."""
        row = encoded_rows(self, x if hasattr(x, "iloc") else np.asarray(x).reshape(1, -1))[0]
        return explaining.path_rules(self._tree, row, **self._labels(feature_names))

    def plot(self, axis: Any = None, feature_names: Sequence[str] | None = None, max_depth: int | None = None) -> Any:
        """Draw the tree on a Matplotlib axis (a new figure if None) and return the axis."""
        from margin.trees.cart.plotting import plot_tree

        check_is_fitted(self)
        return plot_tree(self._tree, axis=axis, max_depth=max_depth, **self._labels(feature_names))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return allow_sparse(tags)

    def _labels(self, feature_names: Sequence[str] | None) -> dict[str, Any]:
        names = getattr(self, "feature_names_in_", None) if feature_names is None else feature_names
        if names is not None and len(names) != self.n_features_in_:
            raise ValueError(
                f"{type(self).__name__}: feature_names must have {self.n_features_in_} names; got {len(names)}."
            )
        return {
            "names": explaining.column_names(names, self.n_features_in_),
            "categories": self.categories_,
            "classes": getattr(self, "classes_", None),
        }


class DecisionTreeClassifier(ClassifierMixin, _DecisionTree):
    r"""A classification tree; a leaf gives the weighted fractions of its training rows' classes.

    ``y`` may have several columns: one tree answers all of them, by splits that lower the mean of their impurities.
    A missing value (NaN) goes to the side that gains more; where none was seen in training, to the heavier side. The
    cost is about p n log n.

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

    _: KW_ONLY
    criterion: str = parameter("gini", CLASS_CRITERION, "Impurity of a node; 'log_loss' is the same as 'entropy'.")
    class_weight: Any = parameter(None, ClassWeights(), CLASS_WEIGHT_SENTENCE)

    classes_: TargetClasses = attribute(TARGET_CLASSES, "The classes, ascending; of several targets a list of them.")
    _tree: Mapping[str, np.ndarray] = attribute(CLASS_TREE, "The tree as flat arrays.")
    _stored_rules = (categories_are_coded, fractions_belong_to_classes)

    @property
    def n_classes_(self) -> int | np.ndarray:
        """Number of classes, of several targets an array."""
        counts = self.tree_.n_classes
        return counts if isinstance(self.classes_, list) else int(counts[0])

    def predict_proba(self, X: MatrixLike) -> Any:
        """The weighted fractions of the classes in every row's leaf, (n, classes); of several targets a list."""
        rows = encoded_rows(self, X)
        parts = fraction_parts(walking.predict(self._tree, rows), self.classes_)
        return parts if isinstance(self.classes_, list) else parts[0]

    def predict_log_proba(self, X: MatrixLike) -> Any:
        """The logarithm of :meth:`predict_proba`."""
        return logarithms(self.predict_proba(X))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The most frequent class of every row's leaf, (n,) or (n, targets)."""
        rows = encoded_rows(self, X)
        return labels_of(walking.predict(self._tree, rows), self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _held_back_targets(self, y: np.ndarray) -> np.ndarray:
        assert not isinstance(self.classes_, list)
        position = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        if np.any(self.classes_[position] != y):
            unknown = y[self.classes_[position] != y][0]
            raise ValueError(f"DecisionTreeClassifier: prune: y holds {unknown!r}, which was no class in training.")
        return position

    def _error(self, value: np.ndarray, target: np.ndarray) -> float:
        return float(np.mean(value.argmax(axis=1) != target))


class DecisionTreeRegressor(RegressorMixin, _DecisionTree):
    r"""A regression tree; a leaf gives the weighted mean (or median) of its training rows' targets.

    Missing values, several columns of ``y`` and cost are as in :class:`DecisionTreeClassifier`.

    >>> import numpy as np
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> model = DecisionTreeRegressor(max_depth=1).fit(X, [1, 1, 1, 5, 5, 8])
    >>> model.predict([[0.0], [9.0]])
    array([1., 6.])
    """

    _: KW_ONLY
    criterion: str = parameter("squared_error", NUMBER_CRITERION, NUMBER_SENTENCE)

    _tree: Mapping[str, np.ndarray] = attribute(TARGET_TREE, "The tree as flat arrays.")
    _stored_rules = (categories_are_coded,)

    def _compute_partial_dependence_recursion(self, grid: np.ndarray, target_features: np.ndarray) -> np.ndarray:
        """What scikit-learn's ``partial_dependence`` asks of a tree: other columns weighted as in training."""
        from margin.trees.shap import conditional_expectation

        rows = np.full((len(grid), self.n_features_in_), np.nan)
        rows[:, np.asarray(target_features)] = grid
        known = [int(column) for column in target_features]
        coded = encode_numbers(rows, self.categories_)
        return np.array([conditional_expectation(self._tree, row, known)[0] for row in coded])

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The mean (or median) of every row's leaf, (n,) or (n, targets)."""
        rows = encoded_rows(self, X)
        value = walking.predict(self._tree, rows)
        return value[:, 0] if value.shape[1] == 1 else value

    def _held_back_targets(self, y: np.ndarray) -> np.ndarray:
        return y.astype(np.float64)

    def _error(self, value: np.ndarray, target: np.ndarray) -> float:
        return float(np.mean((value[:, 0] - target) ** 2))


# scikit-learn's plot_tree and export_text accept only what is an instance of its own trees; they read ``tree_``.
counts_as(DecisionTreeClassifier, "sklearn.tree", "DecisionTreeClassifier")
counts_as(DecisionTreeRegressor, "sklearn.tree", "DecisionTreeRegressor")
