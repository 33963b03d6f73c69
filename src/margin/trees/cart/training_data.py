"""From a user's table to what trees grow on, and from a user's rows to what trees can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.category_encoding import (
    Categories,
    categorical_flags,
    encode_numbers,
    encode_strings,
    find_categories,
    find_string_categories,
)
from margin.core.classes import check_classes
from margin.core.new_rows import validate_new_rows
from margin.core.number_range import TARGET_ROOM, require_squares
from margin.core.refusals import SparseTarget
from margin.core.sparse_input import dense_rows
from margin.core.streaming import InOrder, PartRunner
from margin.core.targets import numeric_target
from margin.trees.cart.column_codes import EXACT_ROWS, column_codes
from margin.trees.cart.several_targets import BALANCED_SUBSAMPLE, TargetClasses, coded_classes
from margin.trees.columns import monotone_signs

if TYPE_CHECKING:
    from margin.trees.cart.kernel_types import ColumnCodes

SQUARES_TARGETS = ("squared_error", "friedman_mse")  # criteria of regression that sum squares of y
# What rows of a tree may be: NaN is a missing value, a sparse table is made dense.
ROWS: dict[str, Any] = {
    "dtype": np.float64,
    "order": "C",
    "ensure_all_finite": "allow-nan",
    "accept_sparse": "csr",
}

__all__ = ["TrainingData", "coded_target", "encoded_rows", "monotone_columns", "training_data"]


@dataclass(frozen=True)
class TrainingData:
    """Checked data: rows of positive weight, categories as codes, class numbers or responses."""

    X: np.ndarray  # (n, p) float64, categorical columns as codes
    target: np.ndarray  # (n,) or (n, targets) float64; classes of several targets are numbered one after another
    weight: np.ndarray  # (n,) float64, all positive
    kept: np.ndarray  # (all rows,) bool: those of positive weight
    classes: TargetClasses | None
    categories: Categories
    categorical: np.ndarray
    monotone: np.ndarray | None

    @property
    def runner(self) -> PartRunner:
        """Who grows trees on the rows: this process."""
        return InOrder()

    def codes(self, max_bins: Any, seed: int, exact_rows: int = EXACT_ROWS) -> ColumnCodes:
        """The codes of the columns; ``seed`` draws the rows from which bins are taken when there are very many."""
        return column_codes(self.X, max_bins, self.categorical, np.random.default_rng([seed, 0]), exact_rows)

    @property
    def n_values(self) -> int:
        """Numbers that a leaf gives: fractions of all classes, or one per target."""
        if self.classes is None:
            return 1 if self.target.ndim == 1 else self.target.shape[1]
        return len(self.classes) if self.target.ndim == 1 else sum(map(len, self.classes))

    def channels(self, criterion: str) -> int:
        """What is summed in a node: classes, or the weight and what several targets (or 'poisson') sum besides."""
        return self.n_values + (self.target.ndim == 2 or criterion == "poisson")


def training_data(
    model: Any, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None, *, classify: bool, reset: bool = True
) -> TrainingData:
    """Check everything a tree model is given; nothing is written to the model but the names of its columns."""
    owner, given = type(model).__name__, model.categorical_features
    X, categorical, strings = find_string_categories(owner, X, given)
    y = y if classify else numeric_target(model, y)
    X, y = validate_data(model, X, y, reset=reset, y_numeric=not classify, multi_output=True, **ROWS)
    X = dense_rows(owner, X)
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    classes, y, weight = coded_target(model, y, weight, classify=classify)
    if categorical is None:
        categorical = categorical_flags(owner, given, X.shape[1], getattr(model, "feature_names_in_", None))
    monotone = monotone_columns(model, categorical, y, classes)
    kept = weight > 0
    if not kept.any():
        raise ValueError(f"{owner}: at least one row must have a positive weight; got none.")
    if not kept.all():
        X, y, weight = X[kept], y[kept], weight[kept]
    names = getattr(model, "feature_names_in_", None)
    categories = find_categories(owner, X, categorical, strings, names)
    return TrainingData(encode_numbers(X, categories), y, weight, kept, classes, categories, categorical, monotone)


def coded_target(
    model: Any, y: ArrayLike, weight: np.ndarray, *, classify: bool
) -> tuple[TargetClasses | None, np.ndarray, np.ndarray]:
    """The classes, class numbers or responses, and the weights of rows, those of their classes included."""
    owner, classes = type(model).__name__, None
    y = _targets(owner, y)
    if classify:
        check_classes(y)
        classes, y, weight = coded_classes(owner, y, _class_weight(model), weight)
    y = np.asarray(y, dtype=np.float64)
    if model.criterion in SQUARES_TARGETS or (not classify and getattr(model, "oob_score", False)):
        require_squares(owner, "y", y, room=TARGET_ROOM)
    if model.criterion == "poisson" and (y.min() < 0 or y.sum() <= 0):
        raise ValueError(f"{owner}: criterion 'poisson' needs y at least 0 and not all 0; got a least of {y.min():g}.")
    return classes, y, weight


def monotone_columns(
    model: Any, categorical: np.ndarray, y: np.ndarray, classes: TargetClasses | None
) -> np.ndarray | None:
    """The sign of every column, where ``monotonic_cst`` asks for some."""
    owner = type(model).__name__
    monotone = monotone_signs(owner, model.monotonic_cst, categorical)
    if monotone is not None and y.ndim == 2:
        raise ValueError(f"{owner}: monotonic_cst needs one target; got {y.shape[1]}.")
    if monotone is not None and classes is not None and len(classes) > 2:
        raise ValueError(f"{owner}: monotonic_cst needs at most two classes; got {len(classes)}.")
    return monotone


def _class_weight(model: Any) -> Any:
    """What is asked for the whole table: a forest that balances every sample balances nothing before, and all rows if
    it draws none."""
    if isinstance(model.class_weight, str) and model.class_weight == BALANCED_SUBSAMPLE:
        return None if model.bootstrap else "balanced"
    return model.class_weight


def _targets(owner: str, y: Any) -> np.ndarray:
    """Targets (n,), or (n, targets) if there are several."""
    if sp.issparse(y):
        raise SparseTarget(f"{owner}: y must be dense; got a sparse matrix. Use y.toarray().")
    if y.ndim == 2 and y.shape[1] == 1:
        return column_or_1d(y, warn=True)
    return y


def encoded_rows(model: Any, X: MatrixLike) -> np.ndarray:
    """Rows to be predicted, checked, with categories as codes."""
    check_is_fitted(model)
    X = encode_strings(X, model.categories_)
    X = dense_rows(type(model).__name__, validate_new_rows(model, X, **ROWS))
    return encode_numbers(X, model.categories_)
