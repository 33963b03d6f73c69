"""C4.5: ID3's successor, for tables as they are: numbers and categories, missing values, costs, noise."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Choice, Either, Flag, Integer, Number, Optional, Sequence, Text
from margin.core.estimator import Estimator
from margin.core.parameters import parameter
from margin.trees.multiway.attribute_costs import AttributeCosts, costs_of_columns
from margin.trees.multiway.c45_growing import C45Settings, grow
from margin.trees.multiway.category_classifier import CategoryTreeClassifier
from margin.trees.multiway.category_columns import column_number, sort_categories
from margin.trees.multiway.error_pruning import error_based_pruning

__all__ = ["C45"]

# A column with a category for fewer than about three rows is an identifier rather than a property (as in C4.5).
MANY_VALUES = 0.3


class C45(CategoryTreeClassifier, Estimator):
    r"""A tree grown by gain ratio and pruned by the errors a pessimist expects.

    A column of numbers is cut at a threshold, as often as it pays; a column of strings gets one branch per category.
    Among the columns with at least average information gain, the one with the largest gain ratio (per cost) is split.
    A node is a leaf if it holds one class or if no column tells anything.

    Missing values (None, NaN, "?") are left out of gains; their rows go down every branch in parts, in training and in
    prediction. A category without a branch gets the answer of the node that asks. A row of ``sample_weight`` 2 counts
    as two rows. Cost: O(p n log n) per level.

    Examples
    --------
    >>> rows = [["sunny", 85], ["sunny", 70], ["rain", 80], ["rain", 70], [None, 90], ["rain", 95]]
    >>> model = C45(confidence=None, min_samples_leaf=1).fit(rows, ["no", "yes", "yes", "yes", "no", "no"])
    >>> print(model.text())
    x1 <= 82.5: yes (3)
    x1 > 82.5: no (3)
    >>> model.predict([["snow", 60], ["sunny", None]])
    array(['yes', 'no'], dtype='<U3')
    """

    takes_missing = True

    _: KW_ONLY
    max_depth: int | None = parameter(
        None,
        Optional(Integer(low=1, search=(2, 20))),
        "Most questions above a leaf; None sets no limit.",
    )
    min_samples_leaf: float = parameter(
        2, Number(low=0, search=(1, 20)), "Weight that two branches of a split need at least (a row weighs 1)."
    )
    confidence: float | None = parameter(
        0.25,
        Optional(Number(above=0, below=1, search=(0.01, 0.5), log=True)),
        "Confidence of the error-based pruning: smaller prunes more; None does not prune.",
    )
    costs: dict[Any, float] | None = parameter(
        None, AttributeCosts(), "Costs of columns, by name or number; 1 where not named."
    )
    categorical_features: Any = parameter(
        "auto",
        Either(Choice("auto"), Sequence(Either(Integer(low=0), Text()))),
        "Columns, by name or number, whose numbers are categories; columns of strings always are.",
    )
    threshold_criterion: str = parameter(
        "gain",
        Choice("gain", "gain_ratio"),
        "Whether a cut is chosen by its gain or by its gain ratio, which likes cuts near the ends.",
    )
    threshold_penalty: bool = parameter(
        True, Flag(), "Whether a cut's gain is reduced by the log2(cuts) / n bits that naming it costs."
    )

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> C45:
        """Grow the tree, then prune it."""
        self._check_parameters()
        columns, classes, labels, weights = self._training_rows(X, y, sample_weight)
        costs = costs_of_columns("C45", self.costs, self._column_names(), len(columns))
        categorical = self._categorical(columns)
        self.categories_ = {j: sort_categories(column) for j, column in enumerate(columns) if j in categorical}
        n_categories = np.array([len(self.categories_.get(j, ())) for j in range(len(columns))])
        settings = C45Settings(
            costs=costs,
            numeric=np.array([j not in self.categories_ for j in range(len(columns))]),
            n_categories=n_categories,
            many_valued=n_categories >= MANY_VALUES * weights.sum(),
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            threshold_criterion=self.threshold_criterion,
            threshold_penalty=self.threshold_penalty,
        )
        tree = grow(self._encode_rows(columns), labels, weights, len(classes), settings)
        self.classes_ = classes
        self.tree_ = tree if self.confidence is None else error_based_pruning(tree, self.confidence)
        return self

    def _categorical(self, columns: list[np.ndarray]) -> set[int]:
        """Columns of strings, those that are named, and those of which nothing is known (strings may come later)."""
        categorical = {j for j, column in enumerate(columns) if column.dtype == object or np.isnan(column).all()}
        if isinstance(self.categorical_features, str):
            return categorical
        names, count = self._column_names(), self.n_features_in_
        keys = self.categorical_features
        return categorical | {column_number("C45", "categorical_features", key, names, count) for key in keys}
