r"""From joint log-probabilities to answers, once for every generative classifier.

.. math:: \log P(c \mid x) = \log P(c, x) - \log \sum_{c'} P(c', x),\qquad \hat c(x) = \arg\max_c P(c, x)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin

from margin.core.array_types import MatrixLike
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf
from margin.core.new_rows import require_fitted
from margin.core.notices import warn_user
from margin.core.parameters import attribute

__all__ = ["PosteriorClassifier", "given_priors", "log_posterior", "log_priors"]

PRIOR_SUM_TOLERANCE = 1e-6  # priors typed with a few digits


def log_posterior(joint: np.ndarray) -> np.ndarray:
    """Log-probabilities of the classes from joint ones, (n, classes)."""
    return joint - logsumexp(joint, axis=1, keepdims=True)


def given_priors(owner: str, name: str, priors: Any, classes: int, *, scaled: bool = False) -> np.ndarray:
    """Checked prior probabilities, one per class; ``scaled`` to sum 1 with a warning, or refused."""
    values = np.asarray(priors, dtype=np.float64)
    if values.shape != (classes,):
        raise ValueError(f"{owner}: {name} must have one number for each of the {classes} classes; got {values.shape}.")
    sums_to_one = abs(values.sum() - 1) <= PRIOR_SUM_TOLERANCE
    if scaled and not sums_to_one and (values >= 0).all() and values.sum() > 0:
        warn_user(f"{owner}: {name} sum to {values.sum():g}; they are divided by it.")
    elif not (values >= 0).all() or not sums_to_one:
        raise ValueError(f"{owner}: {name} must be non-negative with sum 1; got sum {values.sum():g}.")
    return values / values.sum()


def log_priors(weight: np.ndarray, given: np.ndarray | None, *, uniform: bool = False) -> np.ndarray:
    """Given priors, equal ones, or the classes' fractions of the weight; a class never seen is impossible."""
    if given is not None:
        priors = given
    elif uniform:
        priors = np.full(len(weight), 1 / len(weight))
    else:
        priors = weight / weight.sum()
    with np.errstate(divide="ignore"):
        return np.where(weight > 0, np.log(priors), -np.inf)


class PosteriorClassifier(ClassifierMixin, Estimator, ABC):
    """A classifier that knows :math:`\\log P(c, x)`; all that it says follows from it."""

    classes_: np.ndarray = attribute(ArrayOf("n_classes", kind="labels"), "The labels, sorted.")

    @abstractmethod
    def _joint_log_probability(self, X: Any) -> np.ndarray:
        """The log of P(c, x) up to a term that is the same for all classes, (n, classes); checks ``X``."""

    def predict_joint_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Logarithms of P(c, x), up to a term that is the same for all classes, (n, classes)."""
        require_fitted(self)
        return self._joint_log_probability(X)

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Logarithms of the posterior probabilities, (n, classes)."""
        return log_posterior(self.predict_joint_log_proba(X))

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Posterior probabilities of the classes, (n, classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The most probable class; the smaller label of equally probable ones."""
        joint = self.predict_joint_log_proba(X)
        return self.classes_[joint.argmax(axis=1)]
