r"""What both discriminant analyses share: normal classes, and the distances that follow.

.. math:: \log P(c, x) = \log\pi_c - \tfrac12 \log|\Sigma_c|
          - \tfrac12 (x - \mu_c)^\top \Sigma_c^{-1} (x - \mu_c) + \text{const}

Linear if all classes share one covariance, quadratic otherwise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _check_sample_weight, validate_data

from margin.bayes.posterior import PosteriorClassifier, given_priors
from margin.core.classes import check_classes, encode_classes

__all__ = ["Discriminant", "TrainingRows", "mean_row"]


class TrainingRows(NamedTuple):
    """Rows ``X`` (n, d), the class of each in ``codes`` (n,), ``labels`` of the classes and weights (n,) or None."""

    X: np.ndarray
    codes: np.ndarray
    labels: np.ndarray
    weights: np.ndarray | None

    @property
    def counts(self) -> np.ndarray:
        """The weight of every class."""
        return np.bincount(self.codes, weights=self.weights, minlength=len(self.labels))

    def of_class(self, c: int) -> tuple[np.ndarray, np.ndarray | None]:
        """The rows of one class and their weights."""
        mine = self.codes == c
        return self.X[mine], None if self.weights is None else self.weights[mine]

    def class_means(self) -> np.ndarray:
        """Mean row of each class, (classes, d)."""
        return np.stack([mean_row(*self.of_class(c)) for c in range(len(self.labels))])


def mean_row(X: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    return X.mean(axis=0) if weights is None else weights @ X / weights.sum()


class Discriminant(PosteriorClassifier):
    """Input, priors and decision values of a normal discriminant."""

    priors: Any

    def decision_function(self, X: Any) -> np.ndarray:
        """Joint log-probabilities, (n, classes); for two classes the log-odds of the second, (n,)."""
        joint = self.predict_joint_log_proba(X)
        return joint[:, 1] - joint[:, 0] if joint.shape[1] == 2 else joint

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _training_rows(self, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
        """Checked rows; one of weight zero is none."""
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
        check_classes(y)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            used = weights > 0
            X, y, weights = (X, y, weights) if used.all() else (X[used], y[used], weights[used])
        labels, codes = encode_classes(y)
        if len(labels) < 2:
            raise ValueError(f"{self._name}: y must hold at least two classes; got 1 class, {labels[0]}.")
        return TrainingRows(X, codes, labels, weights)

    def _class_priors(self, rows: TrainingRows) -> np.ndarray:
        """Given priors, or the classes' fractions of the weight."""
        if self.priors is None:
            counts = rows.counts
            return counts / counts.sum()
        return given_priors(self._name, "priors", self.priors, len(rows.labels), scaled=True)

    def _rows(self, X: Any) -> np.ndarray:
        return validate_data(self, X, reset=False, dtype=np.float64, order="C")
