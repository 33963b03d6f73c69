"""C4.5: ID3's successor, for tables as they are: numbers and categories, missing values, costs, noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.domains import Choice, Either, Flag, Integer, Number, Optional, Sequence, Text
from margin.core.estimator import Estimator
from margin.trees.multiway.attribute_costs import AttributeCosts, costs_of_columns
from margin.trees.multiway.c45_growing import Settings, grow
from margin.trees.multiway.category_classifier import CategoryTreeClassifier
from margin.trees.multiway.category_columns import column_number, known_of
from margin.trees.multiway.error_pruning import error_based_pruning

__all__ = ["C45"]

# A column with a category for fewer than about three rows is an identifier rather than a property (as in C4.5).
MANY_VALUES = 0.3


class C45(CategoryTreeClassifier, Estimator):
    r"""A tree grown by gain ratio and pruned by the errors a pessimist expects.

    A column of numbers is cut at a threshold, as often as it pays; a column of strings gets one branch per category.
    ``categorical_features`` names columns (by name or number) whose numbers are categories too. Among the columns
    with at least average information gain, the one with the largest gain ratio is asked; with ``costs`` (of columns,
    1 if not named) the largest gain ratio per cost.

    A node is a leaf if it holds one class, if no column tells anything, or if it is ``max_depth`` questions deep. A
    split needs two branches of weight ``min_samples_leaf``. Missing values (None, NaN, "?") are left out of gains;
    their rows go down every branch in parts, in training and in prediction. A category without a branch gets the
    answer of the node that asks.

    ``threshold_criterion`` says whether a cut is chosen by "gain" or by "gain_ratio" (which likes cuts near the ends);
    ``threshold_penalty`` takes off its gain the :math:`\log_2(\text{cuts}) / n` bits that naming it costs.
    ``confidence`` is that of the pruning (:mod:`margin.trees.multiway.error_pruning`), smaller prunes more; None
    does not prune. A row of ``sample_weight`` 2 counts as two rows.

    Learned: ``tree_`` (:mod:`margin.trees.multiway.category_tree`), ``categories_``, ``classes_``. Cost: O(p n log n)
    per level.

    >>> rows = [["sunny", 85], ["sunny", 70], ["rain", 80], ["rain", 70], [None, 90], ["rain", 95]]
    >>> model = C45(confidence=None, min_samples_leaf=1).fit(rows, ["no", "yes", "yes", "yes", "no", "no"])
    >>> print(model.text())
    x1 <= 82.5: yes (3)
    x1 > 82.5: no (3)
    >>> model.predict([["snow", 60], ["sunny", None]])
    array(['yes', 'no'], dtype='<U3')
    """

    takes_missing = True

    domains = {
        "max_depth": Optional(Integer(low=1, search=(2, 20))),
        "min_samples_leaf": Number(low=0, search=(1, 20)),
        "confidence": Optional(Number(above=0, below=1, search=(0.01, 0.5), log=True)),
        "costs": AttributeCosts(),
        "categorical_features": Either(Choice("auto"), Sequence(Either(Integer(low=0), Text()))),
        "threshold_criterion": Choice("gain", "gain_ratio"),
        "threshold_penalty": Flag(),
    }

    def __init__(
        self,
        max_depth: int | None = None,
        min_samples_leaf: float = 2,
        confidence: float | None = 0.25,
        costs: dict[Any, float] | None = None,
        categorical_features: Any = "auto",
        threshold_criterion: str = "gain",
        threshold_penalty: bool = True,
    ):
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.confidence = confidence
        self.costs = costs
        self.categorical_features = categorical_features
        self.threshold_criterion = threshold_criterion
        self.threshold_penalty = threshold_penalty

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> C45:
        """Grow the tree, then prune it."""
        self._check_parameters()
        columns, classes, labels, weights = self._training_rows(X, y, sample_weight)
        costs = costs_of_columns("C45", self.costs, self._column_names(), len(columns))
        categorical = self._categorical(columns)
        self.categories_ = {j: known_of(column) for j, column in enumerate(columns) if j in categorical}
        n_categories = np.array([len(self.categories_.get(j, ())) for j in range(len(columns))])
        settings = Settings(
            costs=costs,
            numeric=np.array([j not in self.categories_ for j in range(len(columns))]),
            n_categories=n_categories,
            many_valued=n_categories >= MANY_VALUES * weights.sum(),
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            threshold_criterion=self.threshold_criterion,
            threshold_penalty=self.threshold_penalty,
        )
        tree = grow(self._encoded(columns), labels, weights, len(classes), settings)
        self.classes_ = classes
        self.tree_ = tree if self.confidence is None else error_based_pruning(tree, self.confidence)
        return self

    def _categorical(self, columns: list[np.ndarray]) -> set[int]:
        """Columns of strings, those that are named, and those of which nothing is known: they may hold words later."""
        found = {j for j, column in enumerate(columns) if column.dtype == object or np.isnan(column).all()}
        if isinstance(self.categorical_features, str):
            return found
        names, count = self._column_names(), self.n_features_in_
        keys = self.categorical_features
        return found | {column_number("C45", "categorical_features", key, names, count) for key in keys}
