"""What ID3 and C4.5 share once the tree is grown: predictions, text, drawings."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, _check_y, check_consistent_length, check_is_fitted

from margin.core.array_types import MatrixLike
from margin.core.classes import check_classes, encode_classes
from margin.core.parameters import Declared, attribute
from margin.trees.multiway.category_columns import Categories, columns_of, encode_columns
from margin.trees.multiway.category_tree import Tree, class_fractions, depths
from margin.trees.multiway.tree_text import TreeNames, tree_rules, tree_text
from margin.trees.stored import CATEGORIES, CLASSES, MULTIWAY_TREE

__all__ = ["CategoryTreeClassifier"]


class CategoryTreeClassifier(ClassifierMixin, Declared):
    """A classifier whose fitted tree is ``tree_``: a base for the two learners, not a model by itself."""

    tree_: Tree = attribute(MULTIWAY_TREE, "The tree as flat arrays, see :mod:`margin.trees.multiway.category_tree`.")
    classes_: np.ndarray = attribute(CLASSES, "The classes, ascending.")
    categories_: dict[int, Categories] = attribute(CATEGORIES, "The categories of every categorical column, by column.")

    takes_missing: ClassVar[bool]

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The class with the largest fraction; the first of several."""
        fractions = self.predict_proba(X)
        return self.classes_[fractions.argmax(axis=1)]

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """The fractions of the classes among the training rows that a row ends with, (n, classes)."""
        check_is_fitted(self, "tree_")
        return class_fractions(self.tree_, self._encode_rows(self._columns(X, reset=False)))

    def text(self) -> str:
        """The tree as indented text."""
        names = self.names
        return tree_text(self.tree_, names)

    def rules(self) -> list[str]:
        """The tree as if-then rules, one per leaf."""
        names = self.names
        return tree_rules(self.tree_, names)

    def draw(self, axis: Any) -> None:
        """The tree on a Matplotlib axis."""
        from margin.trees.multiway.tree_drawing import draw_tree

        names = self.names
        draw_tree(self.tree_, names, axis)

    @property
    def names(self) -> TreeNames:
        """The names of columns, categories and classes."""
        check_is_fitted(self, "tree_")
        return TreeNames(self._column_names(), self.categories_, self.classes_.tolist())

    def get_depth(self) -> int:
        """The most questions between the root and a leaf."""
        check_is_fitted(self, "tree_")
        return int(depths(self.tree_).max())

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self, "tree_")
        return int(np.count_nonzero(self.tree_["n_children"] == 0))

    def __sklearn_tags__(self) -> Any:
        # As in scikit-learn's encoders, "string" stays unset: that tag promises to take any object as a cell.
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.takes_missing
        return tags

    def _columns(self, X: Any, *, reset: bool) -> list[np.ndarray]:
        columns = columns_of(self, X, reset=reset)
        if not self.takes_missing:
            self._refuse_missing(columns)
        return columns

    def _encode_rows(self, columns: list[np.ndarray]) -> np.ndarray:
        return encode_columns(type(self).__name__, columns, self.categories_)

    def _column_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def _training_rows(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[list[np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
        """Columns, classes, class numbers and weights; rows without weight are gone."""
        if y is None:
            raise ValueError(f"{type(self).__name__}: requires y to be passed, but the target y is None.")
        columns = self._columns(X, reset=True)
        y = _check_y(y, estimator=self)
        check_consistent_length(columns[0], y)
        check_classes(y)
        classes, labels = encode_classes(y)
        weights = _check_sample_weight(sample_weight, columns[0], dtype=np.float64, ensure_non_negative=True)
        kept = weights > 0
        if not kept.all():
            columns = [column[kept] for column in columns]
        return columns, classes, labels[kept], weights[kept]

    def _refuse_missing(self, columns: list[np.ndarray]) -> None:
        for j, column in enumerate(columns):
            empty = np.array([cell is None for cell in column]) if column.dtype == object else np.isnan(column)
            if empty.any():
                raise ValueError(
                    f"{type(self).__name__}: X has a missing value (NaN) in row {int(empty.argmax())} of column {j}; "
                    "C45 takes missing values."
                )
