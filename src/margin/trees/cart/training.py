"""From a user's table to what trees grow on, and from a user's rows to what trees can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from margin.core.class_weights import row_weights
from margin.core.domains import Choice, Domain, Either, Integer, Number, Optional, Sequence
from margin.trees.cart.column_codes import EXACT_ROWS, levels
from margin.trees.cart.growing import Growth
from margin.trees.cart.structure import encode_categories
from margin.trees.category_encoding import CATEGORICAL, Words, learn_words, read_words
from margin.trees.columns import categorical_flags, feature_count, find_categories, monotone_signs

if TYPE_CHECKING:
    from margin.trees.cart.kernel_types import Table

__all__ = ["CATEGORICAL", "MAX_BINS", "MAX_FEATURES", "MONOTONE", "Problem", "as_rows", "growth_of", "problem_of"]

MONOTONE: Domain = Optional(Sequence(Integer(low=-1, high=1)))
MAX_BINS: Domain = Optional(Either(Choice("auto"), Integer(low=2, high=255)))
MAX_FEATURES: Domain = Optional(
    Either(Choice("sqrt", "log2", "third"), Integer(low=1), Number(above=0, high=1, search=(0.2, 1.0)))
)


@dataclass(frozen=True)
class Problem:
    """Checked data: rows of positive weight, categories as codes, class numbers or responses."""

    X: np.ndarray  # (n, p) float64, categorical columns as codes
    target: np.ndarray  # (n,) float64
    weight: np.ndarray  # (n,) float64, all positive
    kept: np.ndarray  # (all rows,) bool: those of positive weight
    classes: np.ndarray | None
    categories: dict[int, np.ndarray]
    words: Words  # of the columns that held words
    categorical: np.ndarray
    monotone: np.ndarray | None

    def table(self, max_bins: Any, seed: int, exact_rows: int = EXACT_ROWS) -> Table:
        """The levels of the columns; ``seed`` draws the rows from which bins are taken when there are very many."""
        return levels(self.X, max_bins, self.categorical, np.random.default_rng([seed, 0]), exact_rows)


def problem_of(model: Any, X: Any, y: Any, sample_weight: Any, *, classify: bool) -> Problem:
    """Check everything a tree model is given; nothing is written to the model but the names of its columns."""
    owner, given = type(model).__name__, getattr(model, "categorical_features", None)
    X, categorical, words = learn_words(owner, X, given)
    X, y = validate_data(
        model, X, y, dtype=np.float64, order="C", ensure_all_finite="allow-nan", y_numeric=not classify
    )
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    classes = None
    if classify:
        check_classification_targets(y)
        classes, numbers = np.unique(y, return_inverse=True)
        y = numbers.astype(np.float64)
        weight = np.asarray(row_weights(owner, model.class_weight, classes, numbers, weight))
    y = np.asarray(y, dtype=np.float64)
    if categorical is None:
        categorical = categorical_flags(owner, given, X.shape[1], getattr(model, "feature_names_in_", None))
    monotone = monotone_signs(owner, getattr(model, "monotonic_cst", None), categorical)
    if monotone is not None and classes is not None and len(classes) > 2:
        raise ValueError(f"{owner}: monotonic_cst needs at most two classes; got {len(classes)}.")
    kept = weight > 0
    if not kept.any():
        raise ValueError(f"{owner}: at least one row must have a positive weight; got none.")
    if not kept.all():
        X, y, weight = X[kept], y[kept], weight[kept]
    categories = find_categories(owner, X, categorical)
    coded = encode_categories(X, categories)
    return Problem(coded, y, weight, kept, classes, categories, words, categorical, monotone)


def growth_of(model: Any, problem: Problem, *, random: bool, max_features: Any) -> Growth:
    """The rules of growth that the model's parameters set for this problem."""
    total = float(problem.weight.sum())
    return Growth(
        criterion=model.criterion,
        classes=0 if problem.classes is None else len(problem.classes),
        max_features=feature_count(max_features, problem.X.shape[1]),
        max_depth=model.max_depth,
        max_leaf_nodes=model.max_leaf_nodes,
        min_samples_split=model.min_samples_split,
        min_samples_leaf=model.min_samples_leaf,
        min_weight=model.min_weight_fraction_leaf * total,
        min_decrease=model.min_impurity_decrease * total,
        random=random,
        monotone=problem.monotone,
    )


def as_rows(model: Any, X: Any) -> np.ndarray:
    """Rows to be predicted, checked, with categories as codes."""
    check_is_fitted(model)
    X = read_words(X, model.category_names_)
    X = validate_data(model, X, reset=False, dtype=np.float64, order="C", ensure_all_finite="allow-nan")
    return encode_categories(X, model.categories_)
