r"""Gaussian naive Bayes.

.. math:: P(x_j \mid c) = N(x_j;\ \bar x_{cj},\ \sigma_{cj}^2 + \epsilon),\qquad
          \epsilon = \text{var\_smoothing} \cdot \max_j \mathrm{var}(x_j)
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from margin.bayes.naive import NO_TARGETS, NaiveBayes
from margin.bayes.posterior import log_priors
from margin.bayes.statistics import ClassMoments, pooled_variance
from margin.core.domains import Number, Optional
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import ArrayOf
from margin.core.number_range import finite_values, validate_squarable
from margin.core.parameters import attribute, parameter

__all__ = ["GaussianNB", "gaussian_log_likelihood"]

BLOCK_VALUES = 2**16  # numbers of a block of rows (half a megabyte), read once per class while it is in the cache


def gaussian_log_likelihood(X: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    r"""Log-density of the rows of ``X`` (n, d) under independent normals of each class, (n, classes).

    .. math:: -\tfrac12 \sum_j \Bigl(\log 2\pi\sigma_{cj}^2 + \frac{(x_j - \mu_{cj})^2}{\sigma_{cj}^2}\Bigr)

    ``mean`` and ``variance`` have shape (classes, d).
    """
    constant = -0.5 * np.log(2 * np.pi * variance).sum(axis=1)
    log_likelihood = np.empty((len(X), len(mean)))
    size = max(1, BLOCK_VALUES // X.shape[1])
    with np.errstate(over="ignore"):
        scale = np.sqrt(0.5 / variance)
    if not np.isfinite(scale).all():  # one over a variance below the normal numbers
        scale = np.sqrt(0.5) / np.sqrt(variance)
    for start in range(0, len(X), size):
        block = X[start : start + size]
        for c in range(len(mean)):
            gaps = (block - mean[c]) * scale[c]
            log_likelihood[start : start + size, c] = constant[c] - np.einsum("ij,ij->i", gaps, gaps)
    return log_likelihood


class GaussianNB(NaiveBayes):
    """Normal features, independent given the class.

    The cost is one pass over the rows; variances are smoothed when they are used, never when they are stored.

    Examples
    --------
    >>> model = GaussianNB().fit([[0.0], [2.0], [10.0], [12.0]], [0, 0, 1, 1])
    >>> model.theta_.ravel(), model.predict([[4.0]]), model.predict_proba([[6.0]]).round(2)
    (array([ 1., 11.]), array([0]), array([[0.5, 0.5]]))
    """

    _: KW_ONLY
    priors: Any = parameter(
        None, Optional(SequenceOf(Number(low=0, high=1))), "Probabilities of the classes; None learns them."
    )
    var_smoothing: float = parameter(
        1e-9,
        Number(low=0, search=(1e-12, 1e-3), log=True),
        "Times the largest variance of a column, this is added to every variance.",
    )

    theta_: np.ndarray = attribute(
        ArrayOf("n_classes", "n_features"), "Means of the columns in every class, (classes, p)."
    )
    scatter_: np.ndarray = attribute(
        ArrayOf("n_classes", "n_features", low=0), "Summed squared deviations from these means, (classes, p)."
    )

    priors_parameter = "priors"

    @property
    def class_prior_(self) -> np.ndarray:
        """Probabilities of the classes."""
        return np.exp(log_priors(self.class_count_, self._given_priors(len(self.classes_))))

    @property
    def epsilon_(self) -> float:
        """What is added to every variance."""
        return float(self.var_smoothing * pooled_variance(self._moments).max())

    @property
    def var_(self) -> np.ndarray:
        """Variances with their smoothing, (classes, d)."""
        weight = np.where(self.class_count_ > 0, self.class_count_, 1.0)  # a class without rows is impossible anyway
        variance = self.scatter_ / weight[:, None] + self.epsilon_
        return np.where(self.class_count_[:, None] > 0, variance, 1.0)

    @property
    def _moments(self) -> ClassMoments:
        return ClassMoments(self.class_count_, self.theta_, self.scatter_)

    def _start(self, classes: int, d: int) -> None:
        moments = ClassMoments.empty(classes, d)
        self.class_count_, self.theta_, self.scatter_ = moments.weight, moments.mean, moments.scatter

    def _absorb(self, X: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> None:
        self._moments.add(X, codes, weights)

    def _with_statistics_of(self, other: Any) -> GaussianNB:
        merged = self._moments.merge(other._moments)
        self.class_count_, self.theta_, self.scatter_ = merged.weight, merged.mean, merged.scatter
        return self

    def _check_rows(self, X: Any, y: Any = NO_TARGETS, *, first: bool = False) -> Any:
        return validate_squarable(self, X, y, reset=first, dtype=np.float64, order="C")

    def _joint_log_probability(self, X: Any) -> np.ndarray:
        X = self._check_rows(X)
        variance = self.var_
        flat = np.argwhere(variance <= 0)
        if len(flat):
            c, j = flat[0]
            if self.var_smoothing > 0:
                raise ValueError(
                    "GaussianNB: X must have a column whose variance is above 0; got none: all are constant, or so "
                    "small that their squares vanish."
                )
            raise ValueError(
                f"GaussianNB: column {j} is constant in class {self.classes_[c]}; var_smoothing must be above 0."
            )
        prior = log_priors(self.class_count_, self._given_priors(len(self.classes_)))
        likelihood = finite_values("GaussianNB", "X", X, lambda: gaussian_log_likelihood(X, self.theta_, variance))
        return prior + likelihood
