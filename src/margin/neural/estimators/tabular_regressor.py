"""A few small networks for numbers of table rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_consistent_length
from torch import Tensor

from margin.core.array_types import MatrixLike
from margin.core.records import Record
from margin.core.targets import numeric_target
from margin.neural.estimators.mlp import FLOATS, weighted_rows
from margin.neural.estimators.own_validation import OwnRows, own_rows, own_targets
from margin.neural.estimators.parameters import StandardizedTargets
from margin.neural.estimators.tabular import RowLoss, TabularNetEstimator
from margin.neural.losses.network_loss import TargetLoss
from margin.neural.scaling import Scaling

__all__ = ["TabularNetRegressor"]


class TabularNetRegressor(RegressorMixin, StandardizedTargets, TabularNetEstimator):
    r"""The average of a few small networks, made for tables: the choice where ``MLPRegressor`` needs tuning.

    Columns are scaled by quartiles and drawn in smoothly, targets standardized, every network holds out a part of the
    rows, and the best epoch for those is kept.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(300, random_state=0)
    >>> TabularNetRegressor(random_state=0).fit(X, y).score(X, y) > 0.9
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
        """Learn from ``X`` and ``y``, yielding records; ``state`` continues a fit exactly where it was taken."""
        self._check_parameters()
        X, y, categories = self._new_table(X, numeric_target(self, y), multi_output=True, y_numeric=True)
        X, y, weight = weighted_rows(self, X, y, sample_weight)
        Y = y.reshape(len(y), -1).astype(X.dtype)
        self.single_target_ = y.ndim == 1
        loss = self._target_loss(Y)
        if not self._goes_on():
            targets = Scaling.none(Y.shape[1]) if loss.of_counts else Scaling.of(Y, weight)
            self.target_center_, self.target_scale_ = targets
        target = Scaling(self.target_center_, self.target_scale_).apply(Y)
        given = own_rows(self, validation_data)
        yield from self._learn(
            X, target, weight, _of_networks(loss), _variance_explained_by(loss),
            categories=categories, n_outputs=loss.outputs_per_target * Y.shape[1], zero_output=True,
            seed=self._seed(state), labels=None, state=state,
            own=None if given is None else self._own_rows(given, Y.shape[1]),
        )  # fmt: skip

    def _own_rows(self, given: OwnRows, n_targets: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, scaled targets and weights that judge every epoch."""
        X = self._table(given.X)
        y = check_array(numeric_target(self, given.y), dtype=FLOATS, ensure_2d=False, input_name="y", estimator=self)
        check_consistent_length(X, y)
        X, y, weight = weighted_rows(self, X, y, given.weight)
        Y = own_targets(self, y, n_targets).astype(X.dtype)
        return X, Scaling(self.target_center_, self.target_scale_).apply(Y), weight

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The targets, the mean over the networks; one column each if there were several in the fit."""
        Y = self._average_networks(self._table(X), lambda outputs: self._predictions(outputs).mean(dim=0))
        Y = Scaling(self.target_center_, self.target_scale_).undo(Y)
        return Y[:, 0] if self.single_target_ else Y

    def _predictions(self, outputs: Tensor) -> Tensor:
        """Outputs of the networks as (scaled) targets."""
        predictions: Tensor = self._apply_link(outputs, len(self.target_center_))
        return predictions

    def _in_units(self, outputs: Tensor) -> Tensor:
        return super()._in_units(self._predictions(outputs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _of_networks(loss: TargetLoss) -> RowLoss:
    """The loss of every row by every network, from outputs (networks, rows, columns) and targets (rows, columns)."""

    def losses(outputs: Tensor, target: Tensor, training: bool) -> Tensor:
        return loss(outputs, target.expand(len(outputs), *target.shape), training).T

    return losses


def _variance_explained_by(loss: TargetLoss) -> Callable[[Tensor, Tensor, Tensor], float]:
    return lambda outputs, targets, weights: _explained_variance(loss.prediction(outputs), targets, weights)


def _explained_variance(outputs: Tensor, targets: Tensor, weights: Tensor) -> float:
    weights = weights / weights.sum()
    spread = weights @ (targets - weights @ targets).square()
    return float((1 - weights @ (targets - outputs).square() / spread).mean())
