"""What classifiers learn from: one class per row, or several labels as a matrix of zeros and ones.

.. math:: p_k = \\mathrm{softmax}(z)_k \\qquad\\text{or, for several labels per row,}\\qquad p_k = \\frac1{1 + e^{-z_k}}
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target

from margin.core.classes import check_classes, encode_classes
from margin.core.invariants import StringOf, sometimes
from margin.core.parameters import attribute
from margin.neural.estimators.class_scores import log_probabilities
from margin.neural.estimators.own_validation import known_classes
from margin.neural.estimators.parameters import LossOfClasses
from margin.neural.training.evaluation import Score
from margin.neural.training.objectives import accuracy, subset_accuracy

__all__ = ["ClassTargets", "checked_labels", "coded_labels"]


def checked_labels(y: Any) -> np.ndarray:
    """``y`` as classes (n,), or as zeros and ones (n, labels) where a row may have several."""
    y = y.toarray() if issparse(y) else y
    values = np.asarray(y)
    if values.ndim == 2 and type_of_target(y).startswith("multilabel"):
        if other := sorted(set(np.unique(values).tolist()) - {0, 1}):  # -1 and 1, say, are two values as well
            raise ValueError(f"y: several labels per row must be a matrix of zeros and ones; got {other[0]}.")
        return values
    y = column_or_1d(y, warn=True)
    check_classes(y)
    return np.asarray(y)


def coded_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes and the code of every row; several labels per row are numbered and are their own codes."""
    return (np.arange(y.shape[1]), y) if y.ndim == 2 else encode_classes(y)


class ClassTargets(ClassifierMixin, LossOfClasses):
    """A classifier whose rows have one class, or several labels: ``y`` (n,), or zeros and ones (n, labels)."""

    out_activation_: str = attribute(
        sometimes(StringOf(("softmax", "logistic"))),
        "What turns outputs into probabilities: 'softmax', or 'logistic' for several labels per row.",
    )

    @property
    def _several(self) -> bool:
        """Whether rows have several labels; models stored before there were such do not say it."""
        return getattr(self, "out_activation_", "softmax") == "logistic"

    def _own_codes(self, y: Any) -> np.ndarray:
        """Codes of labels that judge every epoch, of the form and with the classes of the fit."""
        if not self._several:
            return known_classes(self, y, self.classes_)
        labels = checked_labels(y)
        n_labels = len(self.classes_)
        if labels.ndim != 2 or labels.shape[1] != n_labels:
            raise ValueError(
                f"{type(self).__name__}: validation_data must have {n_labels} labels per row like y; "
                f"got an array of shape {labels.shape}."
            )
        return labels.astype(np.float32)

    def _score_of_targets(self) -> Score:
        return subset_accuracy if self._several else accuracy

    def _log_proba_of(self, outputs: np.ndarray) -> np.ndarray:
        """Log-probabilities from what the last layer gives."""
        return -np.logaddexp(0, -outputs) if self._several else log_probabilities(outputs)

    def _labels_of(self, outputs: np.ndarray) -> np.ndarray:
        """The most probable class; of several labels those more probable than not."""
        if self._several:
            return (outputs > 0).astype(int)
        best: np.ndarray = self.classes_[outputs.argmax(axis=1)]
        return best

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
