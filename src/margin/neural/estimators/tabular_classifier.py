"""A few small networks for classes of table rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_consistent_length
from torch import Tensor

from margin.core.array_types import MatrixLike
from margin.core.domains import Number
from margin.core.invariants import Real
from margin.core.parameters import attribute, parameter
from margin.core.records import Record
from margin.neural.activations.fused import fused_log_softmax, fused_logsumexp, fused_softplus
from margin.neural.calibration import best_temperature
from margin.neural.estimators.class_targets import ClassTargets, checked_labels, coded_labels
from margin.neural.estimators.mlp import weighted_rows
from margin.neural.estimators.own_validation import OwnRows, own_rows
from margin.neural.estimators.tabular import RowLoss, TabularNetEstimator
from margin.neural.losses.network_loss import ClassLoss
from margin.neural.stored import CLASSES

__all__ = ["TabularNetClassifier"]


class TabularNetClassifier(ClassTargets, TabularNetEstimator):
    r"""The average of a few small networks, made for tables: the choice where ``MLPClassifier`` needs tuning.

    Columns are scaled by quartiles and drawn in smoothly, targets are smoothed, every network holds out a part of the
    rows, and the best epoch for those is kept. The probability of a class is the mean over the networks, after their
    scores were divided by the temperature that suits the held-out rows. A matrix of zeros and ones as ``y`` means that
    a row may have several labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TabularNetClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    _: KW_ONLY
    label_smoothing: float = parameter(
        0.1,
        Number(low=0, below=1),
        "Fraction of a row's target that loss 'cross_entropy' spreads evenly over all classes, or of a label over yes "
        "and no.",
    )

    classes_: np.ndarray = attribute(CLASSES, "The classes, or the numbers of the labels.")
    temperature_: float = attribute(
        Real(1e-3, 1e3, finite=True),
        "What scores are divided by before they are probabilities; 1 without held-out rows.",
    )

    def iterate(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        validation_data: Any = None,
        *,
        state: dict[str, Any] | None = None,
    ) -> Iterator[Record]:
        """Learn from ``X`` and ``y``, yielding records; ``state`` continues a fit exactly where it was taken."""
        self._check_parameters()
        X, y, categories = self._new_table(X, y, multi_output=True)
        X, y, weight = weighted_rows(self, X, checked_labels(y), sample_weight)
        classes, codes = coded_labels(y)
        if self._goes_on() and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"TabularNetClassifier: warm_start must go on with classes {self.classes_}; got {classes}."
            )
        X, codes, weight = self._class_weighted(X, codes, classes, weight)
        given = own_rows(self, validation_data)
        self.classes_, self.temperature_ = classes, 1.0
        self.out_activation_ = "softmax" if codes.ndim == 1 else "logistic"
        codes = codes.astype(X.dtype) if self._several else codes
        yield from self._learn(
            X, codes, weight, _of_networks(self._class_loss()), _accuracy_of_labels if self._several else _accuracy,
            categories=categories, n_outputs=len(classes), zero_output=False, seed=self._seed(state),
            labels=None if self._several else codes, state=state,
            own=None if given is None else self._own_rows(given),
        )  # fmt: skip

    def _own_rows(self, given: OwnRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, codes of classes and weights that judge every epoch."""
        X, codes = self._table(given.X), self._own_codes(given.y)
        check_consistent_length(X, codes)
        X, codes, weight = weighted_rows(self, X, codes, given.weight)
        X, codes, weight = self._class_weighted(X, codes, self.classes_, weight)
        return X, codes, weight

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Log-probability of every class."""
        rows = self._table(X)
        log_members, temperature = math.log(self.network_["n_networks"]), self.temperature_

        def logs(outputs: Tensor) -> Tensor:
            if self._several:
                return -fused_softplus(-outputs)
            return fused_log_softmax(outputs / temperature, dim=2)

        return self._average_networks(rows, lambda outputs: fused_logsumexp(logs(outputs), dim=0) - log_members)

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probability of every class, the mean over the networks."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The most probable class; of several labels those more probable than not."""
        log_proba = self.predict_log_proba(X)
        if self._several:
            return (log_proba > math.log(0.5)).astype(int)
        return self.classes_[log_proba.argmax(axis=1)]

    def _calibrate(self, outputs: Tensor, targets: Tensor, weights: Tensor) -> None:
        if self._several:  # a temperature is of one softmax
            return
        temperature = best_temperature(outputs.numpy(force=True), targets.numpy(force=True), weights.numpy(force=True))
        # The mean over several networks is less sure than each of them: only what smoothing left too unsure is mended.
        self.temperature_ = temperature if self.n_networks == 1 else min(temperature, 1.0)


def _of_networks(loss: ClassLoss) -> RowLoss:
    """The loss of every row by every network, from scores (networks, rows, classes) and codes (rows,)."""

    def losses(outputs: Tensor, target: Tensor, training: bool) -> Tensor:
        n_networks, n_rows, n_classes = outputs.shape
        repeated = target.expand(n_networks, *target.shape).flatten(0, 1)
        return loss.of_targets(outputs.reshape(-1, n_classes), repeated, training).view(n_networks, n_rows).T

    return losses


def _accuracy_of_labels(outputs: Tensor, targets: Tensor, weights: Tensor) -> float:
    right = ((outputs > 0) == (targets > 0.5)).all(dim=1).to(weights.dtype)
    return float(torch.dot(right, weights) / weights.sum())


def _accuracy(outputs: Tensor, targets: Tensor, weights: Tensor) -> float:
    right = (outputs.argmax(dim=1) == targets).to(weights.dtype)
    return float(torch.dot(right, weights) / weights.sum())
