"""Any network as a regressor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from torch import Tensor, nn

from margin.core.array_types import MatrixLike
from margin.core.invariants import Count, TrueOrFalse
from margin.core.parameters import attribute
from margin.core.records import Record
from margin.core.targets import numeric_target
from margin.neural.estimators.mlp import weighted_rows
from margin.neural.estimators.module import ModuleEstimator
from margin.neural.estimators.parameters import LossOfTargets
from margin.neural.training.objectives import explained_variance

__all__ = ["NeuralRegressor"]


class NeuralRegressor(RegressorMixin, LossOfTargets, ModuleEstimator):
    """Any network that gives one number per target, with records, exact resume and early stopping.

    ``margin.save`` refuses a model around a class of the user's, because a file of ours names no code:
    ``save_weights`` and ``load_weights`` keep the weights.

    >>> from torch import nn
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> def net():  # made anew by every fit, so that random_state draws the weights too
    ...     return nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    >>> model = NeuralRegressor(net, learning_rate_init=0.02, batch_size=10, max_iter=60, random_state=0)
    >>> model.fit(X, X[:, 0] ** 2).score(X, X[:, 0] ** 2) > 0.9
    True
    >>> from margin.neural.losses import Huber
    >>> model.set_params(loss=Huber(delta=2.0)).fit(X, X[:, 0] ** 2).score(X, X[:, 0] ** 2) > 0.9
    True
    """

    single_target_: bool = attribute(TrueOrFalse(), "Whether fit saw one target as a vector.")
    n_targets_: int = attribute(Count(low=1), "Number of targets.")

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn from ``X`` and ``y``, yielding records; ``state`` continues a fit exactly where it was taken."""
        self._check_parameters()
        X, y = self._check_rows(X, numeric_target(self, y), reset=True, multi_output=True, y_numeric=True)
        X, y, weight = weighted_rows(self, X, y, sample_weight)
        self.single_target_ = y.ndim == 1
        target = y.reshape(len(y), -1).astype("float64" if self.dtype == "float64" else "float32")
        loss = self._target_loss(target)
        n_outputs = loss.outputs_per_target * target.shape[1]
        self.network_ = {"n_features": self.n_features_in_, "n_outputs": n_outputs}
        self.n_targets_ = target.shape[1]

        def of_rows(outputs: Tensor, Y: Tensor, training: bool) -> Tensor:
            return loss(outputs.reshape(len(Y), -1), Y, training)  # one target may come as a vector or a column

        def score(module: nn.Module, rows: Any) -> float:
            flat = lambda X: module(X).reshape(len(X), -1)  # noqa: E731
            return explained_variance(flat, rows, loss.prediction)  # type: ignore[arg-type]

        yield from self._learn(X, target, weight, of_rows, None, score, state)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The targets, one column each if there were several in the fit."""
        outputs = self._outputs(X)
        outputs = outputs.reshape(len(outputs), -1)
        outputs = self._apply_link(outputs, getattr(self, "n_targets_", outputs.shape[1]))
        return outputs.reshape(len(outputs)) if self.single_target_ else outputs

    def _facts(self) -> dict[str, Any]:
        names = ("single_target", "n_targets", "out_activation")
        return super()._facts() | {name: getattr(self, f"{name}_") for name in names}

    def _read_facts(self, facts: Mapping[str, Any]) -> None:
        super()._read_facts(facts)
        self.single_target_ = bool(facts["single_target"])
        self.n_targets_ = int(facts.get("n_targets", self.network_["n_outputs"]))
        self.out_activation_ = "exp" if facts.get("out_activation") == "exp" else "identity"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
