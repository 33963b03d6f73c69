r"""Bagging: the average (or vote) of models trained on bootstrap samples of the rows.

.. math:: \hat f(x) = \frac1B \sum_{b=1}^B f_b(x), \qquad f_b \text{ fitted to } n \text{ rows drawn with replacement.}

Averaging leaves the bias of the members and lowers their variance, so members should be flexible: a fully grown tree
gains much, a stump little.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from margin.core.array_types import MatrixLike
from margin.core.new_rows import validate_new_rows
from margin.core.parameters import attribute
from margin.trees.forest.bagged_ensemble import MEMBER_ROWS, Bagging
from margin.trees.forest.bagged_members import member_of
from margin.trees.stored import CLASSES, LEFT_OUT

__all__ = ["BaggingClassifier", "BaggingRegressor"]


class BaggingClassifier(ClassifierMixin, Bagging):
    r"""The average of classifiers' probabilities (votes, if they have none).

    A member that takes sample weights gets the rows it drew with their counts as weights, any other the drawn rows
    themselves, which are drawn by their weights if they have any. A sample that lacks a class is drawn again.

    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = BaggingClassifier(n_estimators=25, oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.9
    True
    """

    classes_: np.ndarray = attribute(CLASSES, "The classes, ascending.")
    oob_decision_function_: np.ndarray = attribute(
        LEFT_OUT,
        "Class probabilities of every training row by the members that left it out, (n, classes), if oob_score=True; "
        "NaN where all drew it.",
    )

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        check_is_fitted(self)
        return len(self.classes_)

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """The average of the members' class probabilities, (n, classes)."""
        return self._average(X)

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """The logarithm of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @available_if(lambda self: hasattr(member_of(self), "decision_function"))
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """The average of the members' decision functions, (n,) or (n, classes)."""
        check_is_fitted(self)
        X = validate_new_rows(self, X, **MEMBER_ROWS)
        if any(len(member.classes_) < len(self.classes_) for member in self.estimators_):
            raise ValueError(
                f"{type(self).__name__}: decision_function needs members that know all classes; the samples of some "
                "lack one. predict_proba averages them all the same."
            )
        pairs = zip(self.estimators_, self.estimators_features_)
        return np.mean([member.decision_function(X[:, columns]) for member, columns in pairs], axis=0)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The class with the largest average probability."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]


class BaggingRegressor(RegressorMixin, Bagging):
    r"""The average of regressors.

    A member that takes sample weights gets the rows it drew with their counts as weights, any other the drawn rows
    themselves, which are drawn by their weights if they have any.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> records = list(BaggingRegressor(n_estimators=30, oob_score=True, random_state=0).iterate(X, y))
    >>> records[-1]["oob_error"] < 0.6 * records[0]["oob_error"]
    True
    """

    oob_prediction_: np.ndarray = attribute(
        LEFT_OUT,
        "Prediction for every training row by the members that left it out, (n,) or (n, targets), if oob_score=True; "
        "NaN where all drew it.",
    )

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The average of the members' predictions, (n,) or (n, targets)."""
        average = self._average(X)
        return average[:, 0] if average.shape[1] == 1 else average
