r"""AdaBoost: learners in turn, each on weights that stress what those before it got wrong.

For classes (SAMME), with :math:`e_m` the weighted error of learner :math:`h_m` among :math:`K` classes,

.. math:: \alpha_m = \eta\Big(\log\frac{1-e_m}{e_m} + \log(K-1)\Big), \qquad
          w_i \leftarrow w_i\, e^{\alpha_m [h_m(x_i) \ne y_i]}, \qquad
          H(x) = \arg\max_k \sum_m \alpha_m [h_m(x) = k] .

For two classes and :math:`\eta = 1` the training error is at most :math:`\prod_m 2\sqrt{e_m(1-e_m)}`. For numbers
(AdaBoost.R2) the error is the mean of relative losses, and the answer is the weighted median of the learners.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.classes import check_classes, encode_classes
from margin.core.domains import Choice
from margin.core.parameters import attribute, parameter
from margin.foundations.probability.softmax import softmax_rows
from margin.trees.boosting.adaboost_rounds import AdaBoost
from margin.trees.boosting.tree_learners import all_own_trees, answers, votes
from margin.trees.stored import CLASSES

__all__ = ["AdaBoostClassifier", "AdaBoostRegressor", "training_error_bound", "weighted_median"]

# The weight of a learner without any error would be infinite; an error of one in 10^12 stands for it.
SMALLEST_ERROR = 1e-12
LARGEST_EXPONENT = 500.0  # of a row's weight: exp(500) times the number of rows is far from overflow


def _reweight(weight: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Weights times the exponentials, up to a factor where a learner has great weight: only ratios count, so that none
    overflows and not all vanish."""
    highest = exponent[weight > 0].max()
    beyond = highest - np.clip(highest, -LARGEST_EXPONENT, LARGEST_EXPONENT)
    return weight * np.exp(np.minimum(exponent - beyond, LARGEST_EXPONENT))


def training_error_bound(errors: np.ndarray) -> np.ndarray:
    r"""What the training error is at most after every round, :math:`\prod_{l \le m} 2\sqrt{e_l(1-e_l)}` (two classes).

    >>> training_error_bound(np.array([0.5, 0.1, 0.1])).round(3)
    array([1.  , 0.6 , 0.36])
    """
    errors = np.asarray(errors, dtype=np.float64)
    return np.cumprod(2.0 * np.sqrt(errors * (1.0 - errors)))


def weighted_median(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Per row of ``values`` (n, m) the smallest value at which half of the ``weights`` (m,) are reached, (n,)."""
    order = np.argsort(values, axis=1, kind="stable")
    reached = np.cumsum(weights[order], axis=1)
    half = np.argmax(reached >= 0.5 * reached[:, -1:], axis=1)
    return np.take_along_axis(values, np.take_along_axis(order, half[:, None], axis=1), axis=1)[:, 0]


class AdaBoostClassifier(ClassifierMixin, AdaBoost):
    """AdaBoost for any number of classes (SAMME) over any classifier that takes sample weights.

    The default learner is a decision stump. The fit ends early when a learner makes no error, or none that is better
    than chance.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(10.0)[:, None]
    >>> y = np.array([0, 0, 0, 1, 1, 1, 1, 0, 0, 0])
    >>> AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    classes_: np.ndarray = attribute(CLASSES, "The classes, ascending.")

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Weighted votes for minus votes against: of the second class (n,), or of every class (n, classes)."""
        return self._decision(self._votes(self._rows(X)), self.estimator_weights_.sum())

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The class with most weighted votes."""
        return self._classes_of(self.decision_function(X))

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probabilities that make the votes their optimal decision function: a softmax of them, (n, classes)."""
        return self._probabilities(self.decision_function(X))

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """The logarithm of the probability of every class, (n, classes)."""
        return np.log(self.predict_proba(X))

    def staged_decision_function(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """The result of :meth:`decision_function` after every round."""
        rows = self._rows(X)
        total, weight = np.zeros((rows.shape[0], len(self.classes_))), 0.0
        for number, alpha in enumerate(self.estimator_weights_):
            total += self._votes(rows, slice(number, number + 1))
            weight += alpha
            yield self._decision(total, weight)

    def staged_predict(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """The result of :meth:`predict` after every round."""
        for score in self.staged_decision_function(X):
            yield self._classes_of(score)

    def staged_predict_proba(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """The result of :meth:`predict_proba` after every round."""
        for score in self.staged_decision_function(X):
            yield self._probabilities(score)

    def staged_score(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """The accuracy after every round."""
        from sklearn.metrics import accuracy_score

        for predicted in self.staged_predict(X):
            yield float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def _votes(self, X: np.ndarray, chosen: slice = slice(None)) -> np.ndarray:
        """The weight of the chosen learners that vote for every class, (n, classes)."""
        learners, weights = self.estimators_[chosen], self.estimator_weights_[chosen]
        if all_own_trees(learners):
            return votes(learners, weights, self.classes_, X)
        predictions = np.column_stack([learner.predict(X) for learner in learners])
        return np.stack([(predictions == label) @ weights for label in self.classes_], axis=1)

    def _decision(self, total: np.ndarray, weight: float) -> np.ndarray:
        fractions, classes = total / weight, len(self.classes_)
        if classes == 2:
            return fractions[:, 1] - fractions[:, 0]
        return fractions - (1.0 - fractions) / max(1, classes - 1)

    def _classes_of(self, score: np.ndarray) -> np.ndarray:
        return self.classes_[(score > 0).astype(int) if score.ndim == 1 else score.argmax(axis=1)]

    def _probabilities(self, score: np.ndarray) -> np.ndarray:
        scores = np.column_stack([-score, score]) if score.ndim == 1 else score / max(1, len(self.classes_) - 1)
        return softmax_rows(scores)

    def _default(self) -> Any:
        from margin.trees.cart.decision_tree import DecisionTreeClassifier

        return DecisionTreeClassifier(max_depth=1)

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        check_classes(y)
        self.classes_ = encode_classes(y)[0]
        return y

    def _only_weight(self, error: float) -> float:
        raise ValueError(
            f"AdaBoostClassifier: the first learner has a weighted error of {error:.3g}, no better than chance among "
            f"{len(self.classes_)} classes; choose a stronger estimator."
        )

    def _judge(self, predicted: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, float, np.ndarray]:
        wrong, classes = predicted != y, len(self.classes_)
        if classes == 1:  # nothing to be wrong about
            return 0.0, 1.0, weight
        error = float(weight[wrong].sum() / weight.sum())
        bounded = min(max(error, SMALLEST_ERROR), 1.0)
        if bounded >= 1.0 - 1.0 / classes:
            return error, 0.0, weight
        alpha = self.learning_rate * float(np.log((1.0 - bounded) / bounded) + np.log(classes - 1.0))
        return error, alpha, _reweight(weight, alpha * wrong)


class AdaBoostRegressor(RegressorMixin, AdaBoost):
    """AdaBoost.R2 over any regressor that takes sample weights; the answer is the weighted median of the learners.

    The default learner is a tree of depth 3. Weights are handed to the learner as they are, without drawing rows, so
    the fit has no randomness of its own.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(20.0)[:, None]
    >>> AdaBoostRegressor(n_estimators=10, random_state=0).fit(X, X[:, 0] ** 2).score(X, X[:, 0] ** 2) > 0.98
    True
    """

    _: KW_ONLY
    loss: str = parameter(
        "linear",
        Choice("linear", "square", "exponential"),
        "How the residuals, relative to the largest, count as error.",
    )

    _y_rules = {"y_numeric": True}
    _resamples = True

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The weighted median of what the learners say."""
        predictions = self._answers(self._rows(X))
        return weighted_median(predictions, self.estimator_weights_)

    def staged_predict(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """The result of :meth:`predict` after every round."""
        predictions = self._answers(self._rows(X))
        for number in range(1, predictions.shape[1] + 1):
            yield weighted_median(predictions[:, :number], self.estimator_weights_[:number])

    def staged_score(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """The coefficient of determination after every round."""
        from sklearn.metrics import r2_score

        for predicted in self.staged_predict(X):
            yield float(r2_score(y, predicted, sample_weight=sample_weight))

    def _answers(self, X: np.ndarray) -> np.ndarray:
        """What every learner says, (n, learners)."""
        if all_own_trees(self.estimators_):
            return answers(self.estimators_, X)
        return np.column_stack([learner.predict(X) for learner in self.estimators_])

    def _default(self) -> Any:
        from margin.trees.cart.decision_tree import DecisionTreeRegressor

        return DecisionTreeRegressor(max_depth=3)

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.asarray(y, dtype=np.float64)

    def _only_weight(self, error: float) -> float:
        return 1.0  # the median of one learner is what it says

    def _judge(self, predicted: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, float, np.ndarray]:
        residual = np.abs(predicted - y)
        largest = residual.max()
        if largest == 0.0:
            return 0.0, float(-np.log(SMALLEST_ERROR)), weight
        relative = np.minimum(residual / largest, 1.0)
        relative = {"linear": relative, "square": relative**2, "exponential": 1.0 - np.exp(-relative)}[self.loss]
        error = float((weight * relative).sum() / weight.sum())
        if error >= 0.5:
            return error, 0.0, weight
        bounded = max(error, SMALLEST_ERROR)
        alpha = self.learning_rate * float(np.log((1.0 - bounded) / bounded))
        return error, alpha, _reweight(weight, -alpha * (1.0 - relative))
