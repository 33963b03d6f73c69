r"""Multi-layer perceptron for numbers: half the squared error, half the Poisson deviance of counts, or another loss.

.. math:: \ell(y, f) = \tfrac12\,\overline{(y - f)^2}, \qquad\text{or}\qquad
          \ell(y, f) = \sum_j y_j \log\frac{y_j}{\lambda_j} - y_j + \lambda_j \quad\text{with } \lambda_j = e^{f_j}
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d, validate_data
from torch import Tensor

from margin.core.array_types import MatrixLike
from margin.core.records import Record
from margin.core.refused_fits import unchanged_if_refused
from margin.core.targets import numeric_target
from margin.neural.estimators.mlp import FLOATS, MLPEstimator, has_first_order_solver, weighted_rows
from margin.neural.estimators.own_validation import OwnRows, own_rows, own_targets
from margin.neural.estimators.parameters import StandardizedTargets
from margin.neural.scaling import Scaling
from margin.neural.training import Rows
from margin.neural.training.objectives import Supervised, explained_variance
from margin.neural.training.steps import Objective

__all__ = ["MLPRegressor"]


class MLPRegressor(RegressorMixin, StandardizedTargets, MLPEstimator):
    """Multi-layer perceptron for one or several numbers.

    With ``standardize`` the targets are standardized too, so that the loss, ``tol`` and the learning rate do not
    depend on their unit; predictions are in the original one. With ``loss="poisson"`` the targets are counts or other
    numbers that are not negative, stay as they are, and the network gives the logarithm of their mean.

    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = MLPRegressor(batch_size=16, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.score(X, np.sin(X[:, 0])) > 0.99
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
        X, y = self._validate(X, y, reset=True)
        X, y, weight = weighted_rows(self, X, y, sample_weight)
        seed = self._seed(state)
        given = own_rows(self, validation_data)
        train, valid = self._split(X.shape[0], seed, given=given)
        Y = y.reshape(len(y), -1).astype(X.dtype)
        self._begin(X, Y, weight, train, single=y.ndim == 1)
        rows = self._rows(X, Scaling(self.target_center_, self.target_scale_).apply(Y), weight)
        score = partial(explained_variance, prediction=self._target_loss().prediction)
        held = None if given is None else self._own_rows(given, Y.shape[1])
        yield from self._train(self._objective(), rows, train, valid, seed=seed, state=state, score=score, held=held)

    def _own_rows(self, given: OwnRows, n_targets: int) -> Rows:
        """Rows that judge every epoch."""
        X, y = self._validate(given.X, given.y, reset=False)
        X, y, weight = weighted_rows(self, X, y, given.weight)
        Y = own_targets(self, y, n_targets).astype(X.dtype)
        return self._rows(X, Scaling(self.target_center_, self.target_scale_).apply(Y), weight)

    @available_if(has_first_order_solver)
    @unchanged_if_refused
    def partial_fit(self, X: Any, y: Any) -> Self:
        """One pass over the rows, from the weights and with the optimizer slots of the last one.

        With ``standardize`` the rows of the first call decide the scaling of inputs and targets.
        """
        self._check_parameters()
        first = not hasattr(self, "weights_")
        X, y = self._validate(X, y, reset=first)
        Y = y.reshape(len(y), -1).astype(X.dtype)
        if first:
            self._begin(X, Y, np.ones(len(Y)), None, single=y.ndim == 1)
        self._pass(X, Scaling(self.target_center_, self.target_scale_).apply(Y), self._objective())
        return self

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The targets, one column each if there were several in the fit."""
        outputs = self._apply_link(self._outputs(X), len(self.target_center_))
        Y = Scaling(self.target_center_, self.target_scale_).undo(outputs)
        Y = Y.astype(outputs.dtype, copy=False)  # float32 rows have float32 answers
        return Y[:, 0] if self.single_target_ else Y

    def _in_units(self, outputs: Tensor) -> Tensor:
        return super()._in_units(self._apply_link(outputs, len(self.target_center_)))

    def _validate(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, np.ndarray]:
        y = numeric_target(self, y)
        X, y = validate_data(
            self, X, y, dtype=FLOATS, order="C", accept_sparse="csr", multi_output=True, y_numeric=True, reset=reset
        )
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        self._target_loss(y)
        return X, y

    def _objective(self) -> Objective:
        return Supervised(self._target_loss())

    def _begin(self, X: Any, Y: np.ndarray, weight: np.ndarray, rows: np.ndarray | None, *, single: bool) -> None:
        going_on = self._goes_on()
        self._scale_inputs(X, weight, rows)
        loss = self._target_loss()
        self._describe(n_outputs=loss.outputs_per_target * Y.shape[1])
        self.single_target_ = single
        if not going_on:
            targets = (
                Scaling.of(Y, weight, rows) if self.standardize and not loss.of_counts else Scaling.none(Y.shape[1])
            )
            self.target_center_, self.target_scale_ = targets

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
