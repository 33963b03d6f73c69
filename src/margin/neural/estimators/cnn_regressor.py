r"""Convolutional network for numbers: half the squared error, or another loss of real targets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted
from torch import Tensor

from margin.core.array_types import MatrixLike
from margin.core.records import Record
from margin.core.targets import numeric_target
from margin.neural.estimators.cnn import CNNEstimator
from margin.neural.estimators.image_input import ImageRows
from margin.neural.estimators.mlp import weighted_rows
from margin.neural.estimators.own_validation import OwnRows, own_rows, own_targets
from margin.neural.estimators.parameters import StandardizedTargets
from margin.neural.scaling import Scaling
from margin.neural.training.objectives import explained_variance

__all__ = ["CNNRegressor"]


class CNNRegressor(RegressorMixin, StandardizedTargets, CNNEstimator):
    """Convolutional network for one or several numbers per image.

    Takes images as :class:`CNNClassifier` does. With ``standardize`` the targets are standardized too, and predictions
    are in their original unit.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 8, 8))
    >>> y = X[:, :4].sum(axis=(1, 2))
    >>> model = CNNRegressor(["conv 4 3", "dense 16"], max_iter=10, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

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
        y = _targets(self, y)
        check_consistent_length(images, y)
        images, y, weight = weighted_rows(self, images, y, sample_weight)
        seed, given = self._seed(state), own_rows(self, validation_data)
        train, valid = self._split(len(images), seed, given=given)
        Y = y.reshape(len(y), -1)
        going_on = self._goes_on()
        loss = self._target_loss(Y)
        self._describe(images, weight, train, loss.outputs_per_target * Y.shape[1])
        self.single_target_ = y.ndim == 1
        if not going_on:
            standardize = self.standardize and not loss.of_counts
            targets = Scaling.of(Y[train], weight[train]) if standardize else Scaling.none(Y.shape[1])
            self.target_center_, self.target_scale_ = targets
        scaled = Scaling(self.target_center_, self.target_scale_).apply(Y).astype(np.float32)
        rows = self._rows(images, scaled, weight)
        objective = self._augment_loss(loss)
        score = partial(explained_variance, prediction=loss.prediction)
        held = None if given is None else self._own_rows(given, Y.shape[1])
        yield from self._train(objective, rows, train, valid, seed=seed, state=state, score=score, held=held)

    def _own_rows(self, given: OwnRows, n_targets: int) -> ImageRows:
        """Images that judge every epoch."""
        images, y = self._images(given.X, reset=False), _targets(self, given.y)
        check_consistent_length(images, y)
        images, y, weight = weighted_rows(self, images, y, given.weight)
        Y = own_targets(self, y, n_targets)
        scaled = Scaling(self.target_center_, self.target_scale_).apply(Y).astype(np.float32)
        return self._rows(images, scaled, weight)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The targets, one column each if there were several in the fit."""
        check_is_fitted(self)
        return self._predict_images(self._images(X, reset=False))

    def _in_units(self, outputs: Tensor) -> Tensor:
        return super()._in_units(self._apply_link(outputs, len(self.target_center_)))

    def _predict_images(self, images: np.ndarray) -> np.ndarray:
        outputs = self._apply_link(self._outputs(images).astype(np.float64), len(self.target_center_))
        Y = Scaling(self.target_center_, self.target_scale_).undo(outputs)
        return Y[:, 0] if self.single_target_ else Y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _targets(owner: CNNRegressor, y: Any) -> np.ndarray:
    if y is None:
        raise ValueError(f"{type(owner).__name__}: y must be given: requires y to be passed, but the target y is None.")
    return check_array(numeric_target(owner, y), ensure_2d=False, dtype=np.float64, input_name="y", estimator=owner)
