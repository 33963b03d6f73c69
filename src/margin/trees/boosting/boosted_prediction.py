"""What boosted trees say: numbers of a regressor, classes and probabilities of a classifier."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from margin.core.array_types import MatrixLike
from margin.core.class_weights import row_weights
from margin.core.classes import check_classes, encode_classes
from margin.core.number_range import TARGET_ROOM, require_squares
from margin.core.parameters import attribute
from margin.trees.boosting.boosted_trees import BoostedTrees
from margin.trees.boosting.losses import AbsoluteLoss, Loss, QuantileLoss
from margin.trees.stored import CLASSES

__all__ = ["BoostedClassifier", "BoostedRegressor"]


class BoostedRegressor(RegressorMixin, BoostedTrees):
    """Boosted trees whose loss is about numbers."""

    _y_rules = {"y_numeric": True}

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The predicted mean (or median, or quantile) for every row."""
        raw = self._raw(X)
        return self._loss().answer(raw[0])

    def staged_predict(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """The result of :meth:`predict` after every round."""
        for raw in self._stage(X):
            yield self._loss().answer(raw[0])

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss that the parameters name."""

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> tuple[Loss, np.ndarray, np.ndarray]:
        loss, y = self._loss(), np.asarray(y, dtype=np.float64)
        if not isinstance(loss, AbsoluteLoss | QuantileLoss):
            require_squares(type(self).__name__, "y", y, room=TARGET_ROOM)
        return loss, y, weight


class BoostedClassifier(ClassifierMixin, BoostedTrees):
    """Boosted trees whose loss is about classes."""

    classes_: np.ndarray = attribute(CLASSES, "The classes, ascending.")

    _stratified = True
    _least_weighed_classes = 2

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Raw scores: of the second class (n,), or one per class (n, classes)."""
        raw = self._raw(X)
        return _scores(raw)

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """The probability of every class, (n, classes)."""
        raw = self._raw(X)
        return self._probabilities(raw)

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """The logarithm of the probability of every class, (n, classes)."""
        return np.log(self.predict_proba(X))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The most probable class of every row."""
        raw = self._raw(X)
        return self._classes_of(raw)

    def staged_decision_function(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """The result of :meth:`decision_function` after every round."""
        for raw in self._stage(X):
            yield _scores(raw)

    def staged_predict_proba(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """The result of :meth:`predict_proba` after every round."""
        for raw in self._stage(X):
            yield self._probabilities(raw)

    def staged_predict(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """The result of :meth:`predict` after every round."""
        for raw in self._stage(X):
            yield self._classes_of(raw)

    @abstractmethod
    def _loss_of(self, classes: int) -> Loss:
        """The loss that the parameters name, for this many classes."""

    def _classes_of(self, raw: np.ndarray) -> np.ndarray:
        return self.classes_[(raw[0] > 0).astype(np.int64) if len(raw) == 1 else raw.argmax(axis=0)]

    def _probabilities(self, raw: np.ndarray) -> np.ndarray:
        return self._loss_of(len(self.classes_)).answer(raw[0] if len(raw) == 1 else raw.T)

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> tuple[Loss, np.ndarray, np.ndarray]:
        check_classes(y)
        classes, numbers = encode_classes(y)
        owner = type(self).__name__
        weight = np.asarray(row_weights(owner, getattr(self, "class_weight", None), classes, numbers, weight))
        if len(classes) < 2 or np.count_nonzero(np.bincount(numbers, weight)) < self._least_weighed_classes:
            raise ValueError(f"{owner}: y must have at least two classes with weight; got one class.")
        self.classes_ = classes
        return self._loss_of(len(classes)), numbers.astype(np.float64), weight


def _scores(raw: np.ndarray) -> np.ndarray:
    return raw[0] if len(raw) == 1 else np.ascontiguousarray(raw.T)
