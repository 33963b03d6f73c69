r"""Classification by a vote of the nearest neighbors.

.. math:: \hat y(q) = \arg\max_c \sum_{i \in N_k(q)} w_i\,1[y_i = c]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin
from sklearn.utils.validation import column_or_1d

from margin.core.array_types import MatrixLike
from margin.core.classes import check_classes, encode_classes
from margin.core.invariants import ArrayOf, ListOf, OneOf
from margin.core.parameters import attribute
from margin.neighbors.base import NeighborsEstimator
from margin.neighbors.stored import codes_name_classes, enough_rows, points_are_known
from margin.neighbors.voting import class_fractions, neighbor_weights

__all__ = ["KNeighborsClassifier"]


class KNeighborsClassifier(MultiOutputMixin, ClassifierMixin, NeighborsEstimator):
    """The class with most votes among the nearest training rows; the smaller label if two have as many.

    ``y`` may have several columns; each is answered by its own vote among the same neighbors. A query by "brute" costs
    one product with all rows.

    Examples
    --------
    >>> model = KNeighborsClassifier(n_neighbors=3).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.predict([[1.4]]).tolist(), model.predict_proba([[1.4]]).round(2)
    (['a'], array([[0.67, 0.33]]))
    """

    classes_: np.ndarray | list[np.ndarray] = attribute(
        OneOf(ArrayOf(None, kind="labels"), ListOf(ArrayOf(None, kind="labels"))),
        "The labels, sorted; of several columns a list of them.",
    )
    codes_: np.ndarray = attribute(
        OneOf(ArrayOf("n_samples", kind="int64", low=0), ArrayOf("n_samples", "n_targets", kind="int64", low=0)),
        "Position in classes_ of the label of every training row, (n,) or (n, outputs).",
    )

    _stored_rules = (
        enough_rows,
        points_are_known,
        codes_name_classes,
    )

    @property
    def outputs_2d_(self) -> bool:
        """Whether y had several columns."""
        return isinstance(self.classes_, list)

    def fit(self, X: Any, y: Any) -> KNeighborsClassifier:
        """Keep the rows and their classes, one or several columns."""
        self._check_parameters()
        # A copy: rows that the caller changes later must not change the model.
        X, y = self._check_rows(X, y, copy=True, multi_output=True)
        y = column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y
        check_classes(y)
        columns = [y] if y.ndim == 1 else list(y.T)
        labels, codes = zip(*(encode_classes(column) for column in columns))
        self._keep(X)
        if y.ndim == 1:
            self.classes_, self.codes_ = labels[0], codes[0]
        else:
            self.classes_, self.codes_ = list(labels), np.column_stack(codes)
        return self

    def predict_proba(self, X: MatrixLike) -> Any:
        """The fraction of every class in the votes, (n, classes); of several columns a list of these."""
        fractions = self._vote_fractions(X)
        return fractions if isinstance(self.classes_, list) else fractions[0]

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The class with most votes, (n,) or (n, outputs)."""
        fractions = self._vote_fractions(X)
        if not isinstance(self.classes_, list):
            return self.classes_[fractions[0].argmax(axis=1)]
        return np.column_stack([labels[part.argmax(axis=1)] for labels, part in zip(self.classes_, fractions)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The fraction of the rows that are classified rightly, of several columns in all of them."""
        predicted = self.predict(X)
        if predicted.ndim == 1:
            return float(super().score(X, y, sample_weight))
        truth = np.asarray(y)
        if truth.shape != predicted.shape:
            raise ValueError(f"{self._name}: y must have shape {predicted.shape}; got {truth.shape}.")
        return float(np.average((truth == predicted).all(axis=1), weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _vote_fractions(self, X: Any) -> list[np.ndarray]:
        """Fractions of the classes for every column of the targets."""
        distances, neighbors = self.kneighbors(X)
        weights = neighbor_weights(distances, self.weights)
        labels = self.classes_ if isinstance(self.classes_, list) else [self.classes_]
        codes = self.codes_.reshape(len(self.points_), -1)
        return [class_fractions(codes[neighbors, i], weights, len(classes)) for i, classes in enumerate(labels)]
