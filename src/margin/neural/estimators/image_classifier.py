r"""Classes of images by any network: softmax and cross-entropy, or a logistic output per label."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from margin.core.array_types import MatrixLike
from margin.core.parameters import attribute
from margin.core.records import Record
from margin.neural.estimators.class_scores import tell_of_nothing_learned
from margin.neural.estimators.class_targets import ClassTargets, checked_labels, coded_labels
from margin.neural.estimators.image_estimator import ImageEstimator
from margin.neural.estimators.image_input import ImageRows
from margin.neural.estimators.mlp import weighted_rows
from margin.neural.estimators.own_validation import OwnRows, own_rows
from margin.neural.stored import CLASSES

__all__ = ["ImageClassifier"]


class ImageClassifier(ClassTargets, ImageEstimator):
    """A network with one output per class, or per label where ``y`` is a matrix of zeros and ones."""

    classes_: np.ndarray = attribute(CLASSES, "The classes, or the numbers of the labels.")

    def iterate(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        validation_data: Any = None,
        *,
        state: dict[str, Any] | None = None,
    ) -> Iterator[Record]:
        self._check_parameters()
        images = self._images(X, reset=True)
        y = _labels(self, y)
        check_consistent_length(images, y)
        images, y, weight = weighted_rows(self, images, y, sample_weight)
        classes, codes = coded_labels(y)
        if self._goes_on() and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"{type(self).__name__}: warm_start must go on with classes {self.classes_}; got {classes}. "
                "margin.meta.fine_tune starts a model of other classes from this one."
            )
        images, codes, weight = self._class_weighted(images, codes, classes, weight)
        seed, given = self._seed(state), own_rows(self, validation_data)
        train, valid = self._split(len(images), seed, codes if codes.ndim == 1 else None, given=given)
        self._describe(images, weight, train, len(classes))
        self.classes_, self.out_activation_ = classes, "softmax" if codes.ndim == 1 else "logistic"
        rows = self._rows(images, codes.astype(np.float32) if self._several else codes, weight)
        objective = self._augment_loss(self._class_loss().of_targets)
        held = None if given is None else self._own_rows(given)
        yield from self._train(
            objective, rows, train, valid, seed=seed, state=state, score=self._score_of_targets(), held=held
        )
        mixed = any(change.startswith("mixup") for change in self.augment or ())
        if self.loss == "cross_entropy" and not mixed and not self._several:
            tell_of_nothing_learned(type(self).__name__, self.loss_curve_, codes[train], weight[train])

    def _own_rows(self, given: OwnRows) -> ImageRows:
        """Images that judge every epoch."""
        images, codes = self._images(given.X, reset=False), self._own_codes(given.y)
        check_consistent_length(images, codes)
        images, codes, weight = weighted_rows(self, images, codes, given.weight)
        return self._rows(*self._class_weighted(images, codes, self.classes_, weight))

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Log-probability of every class."""
        check_is_fitted(self)
        return self._log_proba(self._images(X, reset=False))

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probability of every class."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The most probable class of every image; of several labels those more probable than not."""
        check_is_fitted(self)
        return self._predict_images(self._images(X, reset=False))

    def predict_proba_files(self, files: Iterable[str | os.PathLike[str]]) -> np.ndarray:
        """Probability of every class for image files, each brought to the size of the images of the fit."""
        return np.exp(self._log_proba(self._images_of_files(files)))

    def _log_proba(self, images: np.ndarray) -> np.ndarray:
        return self._log_proba_of(self._outputs(images).astype(np.float64))

    def _predict_images(self, images: np.ndarray) -> np.ndarray:
        return self._labels_of(self._outputs(images))


def _labels(owner: ImageClassifier, y: Any) -> np.ndarray:
    if y is None:
        raise ValueError(f"{type(owner).__name__}: y must be given: requires y to be passed, but the target y is None.")
    return checked_labels(y)
