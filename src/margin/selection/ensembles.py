r"""Leaders put together: the weighted mean of what several models say, and weights found from out-of-fold outputs.

*Blending* gives equal weights to the best few. *Stacking* takes the non-negative weights of sum one with the least
squared error on rows that the models had not seen (Breiman 1996):

.. math:: \min_w \Bigl\|\sum_m w_m \hat y^{(m)} - y\Bigr\|^2, \qquad w_m \ge 0,\ \sum_m w_m = 1,

where :math:`\hat y^{(m)}` are numbers, or probabilities beside the indicator of the true class. Weights for a fold come
from the other folds. The models behind them did see that fold's rows, so the score of a stack is a little too good;
rows held out from everything are its judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Array, Domain, Optional
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, ListOf, ModelWith
from margin.core.parameters import Declared, attribute, parameter
from margin.selection.outputs import PROBABILITIES, Output
from margin.selection.stored import every_member_is_there

__all__ = ["BlendClassifier", "BlendRegressor", "blend", "stacking_weights"]

#: A weight below this moves no prediction that counts, but costs a whole fit.
LEAST_WEIGHT = 0.02


def stacking_weights(outputs: Sequence[np.ndarray], truth: np.ndarray) -> np.ndarray:
    """The weights above; each of ``outputs`` has the shape of ``truth``. Members with less than two percent
    are left out, and the others weighed again.

    >>> truth = np.array([1.0, 2.0, 3.0])
    >>> stacking_weights([truth + 1, truth - 1], truth).round(3)
    array([0.5, 0.5])
    """
    columns = np.column_stack([np.asarray(output, dtype=np.float64).ravel() for output in outputs])
    errors = columns - np.asarray(truth, dtype=np.float64).ravel()[:, None]
    gram = errors.T @ errors  # with weights of sum one, the squared error is w' gram w
    weights = _on_simplex(gram)
    kept = weights >= LEAST_WEIGHT
    weights = np.zeros(len(gram))
    weights[kept] = _on_simplex(gram[np.ix_(kept, kept)])
    return weights


def _on_simplex(gram: np.ndarray) -> np.ndarray:
    """The non-negative w of sum one with the least w' gram w.

    Least squares with a heavy row of ones makes the sum one, and dividing by it exact; that row only has to dwarf the
    others.
    """
    from scipy.optimize import nnls

    scale = float(np.sqrt(np.trace(gram))) or 1.0
    heavy = 1e3
    weights, _ = nnls(
        np.vstack([_root(gram) / scale, np.full((1, len(gram)), heavy)]), np.append(np.zeros(len(gram)), heavy)
    )
    return weights / weights.sum()


def _root(gram: np.ndarray) -> np.ndarray:
    """A matrix R with R'R = gram, also where gram is singular."""
    values, vectors = np.linalg.eigh(gram)
    return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T


def blend(outputs: Sequence[Output], weights: Sequence[float], classes: Sequence[Any] = ()) -> Output:
    """The weighted mean of numbers or of probabilities; then the prediction is the likeliest class."""
    if not len(classes):
        return Output(np.asarray(np.average([o.predicted for o in outputs], axis=0, weights=weights)))
    scores = np.average([o.scores for o in outputs], axis=0, weights=weights)
    return Output(np.asarray(classes)[np.argmax(scores, axis=1)], scores, PROBABILITIES)


class _Members(Domain):
    """A list of (name, estimator) pairs, as scikit-learn's own ensembles take them."""

    description = "a list of pairs of a name and an estimator"

    def accepts(self, value: Any) -> bool:
        return (
            isinstance(value, list | tuple)
            and len(value) > 0
            and all(isinstance(p, list | tuple) and len(p) == 2 and hasattr(p[1], "get_params") for p in value)
        )

    def wrong(self) -> list[Any]:
        return [[], "a string", [("name", 3)]]


class BlendParameters(Declared):
    """What both blends take."""

    estimators: Sequence[tuple[str, Any]] = parameter((), _Members(), "The members: pairs of a name and an estimator.")
    _: KW_ONLY
    weights: np.ndarray | None = parameter(
        None, Optional(Array(ndim=1)), "Weight of each member; None weighs them equally."
    )


class _Blend(BlendParameters, Estimator):
    """Fits a copy of every member to the same rows."""

    estimators_: list[Any] = attribute(None, "The fitted members.")
    _stored_rules = (every_member_is_there,)

    def _fit_members(self, X: Any, y: Any) -> None:
        self._check_parameters()
        if self.weights is not None and len(self.weights) != len(self.estimators):
            name = type(self).__name__
            raise ValueError(f"{name}: weights must have {len(self.estimators)} entries; got {len(self.weights)}.")
        self.estimators_ = [clone(member).fit(X, y) for _, member in self.estimators]
        self.n_features_in_ = int(np.shape(X)[1])


class BlendClassifier(ClassifierMixin, _Blend):
    r"""The class with the largest weighted mean of the members' probabilities, :math:`\sum_m w_m\, p_m(c \mid x)`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from margin.bayes import GaussianNB
    >>> from margin.linear import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> BlendClassifier([("nb", GaussianNB()), ("logistic", LogisticRegression())]).fit(X, y).score(X, y) > 0.9
    True
    """

    estimators_: list[Any] = attribute(ListOf(ModelWith(["predict_proba"], columns="n_features")))
    classes_: np.ndarray = attribute(
        ArrayOf("n_classes", kind="labels"), "The classes, in the order of the columns of probabilities."
    )

    def fit(self, X: MatrixLike, y: ArrayLike) -> BlendClassifier:
        """Fit every member."""
        self._fit_members(X, y)
        self.classes_ = np.unique(np.asarray(y))
        return self

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Weighted mean of the members' probabilities, (n, classes)."""
        check_is_fitted(self)
        return np.asarray(np.average([m.predict_proba(X) for m in self.estimators_], axis=0, weights=self.weights))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The likeliest class of each row."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


class BlendRegressor(RegressorMixin, _Blend):
    r"""The weighted mean of the members' predictions, :math:`\sum_m w_m f_m(x)`.

    Examples
    --------
    >>> from margin.linear import LinearRegression, Ridge
    >>> X, y = np.arange(6.0)[:, None], np.arange(6.0)
    >>> BlendRegressor([("ols", LinearRegression()), ("ridge", Ridge())]).fit(X, y).predict(X).shape
    (6,)
    """

    estimators_: list[Any] = attribute(ListOf(ModelWith(["predict"], columns="n_features")))

    def fit(self, X: MatrixLike, y: ArrayLike) -> BlendRegressor:
        """Fit every member."""
        self._fit_members(X, y)
        return self

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Weighted mean of the members' predictions."""
        check_is_fitted(self)
        return np.asarray(np.average([m.predict(X) for m in self.estimators_], axis=0, weights=self.weights))
