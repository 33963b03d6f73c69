"""A few small networks for classes of table rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data
from torch import Tensor

from margin.core.classes import check_classes, encode_classes
from margin.core.domains import Number
from margin.core.invariants import Real
from margin.core.parameters import attribute, parameter
from margin.core.records import Record
from margin.neural.activations.fused import fused_log_softmax, fused_logsumexp
from margin.neural.calibration import best_temperature
from margin.neural.estimators.mlp import FLOATS, weighted_rows
from margin.neural.estimators.own_validation import OwnRows, known_classes, own_rows
from margin.neural.estimators.parameters import LossOfClasses
from margin.neural.estimators.tabular import RowLoss, TabularNetEstimator
from margin.neural.losses.network_loss import ClassLoss
from margin.neural.stored import CLASSES

__all__ = ["TabularNetClassifier"]


class TabularNetClassifier(ClassifierMixin, LossOfClasses, TabularNetEstimator):
    r"""The average of a few small networks, made for tables: the choice where ``MLPClassifier`` needs tuning.

    Columns are scaled by quartiles and drawn in smoothly, targets are smoothed, every network holds out a part of the
    rows, and the best epoch for those is kept. The probability of a class is the mean over the networks, after their
    scores were divided by the temperature that suits the held-out rows.

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
        "Fraction of a row's target that loss 'cross_entropy' spreads evenly over all classes.",
    )

    classes_: np.ndarray = attribute(CLASSES, "The classes.")
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
        X, y = validate_data(self, X, y, dtype=FLOATS, order="C")
        check_classes(y)
        X, y, weight = weighted_rows(self, X, y, sample_weight)
        classes, codes = encode_classes(y)
        if self._goes_on() and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"TabularNetClassifier: warm_start must go on with classes {self.classes_}; got {classes}."
            )
        X, codes, weight = self._class_weighted(X, codes, classes, weight)
        given = own_rows(self, validation_data)
        self.classes_, self.temperature_ = classes, 1.0
        yield from self._learn(
            X, codes, weight, _of_networks(self._class_loss()), _accuracy,
            n_outputs=len(classes), zero_output=False, seed=self._seed(state), labels=codes, state=state,
            own=None if given is None else self._own_rows(given),
        )  # fmt: skip

    def _own_rows(self, given: OwnRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, codes of classes and weights that judge every epoch."""
        X = validate_data(self, given.X, dtype=FLOATS, order="C", reset=False)
        codes = known_classes(self, given.y, self.classes_)
        check_consistent_length(X, codes)
        X, codes, weight = weighted_rows(self, X, codes, given.weight)
        X, codes, weight = self._class_weighted(X, codes, self.classes_, weight)
        return X, codes, weight

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log-probability of every class."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, order="C", reset=False)
        log_members, temperature = math.log(self.network_["n_networks"]), self.temperature_
        return self._average_networks(
            X, lambda outputs: fused_logsumexp(fused_log_softmax(outputs / temperature, dim=2), dim=0) - log_members
        )

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class, the mean over the networks."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class."""
        best = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def _calibrate(self, outputs: Tensor, targets: Tensor, weights: Tensor) -> None:
        temperature = best_temperature(outputs.numpy(force=True), targets.numpy(force=True), weights.numpy(force=True))
        # The mean over several networks is less sure than each of them: only what smoothing left too unsure is mended.
        self.temperature_ = temperature if self.n_networks == 1 else min(temperature, 1.0)


def _of_networks(loss: ClassLoss) -> RowLoss:
    """The loss of every row by every network, from scores (networks, rows, classes) and codes (rows,)."""

    def losses(outputs: Tensor, target: Tensor, training: bool) -> Tensor:
        n_networks, n_rows, n_classes = outputs.shape
        repeated = target.expand(n_networks, n_rows).reshape(-1)
        return loss(outputs.reshape(-1, n_classes), repeated, training).view(n_networks, n_rows).T

    return losses


def _accuracy(outputs: Tensor, targets: Tensor, weights: Tensor) -> float:
    right = (outputs.argmax(dim=1) == targets).to(weights.dtype)
    return float(torch.dot(right, weights) / weights.sum())
