"""Any network as a classifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from torch import Tensor

from margin.core.array_types import MatrixLike
from margin.core.classes import check_classes, encode_classes
from margin.core.parameters import attribute
from margin.core.records import Record
from margin.neural.estimators.class_scores import log_probabilities
from margin.neural.estimators.mlp import weighted_rows
from margin.neural.estimators.module import ModuleEstimator
from margin.neural.estimators.parameters import LossOfClasses
from margin.neural.losses.network_loss import ClassLoss
from margin.neural.stored import CLASSES
from margin.neural.training.objectives import accuracy

__all__ = ["NeuralClassifier"]


class NeuralClassifier(ClassifierMixin, LossOfClasses, ModuleEstimator):
    """Any network that gives one score per class, with records, exact resume, early stopping and probabilities.

    ``margin.save`` refuses a model around a class of the user's, because a file of ours names no code:
    ``save_weights`` and ``load_weights`` keep the weights.

    >>> from sklearn.datasets import load_iris
    >>> from torch import nn
    >>> class Net(nn.Module):
    ...     def __init__(self, n_features, n_outputs, width=8):
    ...         super().__init__()
    ...         self.layers = nn.Sequential(
    ...             nn.Linear(n_features, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, n_outputs)
    ...         )
    ...     def forward(self, x):
    ...         return self.layers(x)
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NeuralClassifier(Net, learning_rate_init=0.02, max_iter=60, random_state=0)
    >>> model.set_params(module__width=16).fit(X, y).score(X, y) > 0.9
    True
    """

    classes_: np.ndarray = attribute(CLASSES, "The classes.")

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn from ``X`` and ``y``, yielding records; ``state`` continues a fit exactly where it was taken."""
        self._check_parameters()
        X, y = self._check_rows(X, y, reset=True)
        check_classes(y)
        X, y, weight = weighted_rows(self, X, y, sample_weight)
        self.classes_, codes = encode_classes(y)
        X, codes, weight = self._class_weighted(X, codes, self.classes_, weight)
        self.network_ = {"n_features": self.n_features_in_, "n_outputs": len(self.classes_)}
        yield from self._learn(X, codes, weight, partial(self._losses, self._class_loss()), codes, accuracy, state)

    def _losses(self, loss: ClassLoss, outputs: Tensor, y: Tensor, training: bool) -> Tensor:
        if outputs.ndim != 2 or outputs.shape[1] != len(self.classes_):
            raise ValueError(
                f"NeuralClassifier: module must give {len(self.classes_)} scores per row, one per class; "
                f"it gave an output of shape {tuple(outputs.shape)} for {len(y)} rows."
            )
        return loss(outputs, y, training)

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Log-probability of every class."""
        return log_probabilities(self._outputs(X))

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probability of every class."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The most probable class."""
        best = self._outputs(X).argmax(axis=1)
        return self.classes_[best]

    def _facts(self) -> dict[str, Any]:
        return super()._facts() | {"classes": self.classes_.tolist(), "class_dtype": self.classes_.dtype.str}

    def _read_facts(self, facts: Mapping[str, Any]) -> None:
        super()._read_facts(facts)
        if not facts["class_dtype"].lstrip("<>|=").startswith(("b", "i", "u", "f", "U")):
            raise ValueError(f"NeuralClassifier: classes of type {facts['class_dtype']!r} cannot be read from a file.")
        self.classes_ = np.array(facts["classes"], dtype=facts["class_dtype"])
