"""Gradient-boosted classification trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from margin.core.class_weights import ClassWeight, row_weights
from margin.trees.boosting import losses
from margin.trees.boosting.base import SHARED_DOMAINS, BoostedTrees

__all__ = ["GradientBoostingClassifier"]


class GradientBoostingClassifier(ClassifierMixin, BoostedTrees):
    """Gradient-boosted classification trees: log-loss of the log-odds (two classes) or of a softmax (more).

    ``class_weight`` is None, "balanced" or a dict from class to weight. All else is as in
    :class:`GradientBoostingRegressor`; more than two classes take one tree each per round.

    >>> import numpy as np
    >>> X = np.arange(200.0)[:, None]
    >>> model = GradientBoostingClassifier(n_estimators=50).fit(X, np.where(X[:, 0] < 100, "low", "high"))
    >>> model.predict([[20.0], [150.0]]).tolist()
    ['low', 'high']
    """

    domains = {**SHARED_DOMAINS, "class_weight": ClassWeight()}
    _stratified = True

    def __init__(
        self,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        min_gain: float = 0.0,
        max_bins: int = 255,
        subsample: float = 1.0,
        max_features: float = 1.0,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        warm_start: bool = False,
        random_state: Any = None,
        class_weight: Any = None,
    ):
        super().__init__(
            n_estimators,
            learning_rate,
            max_leaf_nodes,
            max_depth,
            min_samples_leaf,
            l2_regularization,
            min_gain,
            max_bins,
            subsample,
            max_features,
            categorical_features,
            monotonic_cst,
            early_stopping,
            validation_fraction,
            n_iter_no_change,
            tol,
            warm_start,
            random_state,
        )
        self.class_weight = class_weight

    def decision_function(self, X: Any) -> np.ndarray:
        """Log-odds of the second class (n,), or one score per class (n, classes)."""
        raw = self._raw(X)
        return raw[0] if len(raw) == 1 else np.ascontiguousarray(raw.T)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of every class, (n, classes)."""
        return self._probabilities(self._raw(X))

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of every row."""
        raw = self._raw(X)
        return self.classes_[self._likeliest(raw)]

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """What :meth:`predict_proba` would have said after every round."""
        for raw in self._staged(X):
            yield self._probabilities(raw)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """What :meth:`predict` would have said after every round."""
        for raw in self._staged(X):
            yield self.classes_[self._likeliest(raw)]

    def _likeliest(self, raw: np.ndarray) -> np.ndarray:
        return (raw[0] > 0).astype(np.int64) if len(raw) == 1 else raw.argmax(axis=0)

    def _probabilities(self, raw: np.ndarray) -> np.ndarray:
        return self._loss(len(self.classes_)).answer(raw[0] if len(raw) == 1 else raw.T)

    def _loss(self, classes: int) -> losses.Loss:
        return losses.Logistic() if classes == 2 else losses.Multinomial(classes)

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> tuple[losses.Loss, np.ndarray, np.ndarray]:
        check_classification_targets(y)
        classes, numbers = np.unique(y, return_inverse=True)
        if len(classes) > 2 and self.monotonic_cst is not None and np.any(np.asarray(self.monotonic_cst) != 0):
            raise ValueError(
                "GradientBoostingClassifier: monotonic_cst needs two classes, whose log-odds is monotone; got "
                f"{len(classes)} classes."
            )
        weight = np.asarray(row_weights(type(self).__name__, self.class_weight, classes, numbers, weight))
        if len(np.unique(numbers[weight > 0])) < 2:
            raise ValueError(f"{type(self).__name__}: y must have at least two classes with weight; got one class.")
        self.classes_ = classes
        return self._loss(len(classes)), numbers.astype(np.float64), weight
