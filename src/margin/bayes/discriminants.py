r"""What both discriminant analyses share: normal classes, and the distances that follow.

.. math:: \log P(c, x) = \log\pi_c - \tfrac12 \log|\Sigma_c|
          - \tfrac12 (x - \mu_c)^\top \Sigma_c^{-1} (x - \mu_c) + \text{const}

Linear if all classes share one covariance, quadratic otherwise.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import _check_sample_weight, validate_data

from margin.bayes.class_scatter import CLASS_FACTOR_FIELDS, ClassFactors, ClassScatter, TrainingRows
from margin.bayes.posterior import PosteriorClassifier, given_priors
from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.classes import check_classes, encode_classes
from margin.core.invariants import sometimes
from margin.core.new_rows import validate_new_rows
from margin.core.number_range import validate_squarable
from margin.core.parameters import attribute
from margin.core.pieces import LearnsInPieces
from margin.core.streaming import RowBlock
from margin.core.summaries import plain_labels

__all__ = ["Discriminant"]


class Discriminant(LearnsInPieces, PosteriorClassifier):
    """Input, priors and decision values of a normal discriminant."""

    priors: Any
    summary_: dict[str, Any] = attribute(
        sometimes(CLASS_FACTOR_FIELDS), "What partial_fit keeps of the rows: number, mean and factor of every class."
    )

    @staticmethod
    def _summary_of(fields: dict[str, Any]) -> ClassFactors:
        return ClassFactors.of_fields(fields)

    def decision_function(self, X: MatrixLike) -> np.ndarray:
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
        rows = TrainingRows(X, codes, labels, weights)
        self._check_class_count(rows)
        return rows

    def _check_class_count(self, rows: ClassScatter) -> None:
        if len(rows.labels) < 2:
            raise ValueError(f"{self._name}: y must hold at least two classes; got 1 class, {rows.labels[0]}.")

    def partial_fit(self, X: MatrixLike, y: ArrayLike, classes: Any = None) -> Self:
        """Learn from these rows and those of earlier calls, of which only mean and factor of every class were kept.

        The rows of the first call must be of two classes at least; others may come later. Labels that are not among
        ``classes``, where they are given, are refused.
        """
        y = np.asarray(y)
        if classes is not None and not np.isin(y, classes).all():
            raise ValueError(
                f"{self._name}: y must hold labels among classes, {np.unique(classes)}; "
                f"got {y[~np.isin(y, classes)][0]}."
            )
        return self._learn_piece(X, y)

    def summarize(self, block: RowBlock) -> ClassFactors:
        """The factors of the classes in some rows of a stream."""
        y = None if block.y is None else plain_labels(block.y)
        X, y = validate_squarable(self, block.X, y, dtype=np.float64, order="C")
        check_classes(y)
        return ClassFactors.of(X, y)

    def merge(self, first: ClassFactors, second: ClassFactors) -> ClassFactors:
        """The factors of both."""
        return first.merge(second)

    def solve(self, summary: ClassFactors) -> Any:
        """Learn from the factors of all rows."""
        self._check_class_count(summary)
        self._forget()
        return self._learn(summary)

    @abstractmethod
    def _learn(self, rows: ClassScatter) -> Any:
        """Learn from means and covariances of the classes."""

    def _class_priors(self, rows: ClassScatter) -> np.ndarray:
        """Given priors, or the classes' fractions of the weight."""
        if self.priors is None:
            counts = rows.counts
            return counts / counts.sum()
        return given_priors(self._name, "priors", self.priors, len(rows.labels), scaled=True)

    def _rows(self, X: Any) -> np.ndarray:
        return validate_new_rows(self, X, dtype=np.float64, order="C")
