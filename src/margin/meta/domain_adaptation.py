r"""A classifier for rows from elsewhere: labels are known in one domain, and it is used in another.

.. math:: X_s \leftarrow (X_s - \mu_s) C_s^{-1/2} C_t^{1/2} + \mu_t, \qquad w(x) = p_t(x) / p_s(x)
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone, is_regressor
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from margin.core.array_types import MatrixLike
from margin.core.domains import Choice, Nested, Number, Optional, Seed
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, ModelWith
from margin.core.labels import UNKNOWN, coded_labels
from margin.core.notices import warn_user
from margin.core.number_range import validate_squarable
from margin.core.parameters import attribute, parameter
from margin.core.randomness import RandomLike, seed_estimator, seed_from
from margin.linear import LogisticRegression
from margin.meta.domains import coral, importance_weights

__all__ = ["DomainAdaptationClassifier"]


def _has(method: str) -> Any:
    """A check whether the classifier inside has a method; its own error tells why not."""

    def check(model: Any) -> bool:
        inside = getattr(model, "estimator_", model.estimator)
        return inside is None or bool(getattr(inside, method))

    return check


class DomainAdaptationClassifier(ClassifierMixin, Estimator):
    """Any classifier, taught on rows of a source for rows of a target of which no label is known.

    Rows whose label is -1, None or NaN are the target's, all others the source's; -1 beside a single other number is a
    class. 'coral' gives the source the mean and the covariance of the target before the classifier learns it: for
    sensors or units that differ. 'importance' weighs source rows by how much likelier they are in the target: for a
    target that is another selection of the same rows; the classifier must take sample weights. Both hurt where the
    domains differ otherwise, so compare with 'none' on a few labels of the target.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> X = rng.normal(size=(200, 2)) + 2.0 * y[:, None]
    >>> elsewhere = X * [3.0, 1.0] + [10.0, 0.0]  # the same classes, by an instrument of another scale
    >>> rows, labels = np.concatenate([X, elsewhere]), np.concatenate([y, np.full(200, -1)])
    >>> plain, adapted = (DomainAdaptationClassifier(method=m).fit(rows, labels) for m in ("none", "coral"))
    >>> plain.score(elsewhere, y) < 0.7, adapted.score(elsewhere, y) > 0.85
    (True, True)
    """

    estimator: Any = parameter(
        None, Optional(Nested("fit", "predict")), "Classifier that is fitted to the source; None: logistic regression."
    )
    _: KW_ONLY
    method: str = parameter(
        "coral",
        Choice("coral", "importance", "none"),
        "'coral': the source gets the target's mean and covariance; 'importance': source rows count by how much "
        "likelier they are in the target; 'none': no adaptation.",
    )
    shrinkage: float = parameter(
        1e-3,
        Number(above=0, search=(1e-4, 1.0), log=True),
        "Added to the variances of columns of deviation 1 by 'coral', so that dependent columns can be turned.",
    )
    C: float = parameter(
        1.0,
        Number(above=0, search=(1e-3, 100.0), log=True),
        "Inverse regularization of the logistic regression that tells the domains apart for 'importance'.",
    )
    random_state: RandomLike = parameter(None, Seed(), "Seeds the classifier, if it draws anything.")

    classes_: np.ndarray = attribute(ArrayOf("n_classes", kind="labels"), "The classes.")
    estimator_: Any = attribute(ModelWith(["predict"], columns="n_features"), "The fitted classifier.")

    def fit(self, X: Any, y: Any = None) -> DomainAdaptationClassifier:
        """Learn from the rows with a label (the source) for those without (the target)."""
        self._check_parameters()
        X = validate_squarable(self, X, dtype=np.float64, order="C")
        owner = type(self).__name__
        # One class is enough for some classifiers; the others refuse it themselves.
        self.classes_, codes = coded_labels(owner, X, y, least=1)
        source, target = X[codes != UNKNOWN], X[codes == UNKNOWN]
        model = clone(LogisticRegression() if self.estimator is None else self.estimator)
        if is_regressor(model):
            raise ValueError(f"{owner}: estimator must be a classifier; got {type(model).__name__}, a regressor.")
        seed_estimator(model, np.random.default_rng(seed_from(self.random_state)))
        options: dict[str, Any] = {}
        if self.method != "none" and min(len(source), len(target)) < 2:
            warn_user(
                f"{owner}: source and target must have at least 2 rows to be compared; got {len(source)} with a label "
                f"and {len(target)} without, so nothing is adapted."
            )
        elif self.method == "coral":
            source = self._align(source, target)
        elif self.method == "importance":
            if not has_fit_parameter(model, "sample_weight"):
                raise ValueError(
                    f"{owner}: method 'importance' needs a classifier whose fit takes sample_weight; got "
                    f"{type(model).__name__}."
                )
            options["sample_weight"] = importance_weights(source, target, self.C)
        self.estimator_ = model.fit(source, codes[codes != UNKNOWN], **options)
        return self

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The class of every row of the target."""
        X = self._read(X)
        return self.classes_[self.estimator_.predict(X)]

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probability of every class."""
        X = self._read(X)
        return self.estimator_.predict_proba(X)

    @available_if(_has("predict_proba"))
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """The logarithm of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @available_if(_has("decision_function"))
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """The decision values of the classifier."""
        X = self._read(X)
        return self.estimator_.decision_function(X)

    def _read(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return validate_squarable(self, X, dtype=np.float64, order="C", reset=False)

    def _align(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """CORAL in deviations of the source, so that units of columns do not matter to ``shrinkage``."""
        deviation = source.std(axis=0)
        deviation[deviation == 0] = 1.0
        return coral(source / deviation, target / deviation, self.shrinkage) * deviation
