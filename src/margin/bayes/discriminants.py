r"""What both discriminant analyses share: normal classes, and the distances that follow.

.. math:: \log P(c, x) = \log\pi_c - \tfrac12 \log|\Sigma_c|
          - \tfrac12 (x - \mu_c)^\top \Sigma_c^{-1} (x - \mu_c) + \text{const}

Linear if all classes share one covariance, quadratic otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from margin.bayes.posterior import PosteriorClassifier, given_priors

__all__ = ["Discriminant", "class_means"]


def class_means(X: np.ndarray, codes: np.ndarray, classes: int) -> np.ndarray:
    """Mean row of each class, (classes, d)."""
    return np.stack([X[codes == c].mean(axis=0) for c in range(classes)])


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

    def _training_rows(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Checked rows, class of each, labels of the classes, and their priors."""
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
        check_classification_targets(y)
        labels, codes = np.unique(y, return_inverse=True)
        if len(labels) < 2:
            raise ValueError(f"{self._name}: y must hold at least two classes; got 1 class, {labels[0]}.")
        counts = np.bincount(codes)
        if self.priors is None:
            return X, codes, labels, counts / len(X)
        return X, codes, labels, given_priors(self._name, "priors", self.priors, len(labels))

    def _rows(self, X: Any) -> np.ndarray:
        return validate_data(self, X, reset=False, dtype=np.float64, order="C")
